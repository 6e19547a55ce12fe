"""Ask a trained reader about a text: the one way in for people's own words.

>>> from epireader import Reader
>>> story = Reader.load("default").read("Ann had a goat and Tom a cow. One day the goat ran off.")
>>> for answer in story.ask("'Where is my goat?' said XXXXX."):
...     print(answer.text, answer.pi)
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from epireader.data.example import BadExample, Example, Words
from epireader.data.live import LiveCutter, PassageIds, sizes_of
from epireader.data.loading import SENTENCE_LIMIT
from epireader.data.questions import candidates_of
from epireader.data.raw import phrase_words, question_words
from epireader.data.sources import without_blank
from epireader.evaluation.predict import move_to
from epireader.readers.ensemble import load_members
from epireader.readers.passes import Notes, View, plan_passes, read_pass
from epireader.readers.reading import ReaderModule
from epireader.readers.saved import Model
from epireader.text import Sentence, Token, split_sentences, tokenize_sentence
from epireader.text.lexicon import SIGNS

Passage = str | Sequence[str]
"""A text, or a list of sentences (whose places are then counted in `"\\n".join(sentences)`)."""

_MARKS = frozenset(SIGNS.values())
"""No words even where they have letters: a bracket is `-LRB-`."""


@dataclass(frozen=True)
class Mention:
    """A place in the passage, `passage[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True)
class Answer:
    """One answer, and what the reader thinks of it."""

    text: str
    p: float
    """The Extractor's probability: the attention on all its mentions."""
    e: float | None
    """The Reasoner's, among the hypotheses it tested; None if it was not tested, or the reader has no Reasoner."""
    pi: float
    """Both taken together; 0 for an answer that was not tested."""
    mentions: tuple[Mention, ...]
    """Where it stands in the passage."""
    attention: tuple[float, ...] | None
    """How much each word of the passage was looked at; the same for all answers to a question."""
    evidence: tuple[float, ...] | None
    """The Reasoner's score after each sentence, the last one deciding; None where e is."""
    fits_blank: float | None
    """How well it fits the words around the blank, which is added to the last score; None where e is, or if the reader does not ask."""
    read_again: float | None
    """What reading the passage again for this answer adds too, 0 if it was not; None where e is, or if the reader never does."""


@dataclass(frozen=True)
class Asked:
    """A question about a story, with the candidates to choose from; without them, every word of the story is one."""

    question: str
    candidates: Sequence[str] | None = None


class Reader:
    """A trained reader, or several that vote."""

    def __init__(self, members: Sequence[Model], device: str = "cpu") -> None:
        if not members:
            raise ValueError("a Reader needs at least one model")
        self.members = tuple(members)
        self.device = torch.device(device)
        for member in self.members:
            move_to(member.module, self.device)
            member.module.eval()

    @classmethod
    def load(cls, name: str | Path = "default", device: str = "cpu") -> "Reader":
        """A model that ships with the package, the folder of a run, or that of an ensemble."""
        return cls(load_members(str(name)), device)

    def read(self, passage: Passage) -> "Story":
        """Read a text once, to ask about it many times."""
        return Story(self, passage)

    def answer(
        self, passage: Passage, question: str, candidates: Sequence[str] | None = None, *, top: int | None = None
    ) -> list["Answer"]:
        """The answers to one question about a text, best first; see `Story.ask`."""
        return self.read(passage).ask(question, candidates, top=top)

    def answer_all(
        self, questions: Sequence[tuple["Story", Asked]], *, top: int | None = None, why: bool = False
    ) -> list[list["Answer"]]:
        """The answers to questions about any stories, in order. Many are read in one pass of the model.

        With `why` answers carry attention and evidence by sentence, and each story keeps what was made of it, so that
        the next question costs less. Without, what a pass makes is gone after it.
        """
        if not questions:
            return []
        top = _checked_top(top, self.members[0])
        examples = [story.example(asked) for story, asked in questions]
        sizes = sizes_of(examples)
        cutters = [
            LiveCutter(examples, [story.ids(member) for story, _ in questions], sizes, self.device)
            for member in self.members
        ]
        answers: list[list[Answer]] = [[] for _ in questions]
        for rows in plan_passes(sizes):
            stories = [questions[row][0] for row in rows.tolist()]
            notes = [story.notes for story in stories]
            views = [
                read_pass(member.module, cutter, rows, notes, why=why)
                for member, cutter in zip(self.members, cutters, strict=True)
            ]
            for row, story, *of_row in zip(rows.tolist(), stories, *views, strict=True):
                answers[row] = _ranked(story, candidates_of(examples[row]), of_row, top)
        return answers


class Story:
    """A text that has been read."""

    def __init__(self, reader: Reader, passage: Passage) -> None:
        self.reader = reader
        _refuse_what_is_no_text(passage)
        self.text = passage if isinstance(passage, str) else "\n".join(passage)
        self.sentences = read_passage(passage)
        """Its sentences; one too long to be read at once is in pieces."""
        self.words: tuple[Token, ...] = tuple(token for sentence in self.sentences for token in sentence)
        self._passage = tuple(tuple(token.text for token in sentence) for sentence in self.sentences)
        self._ids: dict[ReaderModule, PassageIds] = {}
        self._mentions: dict[Words, tuple[Mention, ...]] = {}
        self.notes = Notes()

    def ask(self, question: str, candidates: Sequence[str] | None = None, *, top: int | None = None) -> list[Answer]:
        """The answers to a question with one blank (`XXXXX`, `____`, `[MASK]` or `@placeholder`), best first.

        Without candidates every word of the story is one, but no mere mark. `top` is how many answers to give, by default as many as
        the reader weighs.
        """
        return self.ask_all([Asked(question, candidates)], top=top)[0]

    def ask_all(self, questions: Sequence[Asked], *, top: int | None = None) -> list[list[Answer]]:
        """The answers to many questions, read together."""
        return self.reader.answer_all([(self, asked) for asked in questions], top=top, why=True)

    def example(self, asked: Asked) -> Example:
        """The story with a question, in words."""
        candidates = self._words_proper if asked.candidates is None else _given(asked.candidates)
        return Example(sentences=self._passage, question=question_words(asked.question), candidates=candidates)

    def ids(self, member: Model) -> PassageIds:
        """Its words as one of the readers knows them."""
        if member.module not in self._ids:
            self._ids[member.module] = PassageIds(self._passage, member.vocabulary)
        return self._ids[member.module]

    def mentions(self, phrase: Words) -> tuple[Mention, ...]:
        """Where some words stand in the story one after the other."""
        found = self._mentions.get(phrase) or tuple(self._find(phrase))
        if found:  # nothing is kept of phrases that do not stand here: of those there is no end
            self._mentions[phrase] = found
        return found

    def _find(self, phrase: Words) -> Iterator[Mention]:
        size = len(phrase)
        for n in self._places.get(phrase[0], ()):
            if size == 1 or tuple(word.text for word in self.words[n : n + size]) == phrase:
                yield Mention(self.words[n].start, self.words[n + size - 1].end)

    @cached_property
    def _words_proper(self) -> tuple[Words, ...]:
        """Every word but the marks between them, each once."""
        return tuple((word,) for word in self._places if word not in _MARKS and any(map(str.isalnum, word)))

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Where each word stands."""
        places: dict[str, list[int]] = {}
        for n, word in enumerate(self.words):
            places.setdefault(word.text, []).append(n)
        return places


def read_passage(passage: Passage) -> tuple[Sentence, ...]:
    """The sentences of a passage, every word with its place."""
    if isinstance(passage, str):
        sentences = split_sentences(without_blank(passage))
    else:
        parts, start = [], 0
        for text in passage:
            parts.append(tokenize_sentence(without_blank(text), start))
            start += len(text) + 1
        sentences = tuple(parts)
    pieces = [
        sentence[start : start + SENTENCE_LIMIT]
        for sentence in sentences
        for start in range(0, len(sentence), SENTENCE_LIMIT)
    ]
    if not pieces:
        raise BadExample("the passage has no words")
    return tuple(pieces)


def _refuse_what_is_no_text(passage: object) -> None:
    sentences = (passage,) if isinstance(passage, str) or not isinstance(passage, Collection) else passage
    if not all(isinstance(sentence, str) for sentence in sentences):
        raise TypeError(f"a passage must be a text or a list of sentences, got {passage!r:.60}")


def _checked_top(top: int | None, member: Model) -> int:
    if top is not None and top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    return member.hypotheses if top is None else top


def _ranked(story: Story, candidates: Sequence[Words], views: Sequence[View], top: int) -> list[Answer]:
    """The best answers to a question, from what each member made of it."""
    pi, p = _mean([view.final for view in views]), _mean([view.first for view in views])
    attention = _listed([view.attention for view in views if view.attention is not None])
    answers = []
    for n in np.lexsort((-p, -pi))[:top].tolist():
        words = candidates[n]
        tests = [view.tested[n] for view in views if n in view.tested]  # e is the mean of those who tested it
        e = _average([test.e for test in tests])
        evidence = _listed([test.by_sentence for test in tests if test.by_sentence is not None])
        answers.append(
            Answer(
                text=" ".join(words),
                p=float(p[n]),
                e=e,
                pi=float(pi[n]),
                mentions=story.mentions(words),
                attention=attention,
                evidence=evidence,
                fits_blank=_average([test.fit for test in tests if test.fit is not None]),
                read_again=_average([test.again for test in tests if test.again is not None]),
            )
        )
    return answers


def _average(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _mean(values: list[np.ndarray]) -> np.ndarray:
    return values[0] if len(values) == 1 else np.asarray(np.mean(values, axis=0))


def _listed(values: list[np.ndarray]) -> tuple[float, ...] | None:
    return tuple(_mean(values).tolist()) if values else None


def _given(candidates: Sequence[str]) -> tuple[Words, ...]:
    if isinstance(candidates, str):
        raise BadExample("candidates must be a list of words, not one text")
    for candidate in candidates:
        if not isinstance(candidate, str):
            raise TypeError(f"candidates must be texts, got {candidate!r:.60}")
    phrases = (phrase_words(candidate) for candidate in candidates)
    distinct = tuple(dict.fromkeys(phrase for phrase in phrases if phrase))
    if not distinct:
        raise BadExample("no candidates are given; leave them out to let every word of the passage be one")
    return distinct
