"""Whole books to make questions from: plain text, or words with their kinds; and questions made from them as examples.

A file may hold several books, each after a line `_BOOK_TITLE_ : its title`, as the raw text of the Children's Book
Test does. No book is read before the one ahead of it is done with.
"""

import re
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from itertools import zip_longest
from pathlib import Path
from sys import intern

from epireader.data.example import BLANK, BadExample, Example, Words
from epireader.data.sources import OnBytes, damage_named, decode, is_archive, placed, text_files, without_mark
from epireader.text import split_sentences
from epireader.text.cloze import NAME, NOUN, OTHER, Cloze, TaggedBook

TITLE = "_BOOK_TITLE_ :"

_ANY_TITLE = re.compile(rf"^{TITLE}(.*)$\n?", re.MULTILINE)
_LICENCE = re.compile(r"^\*\*\* ?(START|END) OF TH(?:E|IS) PROJECT GUTENBERG EBOOK.*$", re.MULTILINE)
_LETTERS = re.compile(f"[{NAME}{NOUN}{OTHER}]*")


def example_of(cloze: Cloze) -> Example:
    """A question made from a book, in the form of all questions."""
    sentence, blank = cloze.sentence, cloze.blank
    return Example(
        sentences=cloze.passage,
        question=(*sentence[:blank], BLANK, *sentence[blank + 1 :]),
        candidates=tuple((word,) for word in cloze.candidates),
        answer=(cloze.answer,),
    )


def plain_books(path: Path) -> Iterator[tuple[str, list[Words]]]:
    """The titles and sentences of the books of a plain text; one without a title is called by no name."""
    text = "\n".join(line for _, line in _lines(path))
    start, title = 0, ""
    for found in [*_ANY_TITLE.finditer(text), None]:
        part = without_licence(text[start : found.start() if found else None])
        sentences = [tuple(intern(token.text) for token in sentence) for sentence in split_sentences(part)]
        if sentences:
            yield title, sentences
        if found:
            start, title = found.end(), found[1].strip()


def tagged_books(path: Path, kinds: Path, *, on_bytes: OnBytes | None = None) -> Iterator[TaggedBook]:
    """The books of a tokenised text, one sentence a line, with the kinds of its words from the file beside it.

    `on_bytes` is told how many more bytes of the text, as it lies on disk, are done with.
    """
    title = ""
    sentences: list[Words] = []
    letters: list[str] = []
    with ExitStack() as stack:
        text, beside = (
            stack.enter_context(closing(lines)) for lines in (_lines(path, on_bytes=on_bytes), _lines(kinds))
        )
        for (number, line), (_, kind) in zip_longest(text, beside, fillvalue=(0, None)):
            _check_ends(line, kind, path, kinds)
            assert line is not None
            assert kind is not None
            if line.startswith(TITLE):
                if sentences:
                    yield TaggedBook(title=title, sentences=sentences, kinds=letters)
                title, sentences, letters = line.removeprefix(TITLE).strip(), [], []
            words = () if line.startswith(TITLE) else tuple(map(intern, line.split()))
            _check_kinds(words, kind, f"{kinds}:{number}", f"{path}:{number}")
            if words:
                sentences.append(words)
                letters.append(kind)
    if sentences:
        yield TaggedBook(title=title, sentences=sentences, kinds=letters)


def without_licence(text: str) -> str:
    """What stands between the lines with which Project Gutenberg marks where a book starts and ends."""
    marks = {mark[1]: mark for mark in _LICENCE.finditer(text)}
    start = marks["START"].end() if "START" in marks else 0
    return text[start : marks["END"].start() if "END" in marks else None]


def _check_ends(line: str | None, kind: str | None, path: Path, kinds: Path) -> None:
    if line is None or kind is None:
        short, long = (path, kinds) if line is None else (kinds, path)
        raise BadExample(f"this file has fewer lines than {long}; each line needs its line of kinds", str(short))


def _check_kinds(words: Words, kind: str, where: str, text: str) -> None:
    if not _LETTERS.fullmatch(kind):
        raise BadExample(f"a line of kinds has {NAME} (name), {NOUN} (noun) and {OTHER} (other) only", where)
    if len(kind) != len(words):
        raise BadExample(f"there are {len(kind)} kinds here for the {len(words)} words of {text}", where)


def _lines(path: Path, *, on_bytes: OnBytes | None = None) -> Generator[tuple[int, str]]:
    """The lines of one file, plain or packed, with their numbers."""
    if is_archive(path.name) or not path.is_file():
        raise ValueError(f"{path} must be one text file, plain, .gz or .xz")
    for file in text_files(path, wanted=lambda _: True, on_bytes=on_bytes):
        with damage_named(file.where):
            for number, line in enumerate(file.stream, start=1):
                with placed(f"{file.where}:{number}"):
                    yield number, decode(without_mark(line, number)).rstrip("\r\n")
