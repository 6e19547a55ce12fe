"""Questions as lists of word ids: how words become ids, and how a person would pad them into a batch."""

from dataclasses import dataclass

import torch

from epireader.data.batches import Batch
from epireader.data.example import BLANK, Example

PADDING, PLACEHOLDER, FIRST_STRANGER = 0, 1, 2


@dataclass(frozen=True)
class Case:
    """One question."""

    sentences: list[list[int]]
    question: list[int]
    candidates: list[list[int]]
    answer: int | None
    """None where it is not known or not among the candidates."""

    @property
    def passage(self) -> list[int]:
        return [word for sentence in self.sentences for word in sentence]


@dataclass(frozen=True)
class Extra:
    """How much wider than needed a batch is."""

    words: int = 0
    sentences: int = 0
    question: int = 0
    candidates: int = 0
    phrase: int = 0


def encode(example: Example, known: tuple[str, ...], strangers: int) -> Case:
    """Ids of words: padding, the placeholder, the strangers' and then those of the known words.

    Strangers are numbered as they first appear: in the passage, then the question, then the candidates. When the
    numbers run out they begin again.
    """
    met: list[str] = []

    def number(word: str) -> int:
        if word == BLANK:
            return PLACEHOLDER
        if word in known:
            return FIRST_STRANGER + strangers + known.index(word)
        if word not in met:
            met.append(word)
        return FIRST_STRANGER + met.index(word) % strangers

    sentences = [[number(word) for word in sentence] for sentence in example.sentences]
    question = [number(word) for word in example.question]
    phrases = list(example.candidates)
    if not phrases:
        for sentence in example.sentences:
            phrases += [(word,) for word in dict.fromkeys(sentence) if (word,) not in phrases]
    candidates = [[number(word) for word in phrase] for phrase in phrases]
    answer = phrases.index(example.answer) if example.answer in phrases else None
    return Case(sentences, question, candidates, answer)


def batch_of_cases(cases: list[Case], extra: Extra = Extra()) -> Batch:  # noqa: B008
    """The cases side by side, filled up with padding to the largest of them and `extra` more."""
    words = max(len(case.passage) for case in cases) + extra.words
    sentences = max(len(case.sentences) for case in cases) + extra.sentences
    question = max(len(case.question) for case in cases) + extra.question
    candidates = max(len(case.candidates) for case in cases) + extra.candidates
    phrase = max(len(words) for case in cases for words in case.candidates) + extra.phrase
    sentence_of = [[n for n, sentence in enumerate(case.sentences) for _ in sentence] for case in cases]
    phrases = [
        [filled(words, phrase, PADDING) for words in case.candidates]
        + [[PADDING] * phrase for _ in range(candidates - len(case.candidates))]
        for case in cases
    ]
    return Batch(
        passage=torch.tensor([filled(case.passage, words, PADDING) for case in cases]),
        sentence_of=torch.tensor([filled(numbers, words, sentences) for numbers in sentence_of]),
        sentence_length=torch.tensor([filled([len(s) for s in case.sentences], sentences, 0) for case in cases]),
        question=torch.tensor([filled(case.question, question, PADDING) for case in cases]),
        candidates=torch.tensor(phrases),
        answer=torch.tensor([-1 if case.answer is None else case.answer for case in cases]),
        row=torch.arange(len(cases)),
    )


def filled(values: list[int], width: int, value: int) -> list[int]:
    return values + [value] * (width - len(values))
