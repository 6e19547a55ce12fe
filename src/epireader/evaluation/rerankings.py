"""What the Reasoner changed: answers it corrected and answers it spoiled, the most telling first."""

from dataclasses import dataclass

import numpy as np

from epireader.data.questions import ANSWER_UNKNOWN
from epireader.evaluation.accuracy import ranks
from epireader.evaluation.predict import Predictions


@dataclass(frozen=True)
class Reranking:
    """A question that was right on one side of reranking and wrong on the other."""

    number: int
    answer: int
    rival: int
    """The candidate that stood, or now stands, in the answer's place."""
    swing: float
    """By how much reranking moved the answer against its rival: how far ahead it is after, less how far before."""


def corrections(predictions: Predictions) -> list[Reranking]:
    """Questions that reranking made right, the largest swing first."""
    first, final = ranks(predictions, predictions.first), ranks(predictions, predictions.final)
    found = _rerankings(predictions, (first > 0) & (final == 0), predictions.first)
    return sorted(found, key=lambda one: (-one.swing, one.number))


def spoilings(predictions: Predictions) -> list[Reranking]:
    """Questions that reranking made wrong, the largest swing first."""
    first, final = ranks(predictions, predictions.first), ranks(predictions, predictions.final)
    found = _rerankings(predictions, (first == 0) & (final > 0), predictions.final)
    return sorted(found, key=lambda one: (one.swing, one.number))


def _rerankings(predictions: Predictions, chosen: np.ndarray, wrong: np.ndarray) -> list[Reranking]:
    """The rival is the best of the others by the probabilities that were wrong."""
    numbers = np.flatnonzero(chosen & (predictions.answers != ANSWER_UNKNOWN)).tolist()
    return [_reranking(predictions, number, wrong) for number in numbers]


def _reranking(predictions: Predictions, number: int, wrong: np.ndarray) -> Reranking:
    where, answer = predictions.of(number), int(predictions.answers[number])
    others = np.nan_to_num(wrong[where].astype(np.float64))
    others[answer] = -1.0
    rival = int(others.argmax())

    def ahead(probs: np.ndarray) -> float:
        return float(probs[where][answer]) - float(probs[where][rival])

    return Reranking(number, answer, rival, ahead(predictions.final) - ahead(predictions.first))
