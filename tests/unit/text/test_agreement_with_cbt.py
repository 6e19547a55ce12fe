"""The five validation books of the Children's Book Test: our tokens from their plain text against the official ones.

Alignment, book by book: `difflib` first pairs equal sentences, then equal tokens in the gaps between them. A sentence
end agrees where both sides end a sentence at a pair of tokens.
"""

import difflib
import lzma
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path

import pytest

from epireader.text import split_sentences, tokenize_sentence

DATA = Path(__file__).parents[4] / "shared" / "data"
OFFICIAL = DATA / "cbt-books" / "cbt_valid.txt.xz"
PLAIN = DATA / "gutenberg-valid"
BOOKS = [
    "the-grey-fairy-book",
    "the-golden-road",
    "the-vision-of-the-fountain",
    "happy-jack",
    "the-adventures-of-johnny-chuck",
]
"""In the order of the official file."""

pytestmark = pytest.mark.skipif(not (OFFICIAL.exists() and PLAIN.exists()), reason="the CBT books are not here")

Line = tuple[str, ...]


def test_tokens_agree_with_the_official_ones() -> None:
    ours, official = (sum(len(line) for book in books for line in book) for books in (our_books(), official_books()))
    agreed = sum(len(pairs) for pairs in all_pairs())
    assert agreed / ours > 0.9999
    assert agreed / official > 0.9999


def test_sentence_ends_agree_with_the_official_ones() -> None:
    agreed = 0
    for ours, official, pairs in zip(our_books(), official_books(), all_pairs(), strict=True):
        our_ends, official_ends = set(starts(ours)[1:]), set(starts(official)[1:])
        agreed += sum(ours + 1 in our_ends and theirs + 1 in official_ends for ours, theirs in pairs)
    assert agreed / sum(map(len, our_books())) > 0.999
    assert agreed / sum(map(len, official_books())) > 0.999


def test_official_lines_stay_as_they_are() -> None:
    lines = [line for book in official_books() for line in book]
    kept = sum(tuple(token.text for token in tokenize_sentence(" ".join(line))) == line for line in lines)
    assert kept / len(lines) > 0.999


@cache
def our_books() -> list[list[Line]]:
    """The last sentence of each book is left out, as in the official file."""
    texts = [unpacked(PLAIN / f"{book}.txt.xz") for book in BOOKS]
    return [[tuple(token.text for token in sentence) for sentence in split_sentences(text)[:-1]] for text in texts]


@cache
def official_books() -> list[list[Line]]:
    books: list[list[Line]] = []
    for line in unpacked(OFFICIAL).splitlines():
        if line.startswith("_BOOK_TITLE_"):
            books.append([])
        else:
            books[-1].append(tuple(line.split()))
    return books


def unpacked(path: Path) -> str:
    return lzma.decompress(path.read_bytes()).decode()


@cache
def all_pairs() -> list[list[tuple[int, int]]]:
    return [list(pairs_of_tokens(*books)) for books in zip(our_books(), official_books(), strict=True)]


def pairs_of_tokens(ours: list[Line], official: list[Line]) -> Iterator[tuple[int, int]]:
    """The places of tokens that are the same in both, each side counted from the start of the book."""
    our_starts, official_starts = starts(ours), starts(official)
    our_tokens, official_tokens = ([token for line in book for token in line] for book in (ours, official))
    our_gap = official_gap = 0
    for line, official_line, count in matches(ours, official):
        our_start, official_start = our_starts[line], official_starts[official_line]
        for i, j, size in matches(our_tokens[our_gap:our_start], official_tokens[official_gap:official_start]):
            yield from ((our_gap + i + k, official_gap + j + k) for k in range(size))
        our_gap, official_gap = our_starts[line + count], official_starts[official_line + count]
        yield from zip(range(our_start, our_gap), range(official_start, official_gap), strict=True)


def matches(ours: list[Line] | list[str], official: list[Line] | list[str]) -> list[difflib.Match]:
    return difflib.SequenceMatcher(None, ours, official, autojunk=False).get_matching_blocks()


def starts(book: list[Line]) -> list[int]:
    """Where each line starts, in tokens, and after them where the book ends."""
    return list(accumulate((len(line) for line in book), initial=0))
