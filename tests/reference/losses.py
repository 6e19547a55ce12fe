"""The combination of both modules and what training makes small: equations 4 to 7, and the l2 term (section 3.4)."""

import math

from reference.weights import Vector, Weights


def combine(evidence: Vector, probabilities: Vector) -> Vector:
    """Equation 4: pi_k, proportional to e_k p_k; all 0 where the Extractor rules every hypothesis out."""
    products = [e * p for e, p in zip(evidence, probabilities, strict=True)]
    total = sum(products)
    return [product / total if total else 0.0 for product in products]


def extractor_loss(right: list[float | None]) -> float:
    """Equation 5: the mean of -log P(a*); None stands for an answer not known or not among the candidates.

    Such a question counts 0, and so does one whose answer has no probability: it stands nowhere in the passage.
    """
    total = 0.0
    for probability in right:
        if probability:
            total -= math.log(probability)
    return total / len(right)


def reasoner_loss(combined: list[Vector], right: list[int | None], margin: float) -> float:
    """Equation 6: the mean of the margins the wrong hypotheses overstep; `right` is a*'s place among them.

    A question counts 0 where a* is not among its hypotheses, or has no probability.
    """
    total = 0.0
    for probabilities, answer in zip(combined, right, strict=True):
        if answer is None or probabilities[answer] == 0:
            continue
        for place, probability in enumerate(probabilities):
            if place != answer:
                total += max(0.0, margin - probabilities[answer] + probability)
    return total / len(combined)


def joint_loss(extractor: float, reasoner: float, weight: float) -> float:
    """Equation 7."""
    return extractor + weight * reasoner


def squared(values: float | list) -> float:
    if isinstance(values, float):
        return values * values
    return sum(squared(value) for value in values)


def l2(weights: Weights) -> float:
    """The squared weights of all matrices. Biases are no matrices, and word vectors are left out."""
    return sum(
        squared(value) for name, value in weights.items() if "bias" not in name and not name.startswith("embedding")
    )
