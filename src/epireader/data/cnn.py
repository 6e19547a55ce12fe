"""CNN and Daily Mail: one question a file, entities written as @entityN and the blank as @placeholder.

    http://www.cnn.com/...           the source
                                     (an empty line between any two parts)
    ( @entity1 ) the ship left .     the passage
    the @entity1 ship @placeholder   the question
    @entity4                         the answer
    @entity1:CNN                     the names, one a line
    @entity4:Mary Celeste

The candidates are the entities that stand in the passage, as for every published figure; an entity that only the
question names cannot be the answer of a reader that points into the passage.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from sys import intern

from epireader.data.example import BLANK, BadExample, Example, Words
from epireader.data.sources import OnBad, TextFile, cut, decode, distinct, one_blank, placed, without_blank

_PARTS = {1: "source", 3: "passage", 5: "question", 7: "answer"}  # by line number
_START = re.compile(rb"[^\n]*\n\r?\n[^\n]+\n\r?\n[^\n]*@placeholder[^\n]*\n\r?\n@entity")
ENTITY = re.compile(r"@entity\d+")
_ENDS = frozenset({".", "!", "?", "!!", "!!!", "??", "???", "?!", "!?"})
_CLOSERS = _ENDS | {"'", "''", "’", "”", ")", "]"}


def looks_like_cnn(start: bytes) -> bool:
    """Whether a file that starts so is a `.question` file."""
    return _START.match(start) is not None


def read_cnn(file: TextFile, *, sentence_limit: int, on_bad: OnBad) -> Iterator[Example]:
    """The one question of a `.question` file; if it cannot be read, it goes to `on_bad`."""
    try:
        example = _example(file.stream.read(), file.where, sentence_limit)
    except BadExample as bad:
        on_bad(bad)
    else:
        yield example


def _example(content: bytes, file: str, sentence_limit: int) -> Example:
    passage, question, answer = _parts(content, file)
    with placed(f"{file}:3"):
        sentences, candidates = _passage(passage, sentence_limit)
    with placed(f"{file}:7"):
        answer_words = _words(decode(answer))
    with placed(f"{file}:5"):
        before, after = one_blank(decode(question))
        return Example(
            sentences=sentences,
            question=(*_words(before), BLANK, *_words(after)),
            candidates=candidates,
            answer=answer_words,
            where=f"{file}:5",
        )


def _parts(content: bytes, file: str) -> tuple[bytes, bytes, bytes]:
    """The lines of passage, question and answer. The names that follow them are not used, and so not looked at."""
    lines = content.split(b"\n")
    for number, part in _PARTS.items():
        if len(lines) <= number:
            raise BadExample(f"the file is cut off: it has no empty line after the {part}", f"{file}:{len(lines)}")
        if lines[number].strip():
            raise BadExample(f"an empty line must follow the {part}, which is one line", f"{file}:{number + 1}")
        if number > 1 and not lines[number - 1].strip():
            raise BadExample(f"the {part} is empty", f"{file}:{number}")
    return lines[2], lines[4], lines[6]


@lru_cache(maxsize=16)  # passages: the questions of one story often follow one another
def _passage(line: bytes, sentence_limit: int) -> tuple[tuple[Words, ...], tuple[Words, ...]]:
    """The sentences of a passage and the entities in it."""
    words = _words(without_blank(decode(line)))
    entities = distinct([(word,) for word in words if ENTITY.fullmatch(word)])
    if not entities:
        raise BadExample("the passage has no @entityN, so there is nothing to choose from")
    return tuple(piece for sentence in split_at_ends(words) for piece in cut(sentence, sentence_limit)), entities


def split_at_ends(words: Words) -> Iterator[Words]:
    """The words in sentences: one ends after `.`, `!` or `?` and whatever closes a quotation or a bracket behind it.

    The files write both ends of a quotation as `"`. It closes one if one is open, or if another `"` follows at once.
    """
    start = index = 0
    quoted = False
    while index < len(words):
        word = words[index]
        index += 1
        if word == '"':
            quoted = not quoted
        elif word in _ENDS:
            index, quoted = _past_closers(words, index, quoted)
            yield words[start:index]
            start = index
    if start < len(words):
        yield words[start:]


def _past_closers(words: Words, index: int, quoted: bool) -> tuple[int, bool]:
    while index < len(words):
        if words[index] == '"' and (quoted or words[index + 1 : index + 2] == ('"',)):
            quoted = False
        elif words[index] not in _CLOSERS:
            break
        index += 1
    return index, quoted


def _words(text: str) -> Words:
    return tuple(map(intern, text.split()))
