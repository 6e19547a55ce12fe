"""People's own questions in JSONL."""

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.example import BLANK, BadExample, Example
from epireader.data.jsonl import read_jsonl
from epireader.data.sources import TextFile

GOOD: dict[str, object] = {
    "passage": "The fox sat down. A crow sang.",
    "question": "The XXXXX sat.",
    "candidates": ["crow", "fox"],
    "answer": "fox",
}


def read(content: str | bytes, *, sentence_limit: int = 100) -> tuple[list[Example], list[str]]:
    """The examples of a file with this content, and what was said of the others."""
    data = content.encode() if isinstance(content, str) else content
    bad: list[BadExample] = []
    file = TextFile("t.jsonl", "t.jsonl", io.BufferedReader(io.BytesIO(data)))
    examples = list(read_jsonl(file, sentence_limit=sentence_limit, on_bad=bad.append))
    return examples, [str(each) for each in bad]


def only(**changed: object) -> Example:
    (example,), bad = read(json.dumps(GOOD | changed))
    assert bad == []
    return example


def test_a_line_becomes_an_example() -> None:
    assert only() == Example(
        sentences=(("The", "fox", "sat", "down", "."), ("A", "crow", "sang", ".")),
        question=("The", BLANK, "sat", "."),
        candidates=(("crow",), ("fox",)),
        answer=("fox",),
        where="t.jsonl:1",
    )


def test_a_passage_may_be_a_list_of_sentences() -> None:
    assert only(passage=["The fox sat down.", " ", "A crow sang."]) == only()
    assert only(passage=["One. Two.", "Three."]).sentences == (("One", ".", "Two", "."), ("Three", "."))


def test_candidates_and_answer_may_be_left_out_or_null() -> None:
    (example,), _ = read('{"passage": "A fox.", "question": "A XXXXX."}')
    assert (example.candidates, example.answer) == ((), None)
    assert only(candidates=None, answer=None).candidates == ()


@pytest.mark.parametrize("blank", ["XXXXX", "@placeholder", "[MASK]", "___", "____________"])
@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("* sat.", [BLANK, "sat", "."]),
        ("The *.", ["The", BLANK, "."]),
        ("It is *'s tail", ["It", "is", BLANK, "'s", "tail"]),
        ('"*," he said', ["``", BLANK, ",", "''", "he", "said"]),
        ("a *-like thing", ["a", BLANK, "-like", "thing"]),
        ("either/*/or", ["either/", BLANK, "/or"]),
        ("*", [BLANK]),
        ("so—*—so", ["so", "--", BLANK, "--", "so"]),
    ],
)
def test_a_blank_glued_to_signs_is_one_word(blank: str, question: str, words: list[str]) -> None:
    assert list(only(question=question.replace("*", blank)).question) == words


def test_candidates_are_phrases_without_their_full_stop() -> None:
    example = only(candidates=["Marley Jr.", "old fox", "", "old  fox", "fox."], answer="fox.")
    assert example.candidates == (("Marley", "Jr."), ("old", "fox"), ("fox",))
    assert example.answer == ("fox",)


def test_a_long_sentence_is_cut_and_no_word_is_lost() -> None:
    words = [f"w{n}" for n in range(25)]
    (example,), _ = read(json.dumps(GOOD | {"passage": [" ".join(words)]}), sentence_limit=10)
    assert [len(sentence) for sentence in example.sentences] == [10, 10, 5]
    assert [word for sentence in example.sentences for word in sentence] == words


def test_line_ends_do_not_change_what_is_read() -> None:
    line = json.dumps(GOOD)
    assert read(f"\ufeff{line}\r\n\r\n") == read(line)
    assert read(json.dumps(GOOD | {"passage": "The fox\u2028sat down. A crow\x85sang."}, ensure_ascii=False)) == read(
        line
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"passage": "A fox."', "not JSON: .* at column"),
        ("[1, 2]", "must be a JSON object .* this is a list"),
        ('"text"', "this is a text"),
        ("null", "this is null"),
        ("1e999", "this is a number"),
        ("9" * 5000, "not JSON"),
        ("[" * 100000, "nested too deeply|not JSON"),
        ('{"question": "XXXXX"}', "'passage' is missing"),
        ('{"passage": "A fox."}', "'question' is missing"),
        ('{"passage": "a", "passage": "b", "question": "XXXXX"}', "a key is given twice"),
    ],
)
def test_a_line_that_is_no_question_is_refused(line: str, reason: str) -> None:
    _, bad = read("\n" + line)
    assert re.search(rf"^t\.jsonl:2: .*(?:{reason})", bad[0])


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"passage": 3}, "'passage' must be a text, it is a number"),
        ({"passage": {"a": 1}}, "'passage' must be a text, it is an object"),
        ({"passage": ""}, "'passage' is empty"),
        ({"passage": []}, "the passage has no words"),
        ({"passage": ["a", 3]}, "'passage' must be a list of texts, it has a number in it"),
        ({"passage": "A XXXXX sat."}, "the passage has the blank XXXXX"),
        ({"passage": ["A [MASK] sat."]}, r"the passage has the blank \[MASK\]"),
        ({"passage": "a\0b"}, "NUL"),
        ({"passage": "a\ud800b"}, r"half a surrogate pair in it: \\ud800"),
        ({"question": " "}, "'question' is empty"),
        ({"question": None}, "'question' must be a text, it is null"),
        ({"question": "no blank"}, "exactly one blank .* it has 0"),
        ({"question": "XXXXX and [MASK]"}, "exactly one blank .* it has 2"),
        ({"question": "____ and ____"}, "exactly one blank .* it has 2"),
        ({"candidates": "fox"}, "'candidates' must be a list of texts, it is a text"),
        ({"candidates": ["fox", True]}, "it has true or false in it"),
        ({"candidates": ["", " "]}, "'candidates' is empty; leave it out"),
        ({"answer": ""}, "'answer' is empty"),
        ({"answer": ["fox"]}, "'answer' must be a text, it is a list"),
        ({"Answers": "fox"}, "unknown key 'Answers'; did you mean 'answer'"),
        ({"QUESTIONS": []}, "unknown key 'QUESTIONS'; did you mean 'question'"),
        ({"zzz": 1}, "unknown key 'zzz'; the keys are passage, question"),
    ],
)
def test_a_wrong_value_is_refused_with_file_line_and_reason(changed: dict[str, object], reason: str) -> None:
    _, bad = read("\n\n" + json.dumps(GOOD | changed) + "\n")
    assert re.search(rf"^t\.jsonl:3: .*{reason}", bad[0])


def test_reading_goes_on_after_a_refused_line() -> None:
    line = json.dumps(GOOD).encode()
    examples, bad = read(b"\n".join([line, b"\xff", b"{", line]))
    assert [example.where for example in examples] == ["t.jsonl:1", "t.jsonl:4"]
    assert [each[:10] for each in bad] == ["t.jsonl:2:", "t.jsonl:3:"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just("a XXXXX b"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "other"]), inner, max_size=4),
    max_leaves=8,
)


@given(st.binary(max_size=200), json_values)
def test_no_bytes_and_no_json_break_the_reader(content: bytes, value: object) -> None:
    read(content)
    read(json.dumps(value))
