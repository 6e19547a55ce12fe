"""The words a reader has vectors for, and what becomes of every other word.

A word outside the vocabulary is a *stranger*. Strangers share a fixed number of vectors, given out by order of
first appearance in each question's passage (then its question and candidates), so that a stranger is the same
vector wherever it stands in one question and differs from the other strangers there.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from epireader.data.example import BLANK

PAD_ID = 0
BLANK_ID = 1
FIRST_STRANGER_ID = 2

ENTITY = re.compile(r"@entity\d+")


@dataclass(frozen=True)
class Vocabulary:
    """Ids: padding, the blank, the strangers' vectors, then `words` in order."""

    words: tuple[str, ...]
    strangers: int = 64
    """How many vectors strangers share; the next stranger after the last begins again at the first."""
    lowercase: bool = False
    """Whether words are lower-cased before they are looked up."""
    rename_entities: bool = False
    """Whether anonymous entities are given out like strangers: by order of first appearance in each question."""

    def __post_init__(self) -> None:
        if self.strangers < 1:
            raise ValueError(f"a vocabulary needs at least one stranger vector, got {self.strangers}")
        if len(self._id_of) != len(self.words):
            raise ValueError("a vocabulary may not hold a word twice")

    def __len__(self) -> int:
        return self.first_word_id + len(self.words)

    @property
    def first_word_id(self) -> int:
        return FIRST_STRANGER_ID + self.strangers

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return {word: self.first_word_id + n for n, word in enumerate(self.words)}

    def key(self, word: str) -> str:
        """What a word is looked up by."""
        return word.lower() if self.lowercase else word

    def known_id(self, key: str) -> int | None:
        """The id of the word that is looked up by this; None for a stranger."""
        return self._id_of.get(key)

    def ids_of(self, lexicon: Sequence[str]) -> Int[Tensor, " lexicon"]:
        """The id of each word; the n-th distinct stranger (from 0) is -(n + 1), to be given a vector in its passage."""
        stranger_of: dict[str, int] = {}
        ids = []
        for word in lexicon:
            if word == BLANK:
                ids.append(BLANK_ID)
                continue
            key = self.key(word)
            known = self.known_id(key)
            ids.append(-1 - stranger_of.setdefault(key, len(stranger_of)) if known is None else known)
        return torch.tensor(ids, dtype=torch.int64)

    @cached_property
    def entity_ids(self) -> Int[Tensor, " entities"]:
        """The ids of the anonymous entities of CNN / Daily Mail, `@entity0` and so on."""
        ids = [self.first_word_id + n for n, word in enumerate(self.words) if ENTITY.fullmatch(word)]
        return torch.tensor(ids, dtype=torch.int64)

    def save(self, path: Path) -> None:
        path.write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: Path, *, strangers: int, lowercase: bool, rename_entities: bool = False) -> "Vocabulary":
        # Not splitlines(): a word may hold one of Unicode's other line ends.
        words = path.read_bytes().decode("utf-8").split("\n")
        return cls(tuple(words[:-1]), strangers, lowercase, rename_entities)


def most_frequent(counted: Iterable[tuple[str, int]], *, min_count: int, max_words: int | None) -> tuple[str, ...]:
    """The words to have vectors for, most frequent first, equals by spelling; an entity always has one."""
    kept = [(word, n) for word, n in counted if word != BLANK and (n >= min_count or ENTITY.fullmatch(word))]
    kept.sort(key=lambda item: (not ENTITY.fullmatch(item[0]), -item[1], item[0]))
    return tuple(word for word, _ in kept[:max_words])
