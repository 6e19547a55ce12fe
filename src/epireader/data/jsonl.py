"""People's own questions: one JSON object a line.

    {"passage": "The fox sat down. The crow looked at him.", "question": "'Sing!' said the XXXXX.",
     "candidates": ["crow", "fox"], "answer": "fox"}

(on one line). The passage may also be a list of sentences. Without candidates every word of the passage is one;
without an answer the question can be asked, but neither trained on nor counted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from sys import intern

from epireader.data.example import BadExample, Example, Words
from epireader.data.raw import phrase_words, question_words, sentence_words
from epireader.data.sources import (
    OnBad,
    TextFile,
    checked,
    cut,
    decode,
    distinct,
    placed,
    without_blank,
    without_mark,
)
from epireader.text import split_sentences

KEYS = ("passage", "question", "candidates", "answer", "id")


@dataclass(frozen=True)
class RawQuestion:
    """A line as it was written, each part of the right type."""

    passage: str | list[str]
    question: str
    candidates: list[str] | None
    answer: str | None
    id: str | int | None
    """Whatever its owner calls it."""


def looks_like_jsonl(start: bytes) -> bool:
    """Whether a file that starts so holds questions as JSON objects."""
    line = start.lstrip().split(b"\n", 1)[0]
    return line.startswith(b"{") and b'"question"' in line


def read_jsonl(file: TextFile, *, sentence_limit: int, on_bad: OnBad) -> Iterator[Example]:
    """The questions of a JSONL file; one that cannot be read goes to `on_bad`. Empty lines are passed over."""
    for number, line in enumerate(file.stream, start=1):
        if line.isspace():
            continue
        where = f"{file.where}:{number}"
        try:
            with placed(where):
                example = _example(parse_question(line, number), where, sentence_limit)
        except BadExample as bad:
            on_bad(bad)
        else:
            yield example


def parse_question(line: bytes, number: int = 0) -> RawQuestion:
    """One line of a JSONL file; `number` tells the first line, where a byte order mark may stand."""
    fields = _fields(decode(without_mark(line, number)))
    passage, candidates, answer = (fields.get(key) for key in ("passage", "candidates", "answer"))
    name = fields.get("id")
    if isinstance(name, bool) or not isinstance(name, str | int | None):
        raise BadExample(f"'id' must be a text or a whole number, it is {_json_type(name)}")
    return RawQuestion(
        passage=_texts("passage", passage) if isinstance(passage, list) else _text("passage", passage),
        question=_text("question", fields["question"]),
        candidates=None if candidates is None else _texts("candidates", candidates),
        answer=None if answer is None else _text("answer", answer),
        id=name,
    )


def _example(raw: RawQuestion, where: str, sentence_limit: int) -> Example:
    return Example(
        sentences=tuple(piece for words in _sentences(raw.passage) for piece in cut(words, sentence_limit)),
        question=question_words(raw.question),
        candidates=() if raw.candidates is None else _candidates(raw.candidates),
        answer=None if raw.answer is None else phrase_words(raw.answer),
        where=where,
    )


def _fields(line: str) -> dict[str, object]:
    try:
        value = json.loads(line, object_pairs_hook=_no_key_twice)
    except RecursionError:
        raise BadExample("the JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise BadExample(f"this is not JSON: {error.msg} at column {error.colno}") from None
    except BadExample:
        raise
    except ValueError as error:  # a number too long for Python
        raise BadExample(f"this is not JSON we can read: {error}") from None
    if not isinstance(value, dict):
        raise BadExample(f"each line must be a JSON object with {', '.join(KEYS)}; this is {_json_type(value)}")
    for key in value:
        if key not in KEYS:
            near = get_close_matches(key.lower(), KEYS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(KEYS)}"
            raise BadExample(f"unknown key {key!r}; {hint}")
    for key in ("passage", "question"):
        if key not in value:
            raise BadExample(f"{key!r} is missing")
    return value


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadExample("a key is given twice")
    return fields


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadExample(f"{key!r} must be a text, it is {_json_type(value)}")
    if not checked(value).strip():
        raise BadExample(f"{key!r} is empty")
    return value


def _texts(key: str, value: object) -> list[str]:
    """A list of texts; empty ones are left out."""
    if not isinstance(value, list):
        raise BadExample(f"{key!r} must be a list of texts, it is {_json_type(value)}")
    for item in value:
        if not isinstance(item, str):
            raise BadExample(f"{key!r} must be a list of texts, it has {_json_type(item)} in it")
    return [checked(item) for item in value if item.strip()]


def _sentences(passage: str | list[str]) -> list[Words]:
    if isinstance(passage, list):
        return [sentence_words(without_blank(sentence)) for sentence in passage]
    return [tuple(intern(token.text) for token in sentence) for sentence in split_sentences(without_blank(passage))]


def _candidates(texts: list[str]) -> tuple[Words, ...]:
    candidates = distinct([phrase_words(text) for text in texts])
    if not candidates:
        raise BadExample("'candidates' is empty; leave it out to let every word of the passage be one")
    return candidates


def _json_type(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
