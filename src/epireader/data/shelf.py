"""Prepared books: a folder of memory-mapped arrays, from which questions can be made while a reader is trained.

books.json           what it is: format, sources with checksums, counts
lexicon.txt          its words, one a line
books.safetensors    the columns of `Shelf`
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jaxtyping import Int, UInt8
from safetensors import SafetensorError, safe_open
from torch import Tensor

from epireader.data.corpus import SourceRecord, read_lexicon, write_columns, write_lexicon
from epireader.data.questions import counted
from epireader.data.ragged import Ragged

FORMAT = "epireader-books"
VERSION = 1
RECORD, COLUMNS = "books.json", "books.safetensors"

IS_NAME, IS_NOUN, STOOD_BEFORE = 1, 2, 4
"""What one byte says of a word: its kind, and whether it stands in the 20 sentences before its own, too."""


class BadShelf(ValueError):
    """A folder that does not hold prepared books, or is damaged."""


@dataclass(frozen=True, kw_only=True)
class ShelfRecord:
    """What `books.json` holds."""

    made_by: str
    sources: tuple[SourceRecord, ...]
    sentence_limit: int
    """A sentence of more words than this lies there in pieces."""
    books: int
    sentences: int
    words: int
    about_names: int
    """Sentences that can be asked about a name: with twenty before them in which it stands."""
    about_nouns: int
    format: str = FORMAT
    version: int = VERSION


@dataclass(frozen=True)
class Shelf:
    """All books one after the other. A sentence is one or more pieces, a piece is a run of words."""

    folder: Path
    record: ShelfRecord
    lexicon: Sequence[str]
    pieces: Ragged
    """The words of each piece, as numbers into the lexicon."""
    marks: UInt8[Tensor, " words"]
    """A byte for every word; see `IS_NAME`."""
    sentences: Int[Tensor, " sentences_and_one"]
    """The first piece of every sentence, and the end."""
    asks: UInt8[Tensor, " sentences"]
    """The kinds of word that can be left out of a sentence, `IS_NAME` and `IS_NOUN` added up."""
    books: Int[Tensor, " books_and_one"]
    """The first sentence of every book, and the end."""

    def word_counts(self) -> list[tuple[str, int]]:
        return counted(self.lexicon, self.pieces.values)


def is_shelf(folder: Path) -> bool:
    return (folder / RECORD).is_file()


def open_shelf(folder: Path) -> Shelf:
    """Open a folder that `epireader prepare-books` made."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if record["format"] != FORMAT:
            raise BadShelf(f"{folder} holds no prepared books")
        if record["version"] != VERSION:
            raise BadShelf(
                f"{folder} was made in books format {record['version']}, this version reads {VERSION}; prepare it again"
            )
        record["sources"] = tuple(SourceRecord(**source) for source in record["sources"])
        shelf = Shelf(folder, ShelfRecord(**record), read_lexicon(folder), **_columns(folder / COLUMNS))
    except FileNotFoundError as error:
        raise BadShelf(
            f"{folder} holds no prepared books: it has no {Path(error.filename or COLUMNS).name};"
            " make them with 'epireader prepare-books'"
        ) from None
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError, UnicodeDecodeError, SafetensorError) as error:
        raise BadShelf(f"{folder} is damaged ({error}); prepare the books again") from None
    if int(shelf.pieces.values.max()) >= len(shelf.lexicon):
        raise BadShelf(f"{folder} is damaged (its lexicon ends too early); prepare the books again")
    return shelf


def write_shelf(shelf: Shelf) -> None:
    """Write a shelf into its empty folder. (The caller makes it appear at once by renaming the folder.)"""
    columns = {name: getattr(shelf, name) for name in ("marks", "sentences", "asks", "books")}
    columns |= {"pieces.values": shelf.pieces.values, "pieces.offsets": shelf.pieces.offsets}
    write_columns(columns, shelf.folder / COLUMNS)
    write_lexicon(shelf.folder, shelf.lexicon)
    (shelf.folder / RECORD).write_text(json.dumps(asdict(shelf.record), indent=2) + "\n", encoding="utf-8")


def _columns(path: Path) -> dict[str, Any]:
    with safe_open(path, framework="pt") as columns:
        parts: dict[str, Any] = {name: columns.get_tensor(name) for name in ("marks", "sentences", "asks", "books")}
        parts["pieces"] = Ragged(columns.get_tensor("pieces.values"), columns.get_tensor("pieces.offsets"))
    return parts
