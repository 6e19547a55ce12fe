"""Questions that passages ask themselves, beside those that are given about them.

A sentence is taken out of the passage, and in it the mention of a candidate is left out that stands in another sentence
too. Which one is drawn on the device where the passages lie, from nothing but the question's number and the number given
for the epoch: no state is kept, and every device draws the same.
"""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from epireader.data.batches import LONG_QUESTION, NO_WORD, Batch, BatchCutter, keys_of, mixed, places_among
from epireader.data.questions import Shape
from epireader.data.vocabulary import BLANK_ID, PAD_ID

OWN_DRAW = -2
"""What is added to a question's key to draw what its passage asks; whatever else is drawn from that key adds another number."""


class OwnQuestions:
    """Cuts batches out of the given questions and, `times` for each of them, out of what its passage asks itself.

    Of `given` questions, number n is row n, and what its passage asks the first time is row given + n.
    """

    def __init__(self, cutter: BatchCutter, times: int, *, shuffle_entities: bool) -> None:
        self._cutter, self._times, self._shuffles_entities = cutter, times, shuffle_entities
        self._given = len(cutter.sizes.words)

    def rows_of_epoch(self, **_: int) -> np.ndarray:
        return np.arange(self._given * (1 + self._times))

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        return self._cutter.lengths(rows % self._given)

    def question_lengths(self, rows: np.ndarray) -> np.ndarray:
        """A sentence that is longer than long questions are is never asked."""
        return np.where(rows < self._given, self._cutter.question_lengths(rows % self._given), LONG_QUESTION)

    def shape(self, rows: np.ndarray) -> Shape:
        return replace(self._cutter.shape(rows % self._given), question=int(self.question_lengths(rows).max()))

    def cut(
        self, rows: Int[Tensor, " batch"], shape: Shape, *, shuffle: int | Int[Tensor, "*batch"] | None = None
    ) -> Batch:
        """The questions `rows` as a batch of the given shape; passages ask something else for every number `shuffle`."""
        given = self._cutter.unnamed(rows % self._given, shape)
        rows = rows.to(given.row.device)
        key = keys_of(rows, 0 if shuffle is None else shuffle)
        asked = asking_themselves(given, rows >= self._given, mixed(key + OWN_DRAW))
        # Named now, by the words that are left: one whose first mention was taken out would else be known by its number.
        named = self._cutter.named(asked, shuffle if self._shuffles_entities else None)
        return replace(named, row=rows)


def asking_themselves(
    batch: Batch, own: Bool[Tensor, " batch"], draw: Int[Tensor, " batch"], *, longest: int = LONG_QUESTION
) -> Batch:
    """The batch with what their `own` passages ask in place of what is given, where they can ask something.

    A mention can be left out if its candidate is one word, stands once in its sentence, and in another sentence too, and
    if that sentence has at most `longest` words.
    """
    candidate, can_be_asked = _mentions(batch, longest)
    nth = can_be_asked.cumsum(dim=1)
    chosen = draw[:, None] % nth[:, -1:].clamp(min=1)
    place = (can_be_asked & (nth == chosen + 1)).int().argmax(dim=1, keepdim=True)
    sentence = batch.sentence_of.gather(1, place).clamp(max=batch.sentence_length.shape[1] - 1)
    start = (batch.sentence_of < sentence).sum(dim=1, keepdim=True)
    length = batch.sentence_length.gather(1, sentence)
    words = torch.arange(batch.question.shape[1], device=place.device)
    question = torch.where(words < length, _taken(batch.passage, start + words, PAD_ID), PAD_ID)
    question = question.scatter(1, (place - start).clamp(max=question.shape[1] - 1), BLANK_ID)
    asks = own[:, None] & (nth[:, -1:] > 0)
    without = _without(batch, sentence, start, length)
    return replace(
        batch,
        passage=torch.where(asks, without.passage, batch.passage),
        sentence_of=torch.where(asks, without.sentence_of, batch.sentence_of),
        sentence_length=torch.where(asks, without.sentence_length, batch.sentence_length),
        question=torch.where(asks, question, batch.question),
        answer=torch.where(asks, candidate.gather(1, place), batch.answer[:, None]).squeeze(1),
    )


def _mentions(batch: Batch, longest: int) -> tuple[Int[Tensor, "batch doc"], Bool[Tensor, "batch doc"]]:
    """Which candidate each word of the passages is, the number of candidates where it is none, and whether it can be asked for."""
    is_word = batch.candidate_mask & (batch.candidates[:, :, 1:] == PAD_ID).all(dim=2)
    candidate = places_among(batch.passage, torch.where(is_word, batch.candidates[:, :, 0], NO_WORD))
    none = is_word.shape[1]
    of_candidate = batch.sentence_of.new_zeros(len(batch), none + 1)
    first, last = (
        of_candidate.scatter_reduce(1, candidate, batch.sentence_of, reduce, include_self=False)
        for reduce in ("amin", "amax")
    )
    stands_elsewhere = (first < last).gather(1, candidate)
    length = _taken(batch.sentence_length, batch.sentence_of, 0)
    stands_once = _is_single(batch.sentence_of * (none + 1) + candidate)
    return candidate, (candidate < none) & stands_elsewhere & stands_once & (length <= longest)


def _without(
    batch: Batch, sentence: Int[Tensor, "batch 1"], start: Int[Tensor, "batch 1"], length: Int[Tensor, "batch 1"]
) -> Batch:
    """The batch with a sentence taken out of each passage."""
    words, sentences = (
        torch.arange(size, device=start.device) for size in (batch.passage.shape[1], batch.sentence_length.shape[1])
    )
    behind = words >= start
    moved = words + behind * length
    passage = _taken(batch.passage, moved, PAD_ID)
    sentence_of = torch.where(passage == PAD_ID, len(sentences), _taken(batch.sentence_of, moved, 0) - behind.long())
    sentence_length = _taken(batch.sentence_length, sentences + (sentences >= sentence), 0)
    return replace(batch, passage=passage, sentence_of=sentence_of, sentence_length=sentence_length)


def _taken(values: Int[Tensor, "batch n"], places: Int[Tensor, "batch m"], beyond: int) -> Int[Tensor, "batch m"]:
    """The values at those places of their row; beyond its end there is nothing but `beyond`."""
    width = values.shape[1]
    return torch.where(places < width, values.gather(1, places.clamp(max=width - 1)), beyond)


def _is_single(values: Int[Tensor, "batch n"]) -> Bool[Tensor, "batch n"]:
    """Whether each value stands once in its row."""
    ordered, order = values.sort(dim=1)
    like_next = ordered[:, 1:] == ordered[:, :-1]
    single = torch.ones_like(ordered, dtype=torch.bool)
    single[:, 1:] &= ~like_next
    single[:, :-1] &= ~like_next
    return torch.zeros_like(single).scatter(1, order, single)
