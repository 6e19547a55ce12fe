"""What a set of questions holds: the figures that CBT's own `stats_*.txt` files give."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from epireader.data.example import Example, Words


@dataclass(frozen=True)
class Range:
    """The least, the mean and the most of a count."""

    min: int
    mean: float
    max: int


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Counts over a split."""

    questions: int
    distinct_questions: int
    passage_words: Range
    question_words: Range
    vocabulary: int
    distinct_candidates: int
    candidates_missing: int
    """Questions with a candidate that stands neither in passage nor question."""
    answers_missing: int
    """Questions whose answer does not stand in the passage: no reader that points can find it."""
    answers_outside_candidates: int
    """Questions that give candidates, but not their answer among them."""
    answers_unknown: int
    """Questions that come without an answer."""

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> "Statistics":
        """Back from what `asdict` makes of it."""
        ranges = {name: Range(**values[name]) for name in ("passage_words", "question_words")}
        return cls(**{**values, **ranges})


class StatisticsCounter:
    """Counts while examples pass by."""

    def __init__(self) -> None:
        self._passage, self._question = _RangeCounter(), _RangeCounter()
        self._seen: set[int] = set()
        self._vocabulary: set[str] = set()
        self._candidates: set[Words] = set()
        self._candidates_missing = self._answers_missing = self._answers_outside = self._answers_unknown = 0

    def add(self, example: Example) -> None:
        # A hash of 64 bits stands for a question: with a million of them a mistake is one in ten million.
        self._seen.add(hash((example.sentences, example.question, example.answer)))
        passage = set().union(*example.sentences)
        self._vocabulary |= passage
        self._vocabulary.update(example.question)
        self._passage.add(sum(map(len, example.sentences)))
        self._question.add(len(example.question))
        self._candidates.update(example.candidates)
        around = passage.union(example.question)
        self._candidates_missing += not around.issuperset(_words(example.candidates))
        if example.answer is None:
            self._answers_unknown += 1
        else:
            self._answers_missing += not stands_in(example.answer, example, passage)
            self._answers_outside += bool(example.candidates) and example.answer not in example.candidates

    def result(self) -> Statistics:
        return Statistics(
            questions=self._passage.count,
            distinct_questions=len(self._seen),
            passage_words=self._passage.result(),
            question_words=self._question.result(),
            vocabulary=len(self._vocabulary),
            distinct_candidates=len(self._candidates),
            candidates_missing=self._candidates_missing,
            answers_missing=self._answers_missing,
            answers_outside_candidates=self._answers_outside,
            answers_unknown=self._answers_unknown,
        )


def stands_in(phrase: Words, example: Example, passage: set[str]) -> bool:
    """Whether the passage has the phrase in it, word after word (the end of a sentence does not break it)."""
    if len(phrase) == 1 or not passage.issuperset(phrase):
        return passage.issuperset(phrase)
    words = [word for sentence in example.sentences for word in sentence]
    return any(tuple(words[n : n + len(phrase)]) == phrase for n in range(len(words)))


def _words(phrases: Iterable[Words]) -> Iterable[str]:
    return (word for phrase in phrases for word in phrase)


class _RangeCounter:
    def __init__(self) -> None:
        self.count = self._sum = self._max = 0
        self._min: int | None = None

    def add(self, value: int) -> None:
        self.count += 1
        self._sum += value
        self._max = max(self._max, value)
        self._min = value if self._min is None else min(self._min, value)

    def result(self) -> Range:
        return Range(self._min or 0, round(self._sum / max(self.count, 1), 2), self._max)
