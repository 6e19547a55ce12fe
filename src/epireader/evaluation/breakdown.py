"""Where a reader is good: its accuracy by what a question is like."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from epireader.data.questions import ANSWER_UNKNOWN, Questions
from epireader.evaluation.accuracy import Share

NOT_THERE = -1
"""In place of a trait that a question does not have, as an answer that stands nowhere has no last mention."""
MOST_BINS = 5


@dataclass(frozen=True)
class Bin:
    """Questions whose trait is at least `low` and at most `high`."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}–{self.high:,}"


@dataclass(frozen=True)
class Breakdown:
    """Questions with a known answer, grouped by one trait."""

    bins: tuple[Bin, ...]
    group: np.ndarray
    """The number of each question's bin; -1 for one that is left out."""

    @property
    def left_out(self) -> int:
        return int((self.group < 0).sum())

    def accuracy(self, right: np.ndarray) -> list[Share]:
        """How many of each bin's questions are right, given which are."""
        if right.shape != self.group.shape:
            raise ValueError(f"{len(self.group)} questions are grouped, but {len(right)} were answered")
        groups = [self.group == number for number in range(len(self.bins))]
        return [Share(int((right & inside).sum()), int(inside.sum())) for inside in groups]


@dataclass(frozen=True)
class Traits:
    """What each question with a known answer is like; NOT_THERE where that cannot be said."""

    passage_words: np.ndarray
    mentions: np.ndarray
    """How often the answer stands in the passage."""
    distance: np.ndarray
    """How many words of the passage come after its last mention."""


def break_down(values: np.ndarray, most: int = MOST_BINS) -> Breakdown:
    """Group questions into at most so many bins of about the same number, those with the same value together.

    A question's bin is the share of questions that have a lower value, in steps of 1/most.
    """
    there = values != NOT_THERE
    ordered = np.sort(values[there])
    lower = np.searchsorted(ordered, values, side="left")
    step = most * lower // max(1, len(ordered))
    used = np.unique(step[there])
    group = np.where(there, np.searchsorted(used, step), -1)
    bins = [values[group == number] for number in range(len(used))]
    return Breakdown(tuple(Bin(int(inside.min()), int(inside.max())) for inside in bins), group)


def traits_of(questions: Questions) -> Traits:
    """The traits of the questions with a known answer, in their order."""
    known = np.flatnonzero(questions.answers.numpy() != ANSWER_UNKNOWN)
    sizes = questions.sizes.words[known]
    mentions = np.full(len(known), NOT_THERE)
    distance = np.full(len(known), NOT_THERE)
    for place, number in enumerate(known.tolist()):
        answer = int(questions.answers[number])
        if answer < 0:
            continue  # it is not among the candidates, and so not kept
        phrase = questions.sequences.row(int(questions.candidates.row(number)[answer])).numpy()
        starts = places_of(phrase, passage_of(questions, number))
        mentions[place] = len(starts)
        if len(starts):
            distance[place] = sizes[place] - (starts[-1] + len(phrase))
    return Traits(passage_words=sizes, mentions=mentions, distance=distance)


def passage_of(questions: Questions, number: int) -> np.ndarray:
    """The words of a passage on one line, as numbers."""
    sentences: Sequence[int] = questions.passages.row(number).tolist()
    return np.concatenate([questions.sequences.row(sentence).numpy() for sentence in sentences])


def places_of(phrase: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Where some words stand one after the other: the places of their first."""
    if len(phrase) > len(words):
        return np.zeros(0, np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(words, len(phrase))
    return np.flatnonzero((windows == phrase).all(axis=1))
