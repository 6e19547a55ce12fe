"""Compiling books into a shelf (`epireader prepare-books`)."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from epireader import __version__
from epireader.data.books import tagged_books
from epireader.data.corpus import SourceRecord
from epireader.data.example import BLANK, BadExample
from epireader.data.loading import SENTENCE_LIMIT, splits_named
from epireader.data.prepare import source_record
from epireader.data.questions import LEXICON_START, Lexicon
from epireader.data.ragged import Ragged
from epireader.data.shelf import IS_NAME, IS_NOUN, STOOD_BEFORE, Shelf, ShelfRecord, open_shelf, write_shelf
from epireader.data.sources import PACKED_ENDINGS, files_of
from epireader.files import folder_made_beside
from epireader.text.cloze import NAME, NOUN, PASSAGE, TaggedBook

TEXT, KINDS = ".txt", ".kinds.txt"

_MARK_OF_LETTER = np.zeros(256, dtype=np.uint8)
_MARK_OF_LETTER[[ord(NAME), ord(NOUN)]] = IS_NAME, IS_NOUN


def prepare_books(
    sources: Iterable[Path],
    out: Path,
    *,
    sentence_limit: int = SENTENCE_LIMIT,
    on_bytes: Callable[[int], None] | None = None,
) -> Shelf:
    """Compile the books of `sources` into the folder `out`, which must not exist."""
    pairs = pairs_of(sources)
    with folder_made_beside(out) as folder:
        builder = ShelfBuilder(sentence_limit)
        for text, kinds in pairs:
            for book in tagged_books(text, kinds, on_bytes=on_bytes):
                try:
                    builder.add(book)
                except BadExample as bad:
                    raise BadExample(bad.reason, str(text)) from None
        write_shelf(builder.build(folder, tuple(map(source_record, chain.from_iterable(pairs)))))
    return open_shelf(out)


def pairs_of(sources: Iterable[Path]) -> list[tuple[Path, Path]]:
    """The texts named, or lying in the folders named, each with the file of kinds beside it."""
    pairs = [pair for source in sources for pair in (_in_folder(source) if source.is_dir() else [_with_kinds(source)])]
    seen: set[Path] = set()
    for text, _ in pairs:
        if held_out := splits_named(text.name) & {"valid", "test"}:
            raise ValueError(
                f"{text} is called {' and '.join(sorted(held_out))}, and what a reader is measured on is never trained on;"
                " name the files to take, or rename this one"
            )
        if text.resolve() in seen:
            raise ValueError(f"{text} is named twice; each book is taken once")
        seen.add(text.resolve())
    return pairs


def _in_folder(folder: Path) -> Iterator[tuple[Path, Path]]:
    found = False
    for text in files_of(folder, wanted=lambda name: name.endswith(TEXT) and not name.endswith(KINDS)):
        if kinds := _kinds_of(text):
            found = True
            yield text, kinds
    if not found:
        raise ValueError(
            f"there are no books in {folder}: no NAME{TEXT} with a NAME{KINDS} beside it, plain, .gz or .xz"
        )


def _with_kinds(text: Path) -> tuple[Path, Path]:
    kinds = _kinds_of(text)
    if kinds is None:
        raise ValueError(
            f"{text} must be called NAME{TEXT}, .gz or .xz after it or not, and have NAME{KINDS} beside it,"
            " a letter for every word of it"
        )
    return text, kinds


def _kinds_of(text: Path) -> Path | None:
    """The file of kinds beside a text, None where there is none."""
    plain = text.with_suffix("") if text.suffix in PACKED_ENDINGS else text
    if plain.suffix != TEXT or plain.name.endswith(KINDS):
        return None
    choices = [plain.with_name(plain.stem + KINDS + ending) for ending in ("", *PACKED_ENDINGS)]
    return next((choice for choice in choices if choice.is_file()), None)


class ShelfBuilder:
    """Gathers books into columns."""

    def __init__(self, sentence_limit: int) -> None:
        if sentence_limit < 1:
            raise ValueError(f"the sentence limit must be at least one word, got {sentence_limit}")
        self._limit = sentence_limit
        self._lexicon = Lexicon()
        self._words, self._marks = array("i"), array("B")
        self._piece_lengths, self._pieces = array("i"), array("i")
        self._asks, self._books = array("B"), array("i", [0])

    def add(self, book: TaggedBook) -> None:
        words = np.array(self._lexicon.numbers_of(tuple(chain.from_iterable(book.sentences))), dtype=np.int32)
        if bool((words == LEXICON_START.index(BLANK)).any()):
            raise BadExample(f"the book {book.title!r} has the word {BLANK} in it, which only stands for a blank")
        lengths = np.fromiter(map(len, book.sentences), dtype=np.int32)
        marks = _MARK_OF_LETTER[np.frombuffer("".join(book.kinds).encode(), dtype=np.uint8)]
        stood = stood_before(words, np.repeat(np.arange(len(lengths)), lengths))
        marks |= np.where(stood & (marks > 0), STOOD_BEFORE, 0).astype(np.uint8)
        asked = np.where(marks & STOOD_BEFORE, marks & (IS_NAME | IS_NOUN), 0).astype(np.uint8)
        pieces = -(-lengths // self._limit)
        self._words.frombytes(words.tobytes())
        self._marks.frombytes(marks.tobytes())
        self._piece_lengths.frombytes(_cut(lengths, pieces, self._limit).tobytes())
        self._pieces.frombytes(pieces.tobytes())
        self._asks.frombytes(np.bitwise_or.reduceat(asked, np.cumsum(lengths) - lengths).tobytes())
        self._books.append(len(self._asks))

    def build(self, folder: Path, sources: tuple[SourceRecord, ...]) -> Shelf:
        if not self._words:
            raise ValueError("there are no books in the sources")
        asks = torch.frombuffer(self._asks, dtype=torch.uint8)
        record = ShelfRecord(
            made_by=f"epireader {__version__}",
            sources=sources,
            sentence_limit=self._limit,
            books=len(self._books) - 1,
            sentences=len(self._asks),
            words=len(self._words),
            about_names=int((asks & IS_NAME).count_nonzero()),
            about_nouns=int((asks & IS_NOUN).count_nonzero()),
        )
        words, lengths, pieces = (
            torch.frombuffer(values, dtype=torch.int32) for values in (self._words, self._piece_lengths, self._pieces)
        )
        return Shelf(
            folder=folder,
            record=record,
            lexicon=self._lexicon.words,
            pieces=Ragged.from_lengths(words, lengths),
            marks=torch.frombuffer(self._marks, dtype=torch.uint8),
            sentences=Ragged.from_lengths(pieces, pieces).offsets,
            asks=asks,
            books=torch.tensor(self._books, dtype=torch.int64),
        )


def stood_before(words: np.ndarray, sentence_of: np.ndarray) -> np.ndarray:
    """Which words of a book stand in the 20 sentences before their own, too, where there are 20."""
    order = np.argsort(words, kind="stable")
    word, sentence = words[order], sentence_of[order]
    same_word = word[1:] == word[:-1]
    begins = np.append(True, ~same_word | (sentence[1:] != sentence[:-1]))  # a word in a sentence, however often
    run = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    near = np.zeros(len(first), dtype=bool)
    near[1:] = (word[first[1:]] == word[first[:-1]]) & (sentence[first[1:]] - sentence[first[:-1]] <= PASSAGE)
    stood = np.empty(len(words), dtype=bool)
    stood[order] = near[run] & (sentence >= PASSAGE)
    return stood


def _cut(lengths: np.ndarray, pieces: np.ndarray, limit: int) -> np.ndarray:
    """The lengths of the pieces of all sentences: full ones, and what is left over."""
    cut = np.full(int(pieces.sum()), limit, dtype=np.int32)
    cut[np.cumsum(pieces) - 1] = lengths - (pieces - 1) * limit
    return cut
