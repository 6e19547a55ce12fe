"""Which word a language model expects in the blank, as its definition reads."""

from math import exp, log

from reference.cases import PADDING, PLACEHOLDER, Case
from reference.fitting import learnt_places
from reference.recurrence import gru_states
from reference.weights import Vector, Weights, dot, part, plus, times

VOCABULARY = ("w0", "w1", "Anna", "w3", "W0", "W7", "@entity4", "w7")
"""What the ids of small readers are to it: names, a word at the beginning of a sentence, and W7, which is more frequent than w7."""
ROOM = 3
"""How many words it knows, besides names: w0, w1 and w3."""

UNKNOWN, NAME = 1, 2
IN_TEXTS = (3, 4, NAME, 5, 3, NAME, NAME, UNKNOWN)
AS_ANSWERS = (3, 4, NAME, 5, NAME, NAME, NAME, UNKNOWN)
"""Its own ids for the words of that vocabulary; those of the words it knows begin at 3."""


def read_as(word: int, strangers: int) -> int:
    if word in (PADDING, PLACEHOLDER):
        return word
    first = 2 + strangers
    return NAME if word < first else IN_TEXTS[word - first]


def expected(case: Case, weights: Weights, question: list[int], place: int, *, context: int, strangers: int) -> Vector:
    """The vector expected at a place of the question, after the last words of the passage, so many, and what stands before it there."""
    own = part(weights, "sense")
    vectors = [own["embedding.weight"][read_as(word, strangers)] for word in case.passage[-context:] + question]
    known = len(vectors) - len(question) + place
    before = gru_states(part(own, "before.recurrence"), vectors[:known])[-1]
    behind = vectors[known + 1 :][::-1]
    after = gru_states(part(own, "after.recurrence"), behind)[-1] if behind else [0.0] * len(before)
    return plus(times(own["expected.weight"], before + after), own["expected.bias"])


def score(weights: Weights, wanted: Vector, own_word: int) -> float:
    return dot(wanted, weights["sense.embedding.weight"][own_word]) + weights["sense.common"][own_word]


def sense(case: Case, weights: Weights, candidate: list[int], *, context: int, strangers: int) -> float:
    """How much a candidate is expected in the blank, as far as that is trusted; a stranger may be a name or a rare word."""
    wanted = expected(
        case, weights, case.question, case.question.index(PLACEHOLDER), context=context, strangers=strangers
    )
    scores = []
    for word in candidate:
        if word < 2 + strangers:
            scores.append(log(sum(exp(score(weights, wanted, either)) for either in (UNKNOWN, NAME))))
        else:
            scores.append(score(weights, wanted, AS_ANSWERS[word - 2 - strangers]))
    return weights["sense.trust"][0] * sum(scores) / len(scores)


def sense_loss(cases: list[Case], weights: Weights, *, most: int, context: int, strangers: int) -> float:
    """The mean over questions of the mean of -log P of their words, the answer in the blank; none where that is no single word."""
    total = 0.0
    for case in cases:
        if case.answer is None or len(case.candidates[case.answer]) > 1:
            continue
        filled = [case.candidates[case.answer][0] if word == PLACEHOLDER else word for word in case.question]
        places = learnt_places(case, most)
        for place in places:
            wanted = expected(case, weights, filled, place, context=context, strangers=strangers)
            everything = sum(exp(score(weights, wanted, word)) for word in range(len(weights["sense.common"])))
            right = score(weights, wanted, read_as(filled[place], strangers))
            total -= (right - log(everything)) / len(places)
    return total / len(cases)
