"""The Children's Book Test: twenty numbered sentences, then the twenty-first as a question.

    1 The fox sat down .
    2 The crow looked at him .
    3 `` Sing ! '' said the XXXXX .<TAB>fox<TAB><TAB>crow|fox

An empty line ends each record. The windows of neighbouring records share nearly all their sentences, so a sentence
line is split once and its words are shared.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from sys import intern

from epireader.data.example import BLANK, BadExample, Example, Words
from epireader.data.sources import OnBad, TextFile, cut, decode, distinct, one_blank, without_blank, without_mark

KINDS = ("NE", "CN", "V", "P")
"""Names, common nouns, verbs and prepositions: the four sets of questions of the test."""

_NAME = re.compile(r"(?:^|/)cbtest_(NE|CN|V|P)_[^/]*$")
_START = re.compile(rb"\s*1 .*\n2 .")


def kind_of(name: str) -> str | None:
    """The kind that a file's name gives, None where it gives none."""
    found = _NAME.search(name)
    return found[1] if found else None


def looks_like_cbt(start: bytes) -> bool:
    """Whether a file that starts so is made of numbered lines and has a question among them."""
    return _START.match(start) is not None and b"\t" in start


def read_cbt(file: TextFile, *, sentence_limit: int, on_bad: OnBad) -> Iterator[Example]:
    """The records of a CBT file; one that cannot be read goes to `on_bad`."""
    bars = 0
    for first, record in _records(file.stream):
        try:
            example = _example(record, first, file.where, sentence_limit, bars)
        except BadExample as bad:
            on_bad(bad)
        else:
            bars = _bars(record[-1])
            yield example


def _records(lines: Iterable[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """The lines between empty ones, with the number of the first."""
    record: list[bytes] = []
    number = 0
    for number, line in enumerate(lines, start=1):
        if not line.isspace():
            record.append(without_mark(line, number))
        elif record:
            yield number - len(record), record
            record = []
    if record:
        yield number + 1 - len(record), record


def _example(record: list[bytes], first: int, file: str, sentence_limit: int, bars: int) -> Example:
    """One record; `bars` is how many `|` the one before had."""
    passage: list[Words] = []
    index = 0
    try:
        for index, line in enumerate(record[:-1]):
            passage += _sentences(_after_number(line, index + 1), sentence_limit)
        index = len(record) - 1
        question, answer, candidates = _last_line(record[-1], len(record), bars)
    except BadExample as bad:
        raise BadExample(bad.reason, f"{file}:{first + index}") from None
    return Example(
        sentences=tuple(passage),
        question=question,
        candidates=candidates,
        answer=answer,
        where=f"{file}:{first + index}",
    )


@lru_cache(maxsize=4096)  # lines: a window comes back within a few records or not at all
def _sentences(line: bytes, sentence_limit: int) -> tuple[Words, ...]:
    if b"\t" in line:
        raise BadExample("a TAB in the passage; if this is a question, an empty line must follow it")
    return cut(_words(without_blank(decode(line))), sentence_limit)


def _last_line(line: bytes, expected: int, bars: int) -> tuple[Words, Words, tuple[Words, ...]]:
    """The question, the answer and the candidates."""
    fields = decode(_after_number(line, expected)).split("\t")
    if len(fields) != 4 or fields[2]:
        raise BadExample("the record is cut off: its last line must be `N question TAB answer TAB TAB c1|c2|...`")
    if not line.endswith(b"\n") and _bars(line) < bars:
        raise BadExample(
            f"the file ends without a newline and with fewer candidates ({_bars(line) + 1}) than before "
            f"({bars + 1}), so it looks cut off; if it is whole, end it with a newline"
        )
    before, after = one_blank(fields[0])
    answer = _words(fields[1])
    candidates = distinct([_words(candidate) for candidate in fields[3].split("|")])
    if not answer:
        raise BadExample("the answer is empty")
    if not candidates:
        raise BadExample("there are no candidates")
    return (*_words(before), BLANK, *_words(after)), answer, candidates


def _bars(line: bytes) -> int:
    """How many `|` have a candidate behind them."""
    return line.rstrip(b"|\r\n").count(b"|")


def _after_number(line: bytes, expected: int) -> bytes:
    number, _, text = line.partition(b" ")
    if number != b"%d" % expected and number.strip() != b"%d" % expected:
        start = number[:20].decode("utf-8", "replace")
        raise BadExample(f"the lines of a record are numbered 1, 2, 3 ...; here {expected} is due, not {start!r}")
    return text


def _words(text: str) -> Words:
    return tuple(map(intern, text.split()))
