"""The memory network of Hill et al. (2016), one window at a time."""

import math

from reference.cases import PLACEHOLDER, Case
from reference.floors import places_of
from reference.pointing import probability, softmax
from reference.weights import Vector, Weights, dot


def window_vector(words: list[int], centre: int, weights: Weights, size: int) -> Vector:
    """The sum of the vectors of the words around a centre, each from the table of its slot."""
    total = [0.0] * len(weights["slots.0.weight"][0])
    for slot in range(size):
        place = centre + slot - size // 2
        if 0 <= place < len(words):
            total = [a + b for a, b in zip(total, weights[f"slots.{slot}.weight"][words[place]], strict=True)]
    return total


def centres(candidate: list[int], passage: list[int]) -> set[int]:
    """Every word of every place where a candidate stands."""
    return {start + n for start in places_of(candidate, passage) for n in range(len(candidate))}


def scores(case: Case, weights: Weights, size: int) -> dict[int, float]:
    """The score of every memory, by its centre."""
    question = window_vector(case.question, case.question.index(PLACEHOLDER), weights, size)
    where = sorted(set().union(*(centres(candidate, case.passage) for candidate in case.candidates)))
    return {place: dot(window_vector(case.passage, place, weights, size), question) for place in where}


def probabilities(case: Case, weights: Weights, size: int) -> Vector:
    """A softmax over memories, added up for each candidate (a phrase: the mean of its words, as in equation 2)."""
    scored = scores(case, weights, size)
    shares = dict(zip(scored, softmax(list(scored.values())), strict=True)) if scored else {}
    pointed = [shares.get(place, 0.0) for place in range(len(case.passage))]
    return [probability(candidate, case.passage, pointed) for candidate in case.candidates]


def loss(case: Case, weights: Weights, size: int) -> float:
    """The best memory of the answer against all memories of others; 0 where the answer stands nowhere."""
    own = set() if case.answer is None else centres(case.candidates[case.answer], case.passage)
    if not own:
        return 0.0
    scored = scores(case, weights, size)
    best = max(scored[place] for place in own)
    others = [score for place, score in scored.items() if place not in own]
    return math.log(math.exp(best) + sum(math.exp(score) for score in others)) - best
