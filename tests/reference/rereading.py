"""Reading the passage again for a hypothesis, as its definition reads."""

from math import exp, log

from reference.cases import PLACEHOLDER, Case
from reference.fitting import beside
from reference.pointing import probability, softmax
from reference.reasoning import mean
from reference.recurrence import bigru_final, bigru_states
from reference.weights import Matrix, Vector, Weights, dot, part, plus, times


def read_again(case: Case, weights: Weights, candidate: list[int], first: Matrix) -> float | None:
    """log of what the words of a candidate's mentions get, both texts read with the candidate marked; None if it has none.

    `first` is the Extractor's states of the passage."""
    own = part(weights, "rereading")
    recalled = [
        times(own["of_states.weight"], [*state, *gated])
        for state, gated in zip(first, gates(case, weights, first), strict=True)
    ]
    words = [plus(word, more) for word, more in zip(marked_passage(case, weights, candidate), recalled, strict=True)]
    states = bigru_states(part(own, "passage_encoder"), words)
    question = filled_question(case, weights, candidate)
    around = beside(bigru_states(part(own, "question_encoder"), question), case.question.index(PLACEHOLDER))
    points = plus(bigru_final(part(own, "question_encoder"), question), times(own["at_blank.weight"], around))
    found = probability(candidate, case.passage, [exp(dot(state, points)) for state in states])
    return log(found) if found else None


def gates(case: Case, weights: Weights, first: Matrix) -> Matrix:
    """Each state of the passage times the mean of the question's, each counting as much as the two agree."""
    table = weights["embedding.weight"]
    asked = bigru_states(part(weights, "extractor.question_encoder"), [table[word] for word in case.question])
    found = []
    for state in first:
        counts = softmax([dot(state, other) for other in asked])
        attended = [
            sum(count * other[n] for count, other in zip(counts, asked, strict=True)) for n in range(len(state))
        ]
        found.append([a * b for a, b in zip(state, attended, strict=True)])
    return found


def marked_passage(case: Case, weights: Weights, candidate: list[int]) -> list[Vector]:
    """The vectors of the passage's words, a mark added to those of the question and one to those of the candidate's mentions."""
    size, passage = len(candidate), case.passage
    starts = [start for start in range(len(passage)) if passage[start : start + size] == candidate]
    mentioned = {start + offset for start in starts for offset in range(size)}
    vectors = []
    for place, word in enumerate(passage):
        vector = weights["embedding.weight"][word]
        if word in case.question and word != PLACEHOLDER:
            vector = plus(vector, weights["rereading.question_mark"])
        if place in mentioned:
            vector = plus(vector, weights["rereading.answer_mark"])
        vectors.append(vector)
    return vectors


def filled_question(case: Case, weights: Weights, candidate: list[int]) -> list[Vector]:
    """The vectors of the question's words, the mean of the candidate's, marked, in place of the blank's."""
    table = weights["embedding.weight"]
    answer = plus(mean([table[word] for word in candidate]), weights["rereading.answer_mark"])
    return [answer if word == PLACEHOLDER else table[word] for word in case.question]
