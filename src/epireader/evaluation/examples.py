"""A question shown as in the paper's Figure 2: the sentences that matter, the two choices, and the evidence for each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from epireader.data.batches import BatchCutter
from epireader.data.example import Words
from epireader.data.questions import Questions
from epireader.evaluation.breakdown import passage_of, places_of
from epireader.evaluation.listing import hypotheses_of
from epireader.evaluation.predict import Predictions, move_to
from epireader.evaluation.rerankings import Reranking
from epireader.readers.passes import Notes, View, read_pass
from epireader.readers.saved import Model

MOST_MOVING = 4
"""How many sentences are shown for what they did to the evidence."""


@dataclass(frozen=True)
class ShownSentence:
    """A sentence of the passage."""

    words: Words
    of_answer: tuple[bool, ...]
    """Which of its words stand in a mention of the right answer."""
    of_rival: tuple[bool, ...]
    moved: float | None
    """By how much it moved the Reasoner's score of the answer against that of the rival; None where it scored neither."""
    matters: bool


@dataclass(frozen=True)
class ShownQuestion:
    """A question the Reasoner corrected or spoiled."""

    number: int
    sentences: tuple[ShownSentence, ...]
    question: Words
    answer: str
    rival: str
    corrected: bool
    hypotheses: tuple[dict[str, object], ...]
    """`text`, `p`, `e` and `pi` of every hypothesis, best first."""

    @property
    def extractor_choice(self) -> str:
        return self.rival if self.corrected else self.answer

    @property
    def final_choice(self) -> str:
        return self.answer if self.corrected else self.rival


class Showcase:
    """Makes questions into something to look at; what the readers need for that is made ready once."""

    def __init__(
        self, members: Sequence[Model], questions: Questions, predictions: Predictions, device: torch.device | str
    ) -> None:
        self._questions, self._predictions = questions, predictions
        for member in members:
            move_to(member.module, torch.device(device))
            member.module.eval()
        self._members = [(member.module, BatchCutter(questions, member.vocabulary, device)) for member in members]

    def show(self, one: Reranking, *, corrected: bool) -> ShownQuestion:
        row, questions = np.array([one.number]), self._questions
        views = [read_pass(module, cutter, row, [Notes()], why=True)[0] for module, cutter in self._members]
        phrases = questions.candidates.row(one.number).tolist()
        return ShownQuestion(
            number=one.number,
            sentences=self._sentences(one, phrases, evidence_moves(views, one.answer, one.rival)),
            question=questions.words(int(questions.questions[one.number])),
            answer=" ".join(questions.words(phrases[one.answer])),
            rival=" ".join(questions.words(phrases[one.rival])),
            corrected=corrected,
            hypotheses=tuple(hypotheses_of(questions, self._predictions, one.number)),
        )

    def _sentences(
        self, one: Reranking, phrases: Sequence[int], moves: Sequence[float] | None
    ) -> tuple[ShownSentence, ...]:
        questions = self._questions
        passage = passage_of(questions, one.number)
        lines = [questions.words(n) for n in questions.passages.row(one.number).tolist()]
        marks = [
            _by_sentence(words_of(questions.sequences.row(phrases[n]).numpy(), passage), lines)
            for n in (one.answer, one.rival)
        ]
        mentions = [[any(flags) for flags in of_phrase] for of_phrase in marks]
        matter = sentences_that_matter(moves, mentions, len(lines))
        return tuple(
            ShownSentence(words, of_answer, of_rival, None if moves is None else moves[n], n in matter)
            for n, (words, of_answer, of_rival) in enumerate(zip(lines, *marks, strict=True))
        )


def evidence_moves(views: Sequence[View], answer: int, rival: int) -> list[float] | None:
    """By how much each sentence moved the score of the answer against the rival's, on average over those who tested both."""
    apart = []
    for view in views:
        if answer in view.tested and rival in view.tested:
            scores, other = view.tested[answer].by_sentence, view.tested[rival].by_sentence
            assert scores is not None
            assert other is not None
            apart.append(np.diff(scores.astype(np.float64) - other, prepend=0.0))
    return np.mean(apart, axis=0).tolist() if apart else None


def sentences_that_matter(
    moves: Sequence[float] | None, mentions: Sequence[Sequence[bool]], sentences: int
) -> frozenset[int]:
    """Those that moved the evidence most, the last that mention either choice, and the last of all.

    `mentions` says of the answer, and of the rival, which sentences mention it.
    """
    chosen = {sentences - 1}
    if moves is not None:
        chosen |= set(sorted(range(sentences), key=lambda n: (-abs(moves[n]), n))[:MOST_MOVING])
    for mentioned in mentions:
        chosen |= set([n for n in range(sentences) if mentioned[n]][-1:])
    return frozenset(chosen)


def words_of(phrase: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Which words stand in a mention of the phrase."""
    inside = np.zeros(len(words), dtype=bool)
    for start in places_of(phrase, words).tolist():
        inside[start : start + len(phrase)] = True
    return inside


def _by_sentence(flags: np.ndarray, lines: Sequence[Words]) -> list[tuple[bool, ...]]:
    ends = np.cumsum([len(words) for words in lines])[:-1]
    return [tuple(part.tolist()) for part in np.split(flags, ends)]
