"""From columns to batches of padded tensors, all of it on the device where the columns lie.

The order of an epoch is planned on the host, once, from the sizes of the questions (`plan_epoch`). A step then hands
over one row of that plan and the shape it needs; nothing on the device is waited for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from epireader.data.questions import Questions, Shape
from epireader.data.ragged import Ragged
from epireader.data.vocabulary import BLANK_ID, FIRST_STRANGER_ID, PAD_ID, Vocabulary


@dataclass(frozen=True)
class Batch:
    """Questions side by side. Words are ids of the reader's vocabulary; padding is `PAD_ID`."""

    passage: Int[Tensor, "batch doc"]
    sentence_of: Int[Tensor, "batch doc"]
    """The number of the sentence each word stands in; for padding, the number of sentences in the widest passage."""
    sentence_length: Int[Tensor, "batch sent"]
    """Words in each sentence; 0 for one that only pads."""
    question: Int[Tensor, "batch q"]
    candidates: Int[Tensor, "batch cand phrase"]
    answer: Int[Tensor, " batch"]
    """The right candidate's number; negative where it is unknown or not among the candidates."""
    row: Int[Tensor, " batch"]
    """The question's number in its corpus."""

    def __len__(self) -> int:
        return self.row.shape[0]

    @cached_property
    def passage_mask(self) -> Bool[Tensor, "batch doc"]:
        return self.passage != PAD_ID

    @cached_property
    def sentence_mask(self) -> Bool[Tensor, "batch sent"]:
        return self.sentence_length > 0

    @cached_property
    def question_mask(self) -> Bool[Tensor, "batch q"]:
        return self.question != PAD_ID

    @cached_property
    def words_asked(self) -> Bool[Tensor, "batch q"]:
        """The words of the question proper: neither padding nor the blank."""
        return self.question > max(PAD_ID, BLANK_ID)  # no word has a smaller id

    @cached_property
    def in_question(self) -> Bool[Tensor, "batch doc"]:
        """The words of the passage that stand in the question too."""
        same = self.passage[:, :, None] == self.question[:, None]
        return (same & self.words_asked[:, None]).any(dim=2)

    @cached_property
    def candidate_mask(self) -> Bool[Tensor, "batch cand"]:
        return self.candidates[:, :, 0] != PAD_ID

    @cached_property
    def answer_mask(self) -> Bool[Tensor, " batch"]:
        return self.answer >= 0

    @cached_property
    def blank(self) -> Int[Tensor, " batch"]:
        """Where the blank stands in each question."""
        return (self.question == BLANK_ID).int().argmax(dim=1)


class BatchCutter:
    """Cuts batches out of questions for a reader with this vocabulary."""

    def __init__(self, questions: Questions, vocabulary: Vocabulary, device: torch.device | str = "cpu") -> None:
        device = torch.device(device)
        self.sizes = questions.sizes
        self._device = device
        self._sequences = questions.sequences.to(device)
        self._passages = questions.passages.to(device)
        self._questions = questions.questions.to(device)
        self._candidates = questions.candidates.to(device)
        self._answers = questions.answers.to(device)
        self._encoder = Encoder(questions.lexicon, questions.sequences.values, vocabulary, device)

    def rows_of_epoch(self, **_: int) -> np.ndarray:
        """What is asked in an epoch, whatever its number and the seed: every question."""
        return np.arange(len(self.sizes.words))

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.sizes.words[rows])

    def question_lengths(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.sizes.question[rows])

    def shape(self, rows: np.ndarray) -> Shape:
        return self.sizes.of(rows)

    def cut(
        self, rows: Int[Tensor, " batch"], shape: Shape, *, shuffle: int | Int[Tensor, "*batch"] | None = None
    ) -> Batch:
        """The questions `rows` as a batch of the given shape.

        With `shuffle`, the anonymous entities of each question trade names, differently for every number
        given: one for all questions, or one for each.
        """
        return self.named(self.unnamed(rows, shape), shuffle)

    def unnamed(self, rows: Int[Tensor, " batch"], shape: Shape) -> Batch:
        """The same before strangers have their vectors and entities their names: what those are depends on all the words."""
        rows = rows.to(self._device)
        sentences, sentence_mask = self._passages.take(rows, shape.sentences)
        passage, sentence_of, sentence_length = lay_end_to_end(self._sequences, sentences, sentence_mask, shape.words)
        question, _ = self._sequences.take(self._questions[rows], shape.question)
        phrases, phrase_mask = self._candidates.take(rows, shape.candidates)
        candidates, _ = self._sequences.take(phrases, shape.phrase, phrase_mask)
        return Batch(
            passage=self._encoder.ids_of(passage),
            sentence_of=sentence_of,
            sentence_length=sentence_length,
            question=self._encoder.ids_of(question),
            candidates=self._encoder.ids_of(candidates),
            answer=self._answers[rows].long(),
            row=rows,
        )

    def named(self, batch: Batch, shuffle: int | Int[Tensor, "*batch"] | None = None) -> Batch:
        """What `unnamed` gave, or was made of that, with their vectors and names."""
        passage, question, candidates = self._encoder.named(batch.passage, batch.question, batch.candidates)
        batch = replace(batch, passage=passage, question=question, candidates=candidates)
        return batch if shuffle is None else self._encoder.shuffled(batch, shuffle)


class Encoder:
    """Turns words of a lexicon into ids of a reader's vocabulary; `text` is all that will be asked for."""

    def __init__(
        self, lexicon: Sequence[str], text: Int[Tensor, " words"], vocabulary: Vocabulary, device: torch.device
    ) -> None:
        ids = vocabulary.ids_of(lexicon)
        ids[0] = PAD_ID
        # The lexicon of a corpus has the words of all its splits; in the one to learn from there may be no strangers.
        self._has_strangers = bool((ids[torch.bincount(text, minlength=len(ids)) > 0] < 0).any())
        self._ids = ids.to(device)
        self._strangers = vocabulary.strangers
        self._entities = EntityNames(vocabulary, device)
        self._rename_entities = vocabulary.rename_entities

    def ids_of(self, words: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
        """The ids of words that are known; every stranger has a negative number of its own."""
        return self._ids[words]

    def named(
        self,
        passage: Int[Tensor, "batch doc"],
        question: Int[Tensor, "batch q"],
        candidates: Int[Tensor, "batch cand phrase"],
    ) -> tuple[Int[Tensor, "batch doc"], Int[Tensor, "batch q"], Int[Tensor, "batch cand phrase"]]:
        """The ids with strangers, and entities where they are renamed, numbered by their first appearance in each row."""
        if not (self._has_strangers or self._rename_entities):
            return passage, question, candidates
        ids = torch.cat([passage, question, candidates.flatten(1)], dim=1)
        if self._has_strangers:
            rank = first_appearance_ranks(ids, ids < 0)
            ids = torch.where(ids < 0, FIRST_STRANGER_ID + rank % self._strangers, ids)
        if self._rename_entities:
            ids = self._entities.by_appearance(ids)
        parts = ids.split([passage.shape[1], question.shape[1], candidates[0].numel()], dim=1)
        return parts[0], parts[1], parts[2].view(candidates.shape)

    def shuffled(self, batch: Batch, shuffle: int | Int[Tensor, "*batch"]) -> Batch:
        """The batch with its entities' names traded. Renamed ones have forgotten theirs: nothing is left to trade."""
        return batch if self._rename_entities else self._entities.shuffled(batch, shuffle)


class EntityNames:
    """Renames the anonymous entities of CNN / Daily Mail, so that a reader cannot learn anything about one of them."""

    def __init__(self, vocabulary: Vocabulary, device: torch.device) -> None:
        self._entities = vocabulary.entity_ids.to(device)
        size = len(vocabulary) if len(self._entities) else 0
        self._identity = torch.arange(size, device=device)
        self._is_entity = torch.zeros(size, dtype=torch.bool, device=device)
        self._is_entity[self._entities] = True

    def by_appearance(self, ids: Int[Tensor, "batch n"]) -> Int[Tensor, "batch n"]:
        """The words with the first entity of each row renamed to the first of all, and so on (Chen et al. 2016)."""
        if not len(self._entities):
            return ids
        mask = self._is_entity[ids]
        return torch.where(mask, self._entities[first_appearance_ranks(ids, mask) % len(self._entities)], ids)

    def shuffled(self, batch: Batch, shuffle: int | Int[Tensor, "*batch"]) -> Batch:
        """The batch with a permutation of entities for each question that depends on its row and `shuffle` alone."""
        if not len(self._entities):
            return batch
        numbers = torch.arange(len(self._entities), device=batch.row.device)
        keys = mixed(keys_of(batch.row, shuffle)[:, None] + numbers)
        renamed = self._identity.repeat(len(batch), 1)
        renamed[:, self._entities] = self._entities[keys.argsort(dim=1)]
        return replace(
            batch,
            passage=renamed.gather(1, batch.passage),
            question=renamed.gather(1, batch.question),
            candidates=renamed.gather(1, batch.candidates.flatten(1)).view(batch.candidates.shape),
        )


def lay_end_to_end(
    sequences: Ragged, sentences: Int[Tensor, "batch sent"], sentence_mask: Bool[Tensor, "batch sent"], width: int
) -> tuple[Int[Tensor, "batch {width}"], Int[Tensor, "batch {width}"], Int[Tensor, "batch sent"]]:
    """The words of the sentences one after the other, the number of the sentence each stands in, and their lengths."""
    length = sequences.lengths[sentences] * sentence_mask
    end = length.cumsum(dim=1)
    position = torch.arange(width, device=sentences.device).expand(len(sentences), width)
    sentence_of = torch.searchsorted(end, position.contiguous(), right=True)
    inside = position < end[:, -1:]
    clamped = sentence_of.clamp(max=sentences.shape[1] - 1)
    start = sequences.offsets[sentences] - end + length
    words = sequences.values[(start.gather(1, clamped) + position) * inside] * inside
    return words, sentence_of, length


def first_appearance_ranks(values: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch n"]) -> Int[Tensor, "batch n"]:
    """For each masked value, how many other masked values appeared in its row before it first did; 0 elsewhere."""
    ordered, order = torch.where(mask, values, torch.iinfo(values.dtype).max).sort(dim=1, stable=True)
    starts = torch.ones_like(mask)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    is_first = torch.zeros_like(mask).scatter(1, order, starts) & mask
    rank_at_first = is_first.cumsum(dim=1) - 1
    places = torch.arange(values.shape[1], device=values.device)
    group_start = torch.where(starts, places, 0).cummax(dim=1).values
    ranks_in_order = rank_at_first.gather(1, order.gather(1, group_start))
    ranks = torch.zeros_like(ranks_in_order).scatter(1, order, ranks_in_order)
    return torch.where(mask, ranks, 0)


NO_WORD = torch.iinfo(torch.int64).max
"""In place of a word where there is none to look for."""


def places_among(values: Int[Tensor, "batch n"], words: Int[Tensor, "batch m"]) -> Int[Tensor, "batch n"]:
    """Which of its row's words each value is; m where it is none of them."""
    ordered, order = words.sort(dim=1)
    found = torch.searchsorted(ordered, values.contiguous()).clamp(max=words.shape[1] - 1)
    return torch.where(ordered.gather(1, found) == values, order.gather(1, found), words.shape[1])


def keys_of(rows: Int[Tensor, " batch"], shuffle: int | Int[Tensor, "*batch"]) -> Int[Tensor, " batch"]:
    """The number from which everything is drawn for a question: one `shuffle` for all of them, or one for each."""
    return mixed(rows.long() + mixed(torch.as_tensor(shuffle, device=rows.device)))


def mixed(values: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """64 well-mixed bits from each value: random numbers that need no state and are the same on every device."""
    x = (values + 1) * 0x1E3779B97F4A7C15
    for multiplier in (0x3F58476D1CE4E5B9, 0x14D049BB133111EB):
        x = (x ^ ((x >> 30) & (2**34 - 1))) * multiplier
    return x ^ ((x >> 31) & (2**33 - 1))


LONG_QUESTION = 64
"""A question of more words than this is padding for a whole batch of shorter ones."""


def plan_epoch(
    lengths: np.ndarray,
    batch_size: int,
    *,
    seed: int,
    epoch: int,
    read_ahead: int = 10,
    world: int = 1,
    question_lengths: np.ndarray | None = None,
) -> list[np.ndarray]:
    """The batches of one epoch: shuffled, grouped by the passages' lengths within `read_ahead` batches, shuffled again.

    The second time it is by the epoch alone: batches of different seeds are then about as long at every step. Where the
    questions' lengths are given too, long ones are grouped apart from the rest.

    Every question comes once; the last batch may be smaller. It depends on its arguments alone, so a run that was
    stopped goes on with the very batches it had left. With several processes (`world`) every batch can be shared
    out evenly: the few questions left over sit this epoch out.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    if world > 1:
        order = order[: len(order) - len(order) % world]
    is_long = np.zeros(len(lengths), bool) if question_lengths is None else question_lengths > LONG_QUESTION
    batches: list[np.ndarray] = []
    for start in range(0, len(order), batch_size * read_ahead):
        block = order[start : start + batch_size * read_ahead]
        block = block[np.lexsort((lengths[block], is_long[block]))]
        batches += [block[n : n + batch_size] for n in range(0, len(block), batch_size)]
    in_turn = np.random.default_rng(epoch).permutation(len(batches))  # alike for readers that are trained at once
    return [batches[n] for n in in_turn]


def in_order_of_length(lengths: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """Batches for evaluation: every question once, longest first, so that the largest batch comes first."""
    order = np.argsort(-lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]
