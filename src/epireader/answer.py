"""Ask a trained reader about a text: the one way in for people's own words.

>>> from epireader import Reader
>>> reader = Reader.load("default")
>>> for answer in reader.answer("Ann had a goat and Tom a cow. The goat ran off.", "'Where is my goat?' said XXXXX."):
...     print(answer.text, answer.pi)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from epireader.data.example import BadExample, Example, Words
from epireader.data.questions import Questions, QuestionsBuilder
from epireader.data.raw import phrase_words, question_words
from epireader.data.sources import without_blank
from epireader.evaluation.predict import Predictions, predict
from epireader.readers.ensemble import load_members
from epireader.readers.saved import Model
from epireader.text import Sentence, Token, split_sentences, tokenize_sentence

Passage = str | Sequence[str]
"""A text, or a list of sentences (whose places are then counted in `"\\n".join(sentences)`)."""


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


class Reader:
    """A trained reader, or several that vote."""

    def __init__(self, members: Sequence[Model], device: str = "cpu") -> None:
        if not members:
            raise ValueError("a Reader needs at least one model")
        self.members = tuple(members)
        self.device = device

    @classmethod
    def load(cls, name: str | Path = "default", device: str = "cpu") -> "Reader":
        """A model that ships with the package, the folder of a run, or that of an ensemble."""
        return cls(load_members(str(name)), device)

    def answer(
        self, passage: Passage, question: str, candidates: Sequence[str] | None = None, *, top: int | None = None
    ) -> list[Answer]:
        """The answers to a question with one blank (`XXXXX`, `____`, `[MASK]` or `@placeholder`), best first.

        Without candidates every word of the passage is one. `top` is how many answers to give, by default as many as
        the reader weighs.
        """
        top = self.members[0].hypotheses if top is None else top
        if top < 1:
            raise ValueError(f"top must be at least 1, got {top}")
        sentences = read_passage(passage)
        example = Example(
            sentences=tuple(tuple(token.text for token in sentence) for sentence in sentences),
            question=question_words(question),
            candidates=_given(candidates),
        )
        builder = QuestionsBuilder()
        builder.add(example)
        questions = builder.build()
        predictions = predict(self.members, questions, device=self.device)
        return _ranked(questions, predictions, [token for sentence in sentences for token in sentence])[:top]


def read_passage(passage: Passage) -> tuple[Sentence, ...]:
    """The sentences of a passage, every word with its place."""
    if isinstance(passage, str):
        sentences = split_sentences(without_blank(passage))
    else:
        parts, start = [], 0
        for text in passage:
            parts.append(
                tuple(Token(t.text, t.start + start, t.end + start) for t in tokenize_sentence(without_blank(text)))
            )
            start += len(text) + 1
        sentences = tuple(part for part in parts if part)
    if not sentences:
        raise BadExample("the passage has no words")
    return sentences


def _given(candidates: Sequence[str] | None) -> tuple[Words, ...]:
    if candidates is None:
        return ()
    if isinstance(candidates, str):
        raise BadExample("candidates must be a list of words, not one text")
    phrases = tuple(dict.fromkeys(phrase_words(candidate) for candidate in candidates if candidate.strip()))
    if not phrases:
        raise BadExample("no candidates are given; leave them out to let every word of the passage be one")
    return phrases


def _ranked(questions: Questions, predictions: Predictions, tokens: Sequence[Token]) -> list[Answer]:
    """Every candidate of the only question, best first; those that were not tested follow by their p."""
    order = np.lexsort((-predictions.first, -predictions.final))
    evidence = predictions.evidence
    answers = []
    for n in order.tolist():
        words = questions.words(int(questions.candidates.row(0)[n]))
        tested = evidence is not None and evidence[n] > 0
        answers.append(
            Answer(
                text=" ".join(words),
                p=float(predictions.first[n]),
                e=float(evidence[n]) if evidence is not None and tested else None,
                pi=float(predictions.final[n]),
                mentions=tuple(_mentions(words, tokens)),
            )
        )
    return answers


def _mentions(words: Words, tokens: Sequence[Token]) -> list[Mention]:
    size = len(words)
    return [
        Mention(tokens[n].start, tokens[n + size - 1].end)
        for n in range(len(tokens) - size + 1)
        if all(tokens[n + k].text == words[k] for k in range(size))
    ]
