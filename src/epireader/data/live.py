"""Questions as they are asked, straight from words to a batch; what belongs to a passage is found once.

For a few questions, the columns that a corpus is cut from would cost more than they save. Batches are the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from epireader.data.batches import Batch
from epireader.data.example import BLANK, Example, Words
from epireader.data.questions import ANSWER_UNKNOWN, Shape, Sizes, candidates_of
from epireader.data.vocabulary import BLANK_ID, ENTITY, FIRST_STRANGER_ID, PAD_ID, Vocabulary


class WordIds(dict[str, int]):
    """The ids of words that stand in one passage and in what is asked about it, in order of appearance."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__({BLANK: BLANK_ID})
        self._vocabulary = vocabulary
        self._strangers: dict[str, int] = {}
        self._entities: dict[str, int] = {}

    def copy(self) -> "WordIds":
        """The same words, to which others can be added."""
        other = WordIds(self._vocabulary)
        other.update(self)
        other._strangers, other._entities = self._strangers.copy(), self._entities.copy()
        return other

    def __missing__(self, word: str) -> int:
        vocabulary = self._vocabulary
        key = vocabulary.key(word)
        word_id = vocabulary.known_id(key)
        if word_id is None:
            word_id = FIRST_STRANGER_ID + _rank(key, self._strangers) % vocabulary.strangers
        elif vocabulary.rename_entities and ENTITY.fullmatch(key):
            names = vocabulary.entity_ids
            word_id = int(names[_rank(key, self._entities) % len(names)])
        self[word] = word_id
        return word_id

    def of(self, words: Words, width: int) -> list[int]:
        """The ids of some words, padded."""
        return [self[word] for word in words] + [PAD_ID] * (width - len(words))


def _rank(key: str, met: dict[str, int]) -> int:
    return met.setdefault(key, len(met))


class PassageIds:
    """A passage in ids, for a reader with this vocabulary."""

    def __init__(self, sentences: Sequence[Words], vocabulary: Vocabulary) -> None:
        self.ids = WordIds(vocabulary)
        length = torch.tensor([len(sentence) for sentence in sentences])
        self.words = torch.tensor([[self.ids[word] for sentence in sentences for word in sentence]])
        self.sentence_length = length[None]
        self.sentence_of = torch.arange(len(sentences)).repeat_interleave(length)[None]


@dataclass(frozen=True)
class LiveCutter:
    """Cuts batches out of questions whose passages are in ids already; a `BatchCutter` for questions just asked."""

    questions: Sequence[Example]
    passages: Sequence[PassageIds]
    sizes: Sizes
    device: torch.device

    def cut(self, rows: Int[Tensor, " batch"], shape: Shape) -> Batch:
        """The questions `rows` as a batch of the given shape."""
        numbers = rows.tolist()
        passages = [self.passages[row] for row in numbers]
        asked = [self._asked(row, shape) for row in numbers]
        return Batch(
            passage=_beside([passage.words for passage in passages], PAD_ID).to(self.device),
            sentence_of=_beside([passage.sentence_of for passage in passages], shape.sentences).to(self.device),
            sentence_length=_beside([passage.sentence_length for passage in passages], 0).to(self.device),
            question=_tensor([question for question, _ in asked]).to(self.device),
            candidates=_tensor([candidates for _, candidates in asked]).to(self.device),
            answer=torch.full((len(numbers),), ANSWER_UNKNOWN, device=self.device),
            row=rows.to(self.device),
        )

    def _asked(self, row: int, shape: Shape) -> tuple[list[int], list[list[int]]]:
        """A question and its candidates in ids, padded."""
        ids, example = self.passages[row].ids.copy(), self.questions[row]
        question = ids.of(example.question, shape.question)
        candidates = [ids.of(words, shape.phrase) for words in candidates_of(example)]
        return question, candidates + [ids.of((), shape.phrase)] * (shape.candidates - len(candidates))


def sizes_of(questions: Sequence[Example]) -> Sizes:
    """How large each question is."""
    candidates = [candidates_of(example) for example in questions]
    return Sizes(
        words=np.array([sum(map(len, example.sentences)) for example in questions]),
        sentences=np.array([len(example.sentences) for example in questions]),
        question=np.array([len(example.question) for example in questions]),
        candidates=np.array(list(map(len, candidates))),
        phrase=np.array([max(map(len, phrases)) for phrases in candidates]),
    )


def _tensor(ids: Sequence[Sequence[int] | Sequence[Sequence[int]]]) -> Int[Tensor, "..."]:
    return torch.from_numpy(np.array(ids, dtype=np.int64))  # quicker than torch is with lists


def _beside(rows: list[Tensor], padding: int) -> Int[Tensor, "batch n"]:
    """Rows that are batches of one, as one batch."""
    if len(rows) == 1:
        return rows[0]
    return pad_sequence([row[0] for row in rows], batch_first=True, padding_value=padding)
