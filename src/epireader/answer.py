"""Ask a trained reader about a text: the one way in for people's own words.

>>> from epireader import Reader
>>> story = Reader.load("default").read("Ann had a goat and Tom a cow. One day the goat ran off.")
>>> for answer in story.ask("'Where is my goat?' said XXXXX."):
...     print(answer.text, answer.pi)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from epireader.data.batches import BatchCutter
from epireader.data.example import BadExample, Example, Words
from epireader.data.loading import SENTENCE_LIMIT
from epireader.data.questions import Questions, QuestionsBuilder
from epireader.data.raw import phrase_words, question_words
from epireader.data.sources import without_blank
from epireader.evaluation.predict import Predictions, move_to, predict
from epireader.readers.ensemble import load_members
from epireader.readers.reading import Reading
from epireader.readers.saved import Model
from epireader.text import Sentence, Token, split_sentences, tokenize_sentence

Passage = str | Sequence[str]
"""A text, or a list of sentences (whose places are then counted in `"\\n".join(sentences)`)."""

QUESTIONS_AT_ONCE = 64


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

    def answer_all(self, questions: Sequence[tuple["Story", Asked]], *, top: int | None = None) -> list[list["Answer"]]:
        """The answers to questions about many stories, read in batches: the quick way where why does not matter.

        These answers carry neither attention nor evidence by sentence.
        """
        if not questions:
            return []
        builder = QuestionsBuilder()
        for story, asked in questions:
            builder.add(story.example(asked))
        columns = builder.build()
        said = predict(self.members, columns, batch_size=QUESTIONS_AT_ONCE, device=self.device)
        top = _checked_top(top, self.members[0])
        return [_listed(story, columns, said, row, top) for row, (story, _) in enumerate(questions)]


class Story:
    """A text that has been read."""

    def __init__(self, reader: Reader, passage: Passage) -> None:
        self.reader = reader
        self.text = passage if isinstance(passage, str) else "\n".join(passage)
        self.sentences = read_passage(passage)
        """Its sentences; one too long to be read at once is in pieces."""
        self.words: tuple[Token, ...] = tuple(token for sentence in self.sentences for token in sentence)
        self._passage = tuple(tuple(token.text for token in sentence) for sentence in self.sentences)
        self._states: dict[int, torch.Tensor | None] = {}

    def ask(self, question: str, candidates: Sequence[str] | None = None, *, top: int | None = None) -> list[Answer]:
        """The answers to a question with one blank (`XXXXX`, `____`, `[MASK]` or `@placeholder`), best first.

        Without candidates every word of the story is one. `top` is how many answers to give, by default as many as
        the reader weighs.
        """
        return self.ask_all([Asked(question, candidates)], top=top)[0]

    def ask_all(self, questions: Sequence[Asked], *, top: int | None = None) -> list[list[Answer]]:
        """The answers to many questions, read together."""
        top = _checked_top(top, self.reader.members[0])
        answers: list[list[Answer]] = []
        for start in range(0, len(questions), QUESTIONS_AT_ONCE):
            columns = self._columns(questions[start : start + QUESTIONS_AT_ONCE])
            views = [self._read(number, columns) for number in range(len(self.reader.members))]
            answers += [self._ranked(columns, row, views, top) for row in range(len(columns))]
        return answers

    def _columns(self, questions: Sequence[Asked]) -> Questions:
        builder = QuestionsBuilder()
        for asked in questions:
            builder.add(self.example(asked))
        return builder.build()

    def example(self, asked: Asked) -> Example:
        """The story with a question, in words."""
        candidates = _given(asked.candidates)
        return Example(sentences=self._passage, question=question_words(asked.question), candidates=candidates)

    @torch.inference_mode()
    def _read(self, member: int, questions: Questions) -> "View":
        """What one member makes of the questions; the passage itself is read only the first time."""
        model = self.reader.members[member]
        rows = np.arange(len(questions))
        cutter = BatchCutter(questions, model.vocabulary, self.reader.device)
        batch = cutter.cut(torch.from_numpy(rows), cutter.sizes.of(rows))
        if member not in self._states:
            first = cutter.cut(torch.from_numpy(rows[:1]), cutter.sizes.of(rows[:1]))
            self._states[member] = model.module.read_passage(first)
        states = self._states[member]
        return View.of(model.module(batch, None if states is None else states.expand(len(rows), -1, -1)))

    def _ranked(self, questions: Questions, row: int, views: Sequence["View"], top: int) -> list[Answer]:
        phrases = questions.candidates.row(row).tolist()
        pi = np.mean([view.final[row] for view in views], axis=0)[: len(phrases)]
        p = np.mean([view.first[row] for view in views], axis=0)[: len(phrases)]
        looked = [view.attention[row] for view in views if view.attention is not None]
        attention = tuple(np.mean(looked, axis=0).tolist()) if looked else None
        answers = []
        for n in np.lexsort((-p, -pi))[:top].tolist():
            words = questions.words(phrases[n])
            e, evidence = _evidence(views, row, n)
            answers.append(
                Answer(" ".join(words), float(p[n]), e, float(pi[n]), self.mentions(words), attention, evidence)
            )
        return answers

    def mentions(self, phrase: Words) -> tuple[Mention, ...]:
        """Where some words stand in the story one after the other."""
        size = len(phrase)
        return tuple(
            Mention(self.words[n].start, self.words[n + size - 1].end)
            for n in self._places.get(phrase[0], ())
            if tuple(word.text for word in self.words[n : n + size]) == phrase
        )

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Where each word stands."""
        places: dict[str, list[int]] = {}
        for n, word in enumerate(self.words):
            places.setdefault(word.text, []).append(n)
        return places


@dataclass(frozen=True)
class View:
    """What one reader made of a batch, as plain arrays."""

    final: np.ndarray
    first: np.ndarray
    attention: np.ndarray | None
    tested: np.ndarray | None
    evidence: np.ndarray | None
    by_sentence: np.ndarray | None

    @classmethod
    def of(cls, reading: Reading) -> "View":
        weighed = reading.evidence
        return cls(
            final=reading.log_probs.exp().cpu().numpy(),
            first=reading.first_log_probs.exp().cpu().numpy(),
            attention=None if reading.log_attention is None else reading.log_attention.exp().cpu().numpy(),
            tested=None if weighed is None else weighed.hypotheses.cpu().numpy(),
            evidence=None if weighed is None else weighed.log_probs.exp().cpu().numpy(),
            by_sentence=None if weighed is None else weighed.by_sentence.cpu().numpy(),
        )


def read_passage(passage: Passage) -> tuple[Sentence, ...]:
    """The sentences of a passage, every word with its place."""
    if isinstance(passage, str):
        sentences = split_sentences(without_blank(passage))
    else:
        parts, start = [], 0
        for text in passage:
            words = tokenize_sentence(without_blank(text))
            parts.append(tuple(Token(word.text, word.start + start, word.end + start) for word in words))
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


def _checked_top(top: int | None, member: Model) -> int:
    if top is not None and top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    return member.hypotheses if top is None else top


def _listed(story: Story, questions: Questions, said: Predictions, row: int, top: int) -> list[Answer]:
    """The best answers to one of many questions, from the bare probabilities."""
    where = said.of(row)
    pi, p = said.final[where], said.first[where]
    e = None if said.evidence is None else said.evidence[where]
    phrases = questions.candidates.row(row).tolist()
    answers = []
    for n in np.lexsort((-p, -pi))[:top].tolist():
        words = questions.words(phrases[n])
        tested = float(e[n]) if e is not None and e[n] > 0 else None
        answers.append(Answer(" ".join(words), float(p[n]), tested, float(pi[n]), story.mentions(words), None, None))
    return answers


def _given(candidates: Sequence[str] | None) -> tuple[Words, ...]:
    if candidates is None:
        return ()
    if isinstance(candidates, str):
        raise BadExample("candidates must be a list of words, not one text")
    phrases = (phrase_words(candidate) for candidate in candidates)
    distinct = tuple(dict.fromkeys(phrase for phrase in phrases if phrase))
    if not distinct:
        raise BadExample("no candidates are given; leave them out to let every word of the passage be one")
    return distinct


def _evidence(views: Sequence[View], row: int, candidate: int) -> tuple[float | None, tuple[float, ...] | None]:
    """e of a candidate and its score after each sentence, averaged over the members that put it to the test."""
    e, scores = [], []
    for view in views:
        if view.tested is None or view.evidence is None or view.by_sentence is None:
            continue
        for place in np.flatnonzero(view.tested[row] == candidate).tolist():
            e.append(view.evidence[row, place])
            scores.append(view.by_sentence[row, place])
    if not e:
        return None, None
    return float(np.mean(e)), tuple(np.mean(scores, axis=0).tolist())
