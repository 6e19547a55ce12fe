"""What the words around a place call for, and how well words are known by it, as their definitions read."""

from math import exp, log

from reference.cases import PLACEHOLDER, Case
from reference.reasoning import mean
from reference.recurrence import bigru_states
from reference.weights import Matrix, Vector, Weights, dot, part


def wanted(case: Case, weights: Weights, name: str, place: int, *, by_neighbours: bool) -> Vector:
    """The vector that is called for at a place of the question: by the state there, or by those on either side of it."""
    state = neighbours(case, weights, place) if by_neighbours else question_states(case, weights)[place]
    return [
        dot(row, state) + bias for row, bias in zip(weights[f"{name}.weight"], weights[f"{name}.bias"], strict=True)
    ]


def neighbours(case: Case, weights: Weights, place: int) -> Vector:
    """The state of the word before a place of the question, read forwards, and that of the word after it, read backwards."""
    return beside(question_states(case, weights), place)


def beside(states: Matrix, place: int) -> Vector:
    width = len(states[0]) // 2
    before = states[place - 1][:width] if place > 0 else [0.0] * width
    after = states[place + 1][width:] if place + 1 < len(states) else [0.0] * width
    return before + after


def question_states(case: Case, weights: Weights) -> Matrix:
    table = weights["embedding.weight"]
    return bigru_states(part(weights, "extractor.question_encoder"), [table[word] for word in case.question])


def fit(case: Case, weights: Weights, candidate: list[int], *, by_neighbours: bool) -> float:
    """How well a candidate fits the blank: its vector times the one that is called for there."""
    called_for = wanted(case, weights, "reasoner.wanted", case.question.index(PLACEHOLDER), by_neighbours=by_neighbours)
    trust = weights["reasoner.trust"][0] if by_neighbours else 1.0
    return trust * dot(called_for, mean([weights["embedding.weight"][word] for word in candidate]))


def learnt_places(case: Case, most: int) -> list[int]:
    """The blank and the other places of a question that are learnt from: all, or so many spread over it."""
    length = len(case.question)
    spread = range(length) if length < most else [number * length // (most - 1) for number in range(most - 1)]
    blank = case.question.index(PLACEHOLDER)
    return [blank] + [place for place in spread if place != blank]


def language_loss(cases: list[Case], weights: Weights, name: str, most: int) -> float:
    """The mean over questions of the mean of -log P of their words; a question with no answer counts 0."""
    learnt = [(case, known_words(case, most)) for case in cases if case.answer is not None]
    told_from = {word for _, words in learnt for word in words.values()}
    told_from |= {word for case, _ in learnt for phrase in case.candidates for word in phrase}
    table, total = weights["embedding.weight"], 0.0
    for case, words in learnt:
        for place, word in words.items():
            called_for = wanted(case, weights, name, place, by_neighbours=True)
            everything = sum(exp(dot(called_for, table[other])) for other in told_from)
            total -= (dot(called_for, table[word]) - log(everything)) / len(words)
    return total / len(cases)


def known_words(case: Case, most: int) -> dict[int, int]:
    """The words at the places that are learnt from, the answer in the blank; one of several words is not learnt."""
    assert case.answer is not None
    answer = case.candidates[case.answer]
    words = {place: case.question[place] for place in learnt_places(case, most)}
    blank = case.question.index(PLACEHOLDER)
    return {
        place: answer[0] if place == blank else word
        for place, word in words.items()
        if place != blank or len(answer) == 1
    }
