"""Equations 1 and 2, and the choice of hypotheses (section 3.2)."""

import math

from reference.weights import Matrix, Vector, dot


def softmax(scores: Vector) -> Vector:
    largest = max(scores)
    total = sum(math.exp(score - largest) for score in scores)
    return [math.exp(score - largest) / total for score in scores]


def attention(states: Matrix, question: Vector, more: Vector | None = None) -> Vector:
    """Equation 1: s_i, over every place of the passage; `more` may be added to the scores."""
    return softmax(
        [dot(state, question) + added for state, added in zip(states, more or [0.0] * len(states), strict=True)]
    )


def probability(candidate: list[int], passage: list[int], pointed: Vector) -> float:
    """Equation 2: P(w), the attention over all places where w stands; 0 where it stands nowhere.

    At each place where a phrase stands it gets the mean of its words' attention. For one word that is equation 2.
    """
    size, total = len(candidate), 0.0
    for start in range(len(passage) - size + 1):
        if passage[start : start + size] == candidate:
            total += sum(pointed[start : start + size]) / size
    return total


def best(probabilities: Vector, count: int, forced: int | None = None) -> list[int]:
    """The numbers of the K most probable candidates, best first, the earlier of two equals first.

    In training the right answer is forced in: where it was missed it takes the place of the K-th.
    """
    left, chosen = list(range(len(probabilities))), []
    while left and len(chosen) < count:
        winner = left[0]
        for candidate in left:
            if probabilities[candidate] > probabilities[winner]:
                winner = candidate
        left.remove(winner)
        chosen.append(winner)
    if forced is not None and forced not in chosen:
        chosen[-1] = forced
    return chosen
