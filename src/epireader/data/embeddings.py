"""Files of word vectors, in the text format of GloVe: `word v1 ... vD` on every line; plain, `.gz` or `.xz`.

A first line that counts the words and the width, as word2vec and fastText write it, is passed over. A file may hold
more words than a reader knows: only the vectors of the reader's words are kept in memory, but every line is checked.
"""

import gzip
import lzma
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from epireader.data.example import BadExample
from epireader.data.sources import damage_named, decode, text_files, without_mark
from epireader.data.vocabulary import Vocabulary
from epireader.files import written_beside

LARGEST = torch.finfo(torch.float32).max
_COUNTS = re.compile(rb"\d+ \d+\s*")


class BadEmbeddings(ValueError):
    """A file of word vectors that cannot be read, or does not fit the reader."""


@dataclass(frozen=True)
class WordVectors:
    """What a file had for the words of a vocabulary."""

    ids: Int[Tensor, " found"]
    vectors: Float[Tensor, "found emb"]
    words: int
    """How many words the vocabulary has."""

    @property
    def coverage(self) -> str:
        """`vectors for 41,203 of 60,691 words (67.9%)`."""
        return f"vectors for {len(self.ids):,} of {self.words:,} words ({len(self.ids) / max(self.words, 1):.1%})"


def read_vectors(path: Path, vocabulary: Vocabulary, dim: int) -> WordVectors:
    """The vectors of the words a vocabulary holds; a cased word the file lacks has that of its lower-cased form."""
    wanted = {form for word in vocabulary.words for form in (word, word.lower())}
    vectors = {word: torch.tensor(values) for word, values in _lines(path, dim, wanted)}
    found = [
        (vocabulary.first_word_id + number, vectors[form])
        for number, word in enumerate(vocabulary.words)
        if (form := word if word in vectors else word.lower()) in vectors
    ]
    return WordVectors(
        torch.tensor([number for number, _ in found], dtype=torch.int64),
        torch.stack([vector for _, vector in found]) if found else torch.empty(0, dim),
        len(vocabulary.words),
    )


def write_vectors(path: Path, words: Sequence[str], vectors: Float[np.ndarray, "words dim"]) -> None:
    """Write a file that can be read again, to four digits behind the point; packed as its name ends."""
    kinds: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    with written_beside(path) as beside:
        file: IO[str]
        with kinds.get(path.suffix, open)(beside, "wt", encoding="utf-8", newline="\n") as file:
            for word, vector in zip(words, vectors, strict=True):
                file.write(f"{word} {' '.join(f'{value:.4f}' for value in vector)}\n")


def _lines(path: Path, dim: int, wanted: set[str]) -> Iterator[tuple[str, list[float]]]:
    """The wanted words of a file with their vectors. Every line is checked, but words that nobody wants may come twice:
    one does in GloVe's 840B.
    """
    line_of: dict[str, int] = {}
    empty = True
    for file in text_files(path, wanted=lambda _: True):
        with damage_named(file.where):
            for number, line in enumerate(file.stream, start=1):
                if number == 1 and dim > 1 and _COUNTS.fullmatch(line):
                    continue
                try:
                    word, values = _parsed(decode(without_mark(line, number)), dim)
                    if word in line_of:
                        raise BadExample(f"{word!r} has a vector in line {line_of[word]} already")
                except BadExample as bad:
                    raise BadEmbeddings(f"{file.where}:{number}: {bad.reason}") from None
                empty = False
                if word in wanted:
                    line_of[word] = number
                    yield word, values
    if empty:
        raise BadEmbeddings(f"{path} holds no word vectors")


def _parsed(line: str, dim: int) -> tuple[str, list[float]]:
    # At spaces only: a word may hold any other white space of Unicode, and in GloVe's 840B a few hold spaces too.
    word, *numbers = line.rstrip(" \r\n").split(" ")
    if not word:
        raise BadExample("there is no word at the start of the line")
    rest, numbers = numbers[:-dim], numbers[-dim:]
    if len(numbers) < dim or any(map(_is_number, rest)):
        raise BadExample(
            f"{word!r} has {len(rest) + len(numbers)} numbers and the reader's vectors have {dim};"
            " another width is given with --set model.embedding_dim"
        )
    try:
        values = list(map(float, numbers))
        if math.isfinite(sum(values)) and max(values) <= LARGEST and min(values) >= -LARGEST:
            return " ".join([word, *rest]), values
    except ValueError:
        pass
    raise BadExample(
        f"{next(number for number in numbers if not _is_number(number))!r} is not a number of ordinary size"
    )


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) <= LARGEST
    except ValueError:
        return False
