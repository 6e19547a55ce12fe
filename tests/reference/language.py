"""The LSTM language model of Hill et al. (2016), one word at a time."""

import math
from itertools import pairwise

from reference.cases import PLACEHOLDER, Case
from reference.pointing import softmax
from reference.reasoning import hypothesis
from reference.recurrence import sigmoid
from reference.weights import Vector, Weights, dot

FIRST_WORD = 2


def lstm_step(weights: Weights, output: Vector, cell: Vector, word: Vector) -> tuple[Vector, Vector]:
    """The next output and cell; the last input weight of each gate is its bias."""
    size = len(output)

    def gate(number: int, unit: int) -> float:
        row = number * size + unit
        of_word = dot(weights["recurrence.weight_ih_l0"][row], [*word, 1.0])
        return of_word + dot(weights["recurrence.weight_hh_l0"][row], output)

    cells, outputs = [], []
    for unit in range(size):
        kept = sigmoid(gate(1, unit)) * cell[unit]
        cells.append(kept + sigmoid(gate(0, unit)) * math.tanh(gate(2, unit)))
        outputs.append(sigmoid(gate(3, unit)) * math.tanh(cells[-1]))
    return outputs, cells


def word_log_probs(words: list[int], weights: Weights) -> Vector:
    """log P(w_n | w_1 ... w_(n-1)) of every word but the first; neither padding nor the blank can be said."""
    output = cell = [0.0] * len(weights["recurrence.weight_hh_l0"][0])
    said = []
    for word, following in pairwise(words):
        output, cell = lstm_step(weights, output, cell, weights["embedding.weight"][word])
        rows = zip(weights["next_word.weight"], weights["next_word.bias"], strict=True)
        probs = softmax([dot(row, output) + bias for row, bias in rows])
        said.append(math.log(probs[following - FIRST_WORD]))
    return said


def probabilities(case: Case, weights: Weights) -> Vector:
    """Of every candidate: how likely the question with it is after the passage, beside the others."""
    scores = []
    for candidate in case.candidates:
        words = case.passage + hypothesis(case.question, PLACEHOLDER, candidate)
        scores.append(sum(word_log_probs(words, weights)[len(case.passage) - 1 :]))
    return softmax(scores)


def loss(case: Case, weights: Weights, last: int = 0) -> float:
    """The mean of -log P over passage and question with the answer in it, or the last words of both; 0 where the answer
    is unknown."""
    if case.answer is None:
        return 0.0
    words = case.passage + hypothesis(case.question, PLACEHOLDER, case.candidates[case.answer])
    said = word_log_probs(words[-last:], weights)
    return -sum(said) / len(said)
