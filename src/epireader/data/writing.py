"""Examples as text: the forms that `read_cbt` and `read_jsonl` read back as the same examples.

What a form cannot hold is refused as BadExample. A sentence may be longer than the reader's limit: it is then cut
there, as in files of others.
"""

import json
from collections.abc import Callable
from functools import lru_cache

from epireader.data.example import BadExample, Example, Words
from epireader.data.raw import phrase_words, question_words, sentence_words
from epireader.data.sources import checked, one_blank, without_blank


def cbt_record(example: Example) -> str:
    """Numbered lines, the question last, and an empty line: the form of the Children's Book Test."""
    if example.answer is None or not example.candidates:
        raise BadExample("the CBT form needs an answer and candidates; JSONL can do without", example.where)
    lines = [f"{number} {_plain_line(words)}\n" for number, words in enumerate(example.sentences, start=1)]
    question = _joined(example.question)
    one_blank(question)
    candidates = [_joined(candidate) for candidate in example.candidates]
    if any("|" in candidate for candidate in candidates):
        raise BadExample(
            "a candidate has | in it, which the CBT form keeps for itself; JSONL can hold it", example.where
        )
    fields = (question, _joined(example.answer), "", "|".join(candidates))
    return f"{''.join(lines)}{len(lines) + 1} " + "\t".join(fields) + "\n\n"


def jsonl_line(example: Example) -> str:
    """One JSON object and a newline; the passage is a list of sentences."""
    fields: dict[str, object] = {
        "passage": [_retokenised(words, _read_sentence) for words in example.sentences],
        "question": _retokenised(example.question, question_words),
    }
    if example.candidates:
        fields["candidates"] = [_retokenised(words, phrase_words) for words in example.candidates]
    if example.answer is not None:
        fields["answer"] = _retokenised(example.answer, phrase_words)
    return json.dumps(fields, ensure_ascii=False) + "\n"


FORMS: dict[str, Callable[[Example], str]] = {"cbt": cbt_record, "jsonl": jsonl_line}


@lru_cache(maxsize=4096)  # sentences: a window comes back within a few questions or not at all
def _plain_line(words: Words) -> str:
    return without_blank(_joined(words))


@lru_cache(maxsize=4096)
def _retokenised(words: Words, read: Callable[[str], Words]) -> str:
    """The words as a text, which must give the same words when it is read."""
    text = _joined(words)
    if (found := read(text)) != words:
        raise BadExample(
            f"as raw text the words {text!r} would be read as {' '.join(found)!r}; the CBT form keeps words"
        )
    return text


def _read_sentence(text: str) -> Words:
    return sentence_words(without_blank(text))


def _joined(words: Words) -> str:
    """The words with spaces between them, which no word may have in it."""
    text = checked(" ".join(words))
    if tuple(text.split()) != words:
        raise BadExample(f"a word is empty or has white space in it: {words!r}")
    return text
