"""Words as people print them: the Treebank's signs turned back, and no spaces where print has none."""

import re
from collections.abc import Sequence

_SHAPES = {
    "``": "“",
    "''": "”",
    "`": "‘",
    "'": "’",
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "--": "—",
    "...": "…",
}
_GLUED_LEFT = frozenset(["''", "'", "-RRB-", "-RSB-", "-RCB-", "--", "...", ",", ".", ";", ":", "?", "!", "%"])
_GLUED_RIGHT = frozenset(["``", "`", "-LRB-", "-LSB-", "-LCB-", "--", "$", "#", "£", "'t", "'T"])
_CLITIC = re.compile("n['’]t|['’](?:s|m|d|re|ve|ll)", re.IGNORECASE)
_MARKS = re.compile("[?!]+|[.]+")
_HALVES = frozenset([("gon", "na"), ("got", "ta"), ("wan", "na"), ("lem", "me"), ("gim", "me"), ("can", "not")])


def prose(words: Sequence[str]) -> str:
    """A sentence as printed. What the tokens do not tell is guessed: a lone `'` closes, `#` before a number is `£`."""
    pieces: list[str] = []
    before = ""
    for word in words:
        if word == "." and before.endswith(".") and len(before) > 1 and before != "...":
            continue  # the period of an abbreviation that ends a sentence is written twice
        if pieces and not _joined(before, word):
            pieces.append(" ")
        pieces.append(_shape(word))
        before = word
    return re.sub(r"#(?=\d)", "£", "".join(pieces))


def _joined(before: str, word: str) -> bool:
    return (
        word in _GLUED_LEFT
        or before in _GLUED_RIGHT
        or _MARKS.fullmatch(word) is not None
        or _CLITIC.fullmatch(word) is not None
        or (before.lower(), word) in _HALVES
    )


def _shape(word: str) -> str:
    return _SHAPES.get(word) or word.replace("'", "’")
