"""Many cloze questions as a handful of arrays.

Sentences, questions and candidates are all runs of words, and most of them stand in many questions (the windows of
the Children's Book Test overlap; a CNN story has several questions). Each distinct run is stored once, in
`sequences`; the rest are numbers of runs. Words are numbers into `lexicon`, whose first two places are taken by
padding and the blank.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from epireader.data.example import BLANK, Example, Words
from epireader.data.ragged import Ragged

ANSWER_OUTSIDE = -1
"""In place of an answer's number where it is not among the candidates: whatever a reader says is wrong."""
ANSWER_UNKNOWN = -2
"""In place of an answer's number where none is given."""

LEXICON_START = ("", BLANK)


@dataclass(frozen=True)
class Questions:
    """The columns of a set of questions; see the top of this file."""

    lexicon: Sequence[str]
    sequences: Ragged
    passages: Ragged
    questions: Int[Tensor, " questions"]
    candidates: Ragged
    answers: Int[Tensor, " questions"]

    def __len__(self) -> int:
        return len(self.questions)

    @cached_property
    def sizes(self) -> "Sizes":
        """How large each question is; kept in main memory, where batches are planned."""
        words = self.sequences.lengths.numpy()
        sentence_ends = np.concatenate(([0], np.cumsum(words[self.passages.values.numpy()])))
        offsets = self.passages.offsets.numpy()
        phrases = words[self.candidates.values.numpy()]
        return Sizes(
            words=sentence_ends[offsets[1:]] - sentence_ends[offsets[:-1]],
            sentences=self.passages.lengths.numpy(),
            question=words[self.questions.numpy()],
            candidates=self.candidates.lengths.numpy(),
            phrase=np.maximum.reduceat(phrases, self.candidates.offsets.numpy()[:-1]),
        )

    def words(self, sequence: int) -> Words:
        return tuple(self.lexicon[n] for n in self.sequences.row(sequence).tolist())

    def example(self, number: int) -> Example:
        """One question as words again. (One without candidates comes back with every word of its passage.)"""
        candidates = tuple(self.words(n) for n in self.candidates.row(number).tolist())
        answer = int(self.answers[number])
        return Example(
            sentences=tuple(self.words(n) for n in self.passages.row(number).tolist()),
            question=self.words(int(self.questions[number])),
            candidates=candidates,
            answer=candidates[answer] if answer >= 0 else None,
        )

    def word_counts(self) -> list[tuple[str, int]]:
        """How often each word stands in the distinct sentences, questions and candidates."""
        return counted(self.lexicon, self.sequences.values)


def counted(lexicon: Sequence[str], words: Int[Tensor, " words"]) -> list[tuple[str, int]]:
    """How often each word of a lexicon stands in a text; a word that does not is left out."""
    counts = torch.bincount(words, minlength=len(lexicon)).tolist()
    start = len(LEXICON_START)
    return [(word, n) for word, n in zip(lexicon[start:], counts[start:], strict=True) if n]


@dataclass(frozen=True)
class Sizes:
    """Sizes, one entry a question."""

    words: np.ndarray
    sentences: np.ndarray
    question: np.ndarray
    candidates: np.ndarray
    phrase: np.ndarray
    """Words of the longest candidate."""

    def of(self, rows: np.ndarray) -> "Shape":
        """The shape of the smallest batch that holds these questions."""
        return Shape(**{name: max(column[rows].tolist()) for name, column in vars(self).items()})

    def so_far(self, rows: np.ndarray) -> "Sizes":
        """The sizes of the smallest batch that holds the first of these questions, the first two, and so on."""
        return Sizes(**{field.name: np.maximum.accumulate(getattr(self, field.name)[rows]) for field in fields(self)})


@dataclass(frozen=True)
class Shape:
    """The padded sizes of a batch."""

    words: int
    sentences: int
    question: int
    candidates: int
    phrase: int


class Lexicon:
    """Gives every distinct word a number, in order of appearance."""

    def __init__(self) -> None:
        self._number_of = {word: n for n, word in enumerate(LEXICON_START)}

    def numbers_of(self, words: Words) -> list[int]:
        number_of = self._number_of
        return [number_of.setdefault(word, len(number_of)) for word in words]

    @property
    def words(self) -> list[str]:
        return list(self._number_of)


class QuestionsBuilder:
    """Gathers examples into columns; several builders may share one lexicon."""

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        self._lexicon = lexicon or Lexicon()
        self._number_of: dict[Words, int] = {}
        self._sequences = _RaggedBuilder()
        self._passages = _RaggedBuilder()
        self._questions = array("i")
        self._candidates = _RaggedBuilder()
        self._answers = array("i")

    def __len__(self) -> int:
        return len(self._questions)

    def add(self, example: Example) -> None:
        candidates = candidates_of(example)
        self._passages.append([self._sequence(words) for words in example.sentences])
        self._questions.append(self._sequence(example.question))
        self._candidates.append([self._sequence(words) for words in candidates])
        self._answers.append(_answer_number(example.answer, candidates))

    def build(self) -> Questions:
        if not self._questions:
            raise ValueError("there are no questions")
        return Questions(
            lexicon=self._lexicon.words,
            sequences=self._sequences.build(),
            passages=self._passages.build(),
            questions=_tensor(self._questions),
            candidates=self._candidates.build(),
            answers=_tensor(self._answers),
        )

    def _sequence(self, words: Words) -> int:
        number = self._number_of.get(words)
        if number is None:
            number = self._number_of[words] = len(self._number_of)
            self._sequences.append(self._lexicon.numbers_of(words))
        return number


def _answer_number(answer: Words | None, candidates: tuple[Words, ...]) -> int:
    if answer is None:
        return ANSWER_UNKNOWN
    return candidates.index(answer) if answer in candidates else ANSWER_OUTSIDE


def candidates_of(example: Example) -> tuple[Words, ...]:
    """Those that are given, or else every distinct word of the passage, in order of appearance."""
    if example.candidates:
        return example.candidates
    return tuple((word,) for word in dict.fromkeys(word for words in example.sentences for word in words))


class _RaggedBuilder:
    def __init__(self) -> None:
        self.values = array("i")
        self.offsets = array("q", [0])

    def append(self, row: list[int]) -> None:
        self.values.extend(row)
        self.offsets.append(len(self.values))

    def build(self) -> Ragged:
        return Ragged(_tensor(self.values), _tensor(self.offsets))


def _tensor(values: "array[int]") -> Int[Tensor, " values"]:
    return torch.from_numpy(np.array(values))
