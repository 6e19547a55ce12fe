"""The whole model, composed from the twins of its equations: one question in, all its probabilities out."""

from dataclasses import dataclass, field

from reference.cases import PLACEHOLDER, Case
from reference.fitting import fit, neighbours
from reference.losses import combine, extractor_loss, joint_loss, reasoner_loss
from reference.marking import alike, beside
from reference.pointing import attention, best, probability, softmax
from reference.reasoning import evidence_by_sentence, hypothesis
from reference.recurrence import bigru_final, bigru_states
from reference.rereading import read_again
from reference.sense import sense
from reference.weights import Matrix, Vector, Weights, part, plus, times


@dataclass(frozen=True)
class Extracted:
    """What the Extractor says."""

    attention: Vector
    probabilities: Vector
    """P of every candidate."""
    states: Matrix = field(default_factory=list)
    """Of the passage's words, for one that reads it again."""


@dataclass(frozen=True)
class Reasoned:
    """What the EpiReader says of its hypotheses."""

    extracted: Extracted
    hypotheses: list[int]
    evidence: Vector
    """e_k"""
    combined: Vector
    """pi_k"""
    by_sentence: Matrix
    fit: Vector
    """What is added to the last of those scores for how a hypothesis fits the blank."""
    again: Vector
    """What is added to it for reading the passage again; 0 where that is not done."""
    reread: dict[int, float]
    """The probabilities of the candidates that the passage was read again for, by that alone."""

    @property
    def final(self) -> Vector:
        """pi of every candidate; 0 for one that was no hypothesis."""
        of = dict(zip(self.hypotheses, self.combined, strict=True))
        return [of.get(number, 0.0) for number in range(len(self.extracted.probabilities))]


def extract(case: Case, weights: Weights) -> Extracted:
    """The Extractor, which alone is the AS Reader; with what more it may have where it has weights for that."""
    table = weights["embedding.weight"]
    vectors = [table[word] for word in case.passage]
    if "extractor.alike.seen_as.weight" in weights:
        vectors = [plus(vector, alike(case, weights, vector)) for vector in vectors]
    if "extractor.mark" in weights:
        asked = [word for word in case.question if word != PLACEHOLDER]
        mark = weights["extractor.mark"]
        vectors = [
            plus(vector, mark) if word in asked else vector for word, vector in zip(case.passage, vectors, strict=True)
        ]
    states = bigru_states(part(weights, "extractor.passage_encoder"), vectors)
    question = bigru_final(part(weights, "extractor.question_encoder"), [table[word] for word in case.question])
    if "extractor.at_blank.weight" in weights:
        around = neighbours(case, weights, case.question.index(PLACEHOLDER))
        question = plus(question, times(weights["extractor.at_blank.weight"], around))
    marked = "extractor.beside.filters.weight" in weights
    pointed = attention(states, question, beside(case, weights, states, question, reach=10) if marked else None)
    return Extracted(pointed, [probability(words, case.passage, pointed) for words in case.candidates], states)


def reason(
    case: Case, weights: Weights, *, count: int, wide: bool, training: bool, fits: str = "", rereads: int = 0
) -> Reasoned:
    """The EpiReader; with `fits`, a hypothesis is also judged by how well it fits what the `blank` or its `neighbours` call for,
    or what a language model of 64 words of `sense` expects.

    With `rereads`, the passage is also read again for so many of them.
    """
    extracted = extract(case, weights)
    chosen = best(extracted.probabilities, count, case.answer if training else None)
    table = weights["embedding.weight"]
    by_sentence = [
        evidence_by_sentence(
            part(weights, "reasoner"),
            [[table[word] for word in sentence] for sentence in case.sentences],
            [table[word] for word in hypothesis(case.question, PLACEHOLDER, case.candidates[number])],
            [table[word] for word in case.candidates[number]],
            [table[word] for word in case.question if word != PLACEHOLDER],
            wide=wide,
        )
        for number in chosen
    ]
    fitting = [fitted(case, weights, case.candidates[number], fits) for number in chosen]
    tested = best(extracted.probabilities, rereads, case.answer if training else None) if rereads else []
    read = {number: read_again(case, weights, case.candidates[number], extracted.states) for number in tested}
    found = {number: score for number, score in read.items() if score is not None}
    again = [found[number] - sum(found.values()) / len(found) if number in found else 0.0 for number in chosen]
    scores = [gathered[-1] + fit + more for gathered, fit, more in zip(by_sentence, fitting, again, strict=True)]
    evidence = softmax(scores)
    combined = combine(evidence, [extracted.probabilities[number] for number in chosen])
    reread = dict(zip(found, softmax(list(found.values())), strict=True)) if found else {}
    return Reasoned(extracted, chosen, evidence, combined, by_sentence, fitting, again, reread)


def fitted(case: Case, weights: Weights, candidate: list[int], fits: str) -> float:
    if fits == "sense":
        return sense(case, weights, candidate, context=64, strangers=3)
    return fit(case, weights, candidate, by_neighbours=fits == "neighbours") if fits else 0.0


def training_losses(
    cases: list[Case], readings: list[Reasoned], *, margin: float | None, weight: float
) -> tuple[float, float, float]:
    """L_E, L_R and L_ER of a batch; without a margin L_R is the mean of -log pi*."""
    right = [
        None if case.answer is None else reading.extracted.probabilities[case.answer]
        for case, reading in zip(cases, readings, strict=True)
    ]
    places = [
        reading.hypotheses.index(case.answer) if case.answer in reading.hypotheses else None
        for case, reading in zip(cases, readings, strict=True)
    ]
    extractor = extractor_loss(right)
    combined = [reading.combined for reading in readings]
    if margin is None:
        reasoner = extractor_loss(
            [None if place is None else probs[place] for probs, place in zip(combined, places, strict=True)]
        )
    else:
        reasoner = reasoner_loss(combined, places, margin)
    return extractor, reasoner, joint_loss(extractor, reasoner, weight)
