"""Accuracy and its kin, by the rules that keep them honest.

A tie with the right answer counts as wrong. An answer that is not among the candidates, or that the reader ruled out,
counts as wrong. A question without a known answer is not counted at all.
"""

import math
from dataclasses import dataclass

import numpy as np

from epireader.data.questions import ANSWER_UNKNOWN
from epireader.evaluation.predict import Predictions

Z_95 = 1.959963984540054


@dataclass(frozen=True)
class Share:
    """So many out of so many."""

    count: int
    total: int

    @property
    def value(self) -> float:
        return self.count / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval."""
        if not self.total:
            return (0.0, 1.0)
        n, p, z = self.total, self.value, Z_95
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        spread = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return (max(0.0, centre - spread), min(1.0, centre + spread))


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How a reader did on a set of questions."""

    questions: int
    """Those with a known answer."""
    unknown: int
    """Those without, which are left out."""
    extractor: Share
    final: Share
    recall_at: dict[int, Share]
    """How often the answer is among the first k before reranking."""
    corrected: int
    """Questions that were wrong before reranking and right after it."""
    spoiled: int
    """Questions that were right before reranking and wrong after it."""

    def as_json(self) -> dict[str, object]:
        return {
            "questions": self.questions,
            "answers_unknown": self.unknown,
            "accuracy": {"extractor": self.extractor.value, "final": self.final.value},
            "interval_95": {"extractor": self.extractor.interval, "final": self.final.interval},
            "recall_at_k": {str(k): share.value for k, share in self.recall_at.items()},
            "corrected": self.corrected,
            "spoiled": self.spoiled,
        }


def evaluate(predictions: Predictions, *, most: int) -> Evaluation:
    """Accuracy before and after reranking, and recall at 1 to `most`."""
    known = predictions.answers != ANSWER_UNKNOWN
    first = ranks(predictions, predictions.first)[known]
    final = ranks(predictions, predictions.final)[known]
    total = int(known.sum())
    if not total:
        raise ValueError("no question has a known answer, so there is nothing to measure")
    return Evaluation(
        questions=total,
        unknown=len(known) - total,
        extractor=Share(int((first == 0).sum()), total),
        final=Share(int((final == 0).sum()), total),
        recall_at={k: Share(int((first < k).sum()), total) for k in range(1, most + 1)},
        corrected=int(((first > 0) & (final == 0)).sum()),
        spoiled=int(((first == 0) & (final > 0)).sum()),
    )


def right_answers(predictions: Predictions, probs: np.ndarray) -> np.ndarray:
    """Which questions are answered right by `predictions.final`, or by `.first`; those without a known answer left out."""
    right: np.ndarray = np.equal(ranks(predictions, probs), 0)
    known: np.ndarray = predictions.answers != ANSWER_UNKNOWN
    return np.compress(known, right)


def ranks(predictions: Predictions, probs: np.ndarray) -> np.ndarray:
    """How many candidates are at least as probable as the answer, for every question.

    Where the answer is not among the candidates, or is ruled out (probability 0), that is all of them and more. So it
    is where the probability is not a number.
    """
    offsets, answers = predictions.offsets, predictions.answers
    inside = answers >= 0
    place = offsets[:-1] + np.where(inside, answers, 0)
    of_answer = np.where(inside, probs[place], -1.0)
    threshold = np.repeat(of_answer, np.diff(offsets))
    rivals = np.add.reduceat((~(probs < threshold)).astype(np.int64), offsets[:-1])
    ruled_out = ~(of_answer > 0)
    return np.where(ruled_out, np.iinfo(np.int64).max, rivals - inside)
