"""Books compiled into a folder of arrays."""

import gzip
import json
import lzma
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from builders import household_book, shelf_of, small_book, small_disk, write_books
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.example import BadExample
from epireader.data.prepare_books import pairs_of, prepare_books
from epireader.data.shelf import IS_NAME, IS_NOUN, STOOD_BEFORE, BadShelf, Shelf, open_shelf
from epireader.files import sha256_of
from epireader.text.cloze import PASSAGE, TaggedBook

MARK = {"N": IS_NAME, "C": IS_NOUN, "-": 0}
BOOKS = [household_book(np.random.default_rng(n), f"Book {n}", sentences=25) for n in range(3)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_books(tmp_path / "tales.txt", BOOKS)


def words_of(shelf: Shelf, first: int, end: int) -> list[str]:
    """The words of pieces one after the other."""
    return [shelf.lexicon[n] for piece in range(first, end) for n in shelf.pieces.row(piece).tolist()]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=3), st.integers(1, 8), st.integers(0, 999))
def test_every_word_lies_there_with_what_it_is(lengths: list[int], sentence_limit: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    books = [small_book(random, sentences=length) for length in lengths]
    shelf = shelf_of(books, sentence_limit=sentence_limit)
    assert shelf.books.tolist() == [0, *np.cumsum(lengths)]
    assert int(shelf.pieces.lengths.max()) <= sentence_limit
    sentences = list(pairwise(shelf.sentences.tolist()))
    number, marks = 0, iter(shelf.marks.tolist())
    for book in books:
        for place, sentence in enumerate(book.sentences):
            assert words_of(shelf, *sentences[number]) == list(sentence)
            before = {word for words in book.sentences[max(place - PASSAGE, 0) : place] for word in words}
            asks = 0
            for word, letter in zip(sentence, book.kinds[place], strict=True):
                stood = place >= PASSAGE and word in before and letter != "-"
                assert next(marks) == MARK[letter] + STOOD_BEFORE * stood
                asks |= MARK[letter] * stood
            assert shelf.asks[number] == asks
            number += 1
    assert (len(sentences), list(marks)) == (number, [])


def test_sentences_are_cut_as_those_of_a_corpus_are() -> None:
    book = TaggedBook(title="", sentences=[tuple("abcdefg"), tuple("abcdef")], kinds=["-" * 7, "-" * 6])
    shelf = shelf_of([book], sentence_limit=3)
    assert shelf.pieces.lengths.tolist() == [3, 3, 1, 3, 3]
    assert shelf.sentences.tolist() == [0, 3, 5]


def test_what_is_written_comes_back(source: Path, tmp_path: Path) -> None:
    told: list[int] = []
    shelf = prepare_books([source], tmp_path / "books", on_bytes=told.append)
    wanted = shelf_of(BOOKS)
    for name in ("marks", "sentences", "asks", "books"):
        assert getattr(shelf, name).equal(getattr(wanted, name)), name
    assert shelf.pieces.values.equal(wanted.pieces.values)
    assert shelf.lexicon == wanted.lexicon
    assert shelf.word_counts() == wanted.word_counts()
    assert sum(count for _, count in shelf.word_counts()) == 150
    assert sum(told) == source.stat().st_size
    record = shelf.record
    assert (record.books, record.sentences, record.words, record.about_names) == (3, 75, 150, 15)
    assert [one.name for one in record.sources] == ["tales.txt", "tales.kinds.txt"]
    assert [one.sha256 for one in record.sources] == [
        sha256_of(source),
        sha256_of(source.with_name("tales.kinds.txt")),
    ]


def test_the_same_books_give_the_same_bytes(source: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        prepare_books([source], tmp_path / name)
    assert sha256_of(tmp_path / "one") == sha256_of(tmp_path / "two")


def test_packed_books_and_folders_are_read(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "packed"
    folder.mkdir()
    (folder / "tales.txt.xz").write_bytes(lzma.compress(source.read_bytes()))
    (folder / "tales.kinds.txt.gz").write_bytes(gzip.compress(source.with_name("tales.kinds.txt").read_bytes()))
    (folder / "LICENSE.txt").write_text("Do as you like.\n")
    assert pairs_of([folder]) == [(folder / "tales.txt.xz", folder / "tales.kinds.txt.gz")]
    packed, plain = prepare_books([folder], tmp_path / "one"), prepare_books([source], tmp_path / "two")
    assert packed.pieces.values.equal(plain.pieces.values)
    assert packed.marks.equal(plain.marks)


@pytest.mark.parametrize(
    "name", ["cbt_valid.txt", "cbt_test.txt", "My-Validation-books.txt", "train_and_valid.txt", "dev-test.txt"]
)
def test_books_that_readers_are_measured_on_are_refused(tmp_path: Path, name: str) -> None:
    write_books(tmp_path / "cbt_train.txt", BOOKS[:1])
    held_out = write_books(tmp_path / name, BOOKS[1:])
    for sources in ([held_out], [tmp_path]):
        with pytest.raises(ValueError, match="what a reader is measured on is never trained on"):
            prepare_books(sources, tmp_path / "books")
    assert not (tmp_path / "books").exists()
    assert prepare_books([tmp_path / "cbt_train.txt"], tmp_path / "books").record.books == 1


def test_what_cannot_be_books_is_refused_with_the_way_out(source: Path, tmp_path: Path) -> None:
    (tmp_path / "alone.txt").write_text("a b\n")
    (tmp_path / "empty").mkdir()
    for sources, words in (
        ([tmp_path / "alone.txt"], r"alone\.txt must be called NAME\.txt.*have NAME\.kinds\.txt beside it"),
        ([tmp_path / "tales.kinds.txt"], r"tales\.kinds\.txt must be called NAME\.txt"),
        ([tmp_path / "empty"], r"there are no books in .*empty: no NAME\.txt with a NAME\.kinds\.txt"),
        ([source, tmp_path], r"tales\.txt is named twice"),
    ):
        with pytest.raises(ValueError, match=words):
            prepare_books(sources, tmp_path / "books")


def test_a_book_with_the_blank_in_it_and_a_text_without_books_are_refused(tmp_path: Path) -> None:
    book = TaggedBook(title="Odd", sentences=[("an", "XXXXX")], kinds=["--"])
    with pytest.raises(BadExample, match=r"odd\.txt: the book 'Odd' has the word XXXXX in it"):
        prepare_books([write_books(tmp_path / "odd.txt", [book])], tmp_path / "books")
    with pytest.raises(ValueError, match="there are no books in the sources"):
        prepare_books([write_books(tmp_path / "none.txt", [])], tmp_path / "books")
    with pytest.raises(ValueError, match="sentence limit must be at least one word, got 0"):
        shelf_of([book], sentence_limit=0)
    assert not list(tmp_path.glob("*books*"))


def test_a_full_disk_is_told_and_leaves_nothing_behind(source: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"cannot write books\.safetensors: .*File too large"), small_disk():
        prepare_books([source], tmp_path / "books")
    assert not list(tmp_path.glob("*books*"))


def test_a_folder_that_is_there_is_not_written_over(source: Path, tmp_path: Path) -> None:
    prepare_books([source], tmp_path / "books")
    before = sha256_of(tmp_path / "books")
    with pytest.raises(FileExistsError, match="exists already"):
        prepare_books([source], tmp_path / "books")
    assert sha256_of(tmp_path / "books") == before


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("books.json", None, "it has no books.json; make them with 'epireader prepare-books'"),
        ("books.json", b"{", "is damaged"),
        ("books.json", b'{"format": "epireader-corpus"}', "holds no prepared books"),
        ("books.json", b'{"format": "epireader-books", "version": 9}', "format 9, this version reads 1"),
        ("lexicon.txt", None, "it has no lexicon.txt"),
        ("lexicon.txt", b"a\n", "its lexicon ends too early"),
        ("books.safetensors", b"half", "is damaged"),
        ("books.safetensors", None, "it has no books.safetensors"),
    ],
)
def test_damaged_books_are_named_in_one_sentence(
    source: Path, tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    folder = prepare_books([source], tmp_path / "books").folder
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(BadShelf) as error:
        open_shelf(folder)
    assert words in str(error.value)
    assert str(folder) in str(error.value)


def test_the_record_is_plain_json(source: Path, tmp_path: Path) -> None:
    record = json.loads((prepare_books([source], tmp_path / "books").folder / "books.json").read_text())
    assert record["format"] == "epireader-books"
    assert record["sentence_limit"] == 100
