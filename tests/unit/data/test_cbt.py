"""CBT files: what the official ones hold, and what can be wrong in one."""

import io
import re
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_data

from epireader.data.cbt import kind_of, read_cbt
from epireader.data.example import BLANK, BadExample, Example
from epireader.data.loading import read_examples
from epireader.data.sources import TextFile
from epireader.data.writing import cbt_record

RECORD = "1 The fox sat down .\n2 A crow sang .\n3 The XXXXX sat .\tfox\t\tcrow|fox\n\n"


def read(content: str | bytes, *, sentence_limit: int = 100) -> tuple[list[Example], list[str]]:
    """The examples of a file with this content, and what was said of the others."""
    data = content.encode() if isinstance(content, str) else content
    bad: list[BadExample] = []
    file = TextFile("t.txt", "t.txt", io.BufferedReader(io.BytesIO(data)))
    examples = list(read_cbt(file, sentence_limit=sentence_limit, on_bad=bad.append))
    return examples, [str(each) for each in bad]


def only(content: str | bytes, *, sentence_limit: int = 100) -> Example:
    examples, bad = read(content, sentence_limit=sentence_limit)
    assert bad == []
    (example,) = examples
    return example


def last_line(line: str) -> str:
    return f"1 The fox sat down .\n2 A crow sang .\n3 {line}\n\n"


def test_a_record_becomes_an_example() -> None:
    assert only(RECORD) == Example(
        sentences=(("The", "fox", "sat", "down", "."), ("A", "crow", "sang", ".")),
        question=("The", BLANK, "sat", "."),
        candidates=(("crow",), ("fox",)),
        answer=("fox",),
        where="t.txt:3",
    )


def test_a_window_of_any_length_is_read() -> None:
    assert len(only("1 A fox .\n2 The XXXXX .\tfox\t\tfox\n\n").sentences) == 1
    numbered = "".join(f"{n} line {n} .\n" for n in range(1, 31))
    assert len(only(f"{numbered}31 The XXXXX .\tfox\t\tfox\n\n").sentences) == 30


def test_line_ends_do_not_change_what_is_read() -> None:
    assert only(RECORD.replace("\n", "\r\n")) == only(RECORD)
    assert only(RECORD.rstrip("\n")) == only(RECORD)
    assert only(RECORD + "\n\n\n") == only(RECORD)
    assert only(b"\xef\xbb\xbf" + RECORD.encode()) == only(RECORD)


def test_only_a_newline_ends_a_line() -> None:
    odd = only(RECORD.replace("The fox sat", "The\u2028fox\x85sat\x0b\x1c"))
    assert odd.sentences == only(RECORD).sentences


def test_non_ascii_words_are_kept_as_they_are() -> None:
    assert only(RECORD.replace("crow", "Kráke-Ælf·狐")).candidates[0] == ("Kráke-Ælf·狐",)


def test_empty_and_repeated_candidates_are_left_out() -> None:
    assert only(last_line("The XXXXX .\tfox\t\t|crow||fox|crow| |")).candidates == (("crow",), ("fox",))


def test_candidates_of_several_words_and_odd_characters_are_read() -> None:
    example = only(last_line("The XXXXX .\told fox\t\told fox|--|'s|a/b|*"))
    assert example.answer == ("old", "fox")
    assert example.candidates == (("old", "fox"), ("--",), ("'s",), ("a/b",), ("*",))


def test_an_answer_missing_from_candidates_and_passage_is_kept() -> None:
    assert only(last_line("The XXXXX .\twolf\t\tcrow|fox")).answer == ("wolf",)


def test_underscores_beside_the_blank_are_text() -> None:
    assert only(last_line("Mr. ____ saw XXXXX .\tfox\t\tfox")).question == ("Mr.", "____", "saw", BLANK, ".")
    assert only(RECORD.replace("sang", "____")).sentences[1] == ("A", "crow", "____", ".")


@pytest.mark.parametrize("blank", ["@placeholder", "____", "___", "_________", "[MASK]"])
def test_every_form_of_the_blank_is_read(blank: str) -> None:
    assert only(RECORD.replace("XXXXX", blank)) == only(RECORD)


def test_a_blank_glued_to_signs_is_found() -> None:
    assert only(last_line("The `XXXXX's .\tfox\t\tfox")).question == ("The", "`", BLANK, "'s", ".")


def test_a_numbered_line_without_words_adds_no_sentence() -> None:
    assert len(only(RECORD.replace("2 A crow sang .", "2")).sentences) == 1
    assert len(only(RECORD.replace("2 A crow sang .", "2  ")).sentences) == 1


def test_a_long_sentence_is_cut_and_no_word_is_lost() -> None:
    words = [f"w{n}" for n in range(250)]
    sentences = only(RECORD.replace("A crow sang .", " ".join(words)), sentence_limit=100).sentences
    assert [len(sentence) for sentence in sentences] == [5, 100, 100, 50]
    assert [word for sentence in sentences[1:] for word in sentence] == words


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        (last_line("The fox .\tfox\t\tfox"), 3, "exactly one blank .* it has 0"),
        (last_line("XXXXX or XXXXX\tfox\t\tfox"), 3, "exactly one blank .* it has 2"),
        (last_line("XXXXX or @placeholder\tfox\t\tfox"), 3, "it has 2"),
        (last_line("XXXXXX went\tfox\t\tfox"), 3, "it has 0; put spaces around what is meant as one$"),
        (last_line("我爱XXXXX吗\tfox\t\tfox"), 3, "it has 0; put spaces around what is meant as one$"),
        (last_line("the ____s\tfox\t\tfox"), 3, "it has 0; put spaces around what is meant as one$"),
        (last_line("\tfox\t\tfox"), 3, "it has 0$"),
        (last_line("The XXXXX .\t\t\tfox"), 3, "the answer is empty"),
        (last_line("The XXXXX .\tfox\t\t||"), 3, "there are no candidates"),
        (last_line("The XXXXX .\tfox\tcrow|fox"), 3, "its last line must be"),
        (last_line("The XXXXX .\tfox\tx\tcrow|fox"), 3, "its last line must be"),
        ("1 A fox .\n2 A crow .\n\n", 2, "the record is cut off"),
        ("1 A fox .\n2 A crow .", 2, "the record is cut off"),
        ("1 A fox .\n2 The XXXXX .\tfo", 2, "the record is cut off"),
        ("1 The XXXXX .\tfox\t\tfox\n\n", 1, "the passage has no words"),
        ("1 A fox .\n3 The XXXXX .\tfox\t\tfox\n\n", 2, "here 2 is due, not '3'"),
        ("2 A fox .\n3 The XXXXX .\tfox\t\tfox\n\n", 1, "here 1 is due, not '2'"),
        ("A fox .\n2 The XXXXX .\tfox\t\tfox\n\n", 1, "here 1 is due, not 'A'"),
        (RECORD.replace("crow sang", "XXXXX sang"), 2, "the passage has the blank XXXXX"),
        (RECORD.replace("crow sang", "@placeholder sang"), 2, "the passage has the blank @placeholder"),
        (RECORD.rstrip("\n") + "\n" + RECORD, 3, "an empty line must follow"),
        (RECORD.replace("crow sang", "cr\0w sang"), 2, "NUL"),
        (RECORD.encode().replace(b"crow sang", b"cr\xffw"), 2, "not UTF-8: byte 0xff at column 5"),
        (RECORD.encode().replace(b"|fox", b"|f\xe9x"), 3, "not UTF-8: byte 0xe9"),
        (RECORD.encode("utf-16"), 1, "."),
    ],
)
def test_what_cannot_be_read_is_refused_with_file_line_and_reason(
    content: str | bytes, place: int, reason: str
) -> None:
    examples, bad = read(content)
    assert re.search(rf"^t\.txt:{place}: .*{reason}", bad[0])
    assert len(examples) + len(bad) == 1


def test_reading_goes_on_after_a_refused_record() -> None:
    examples, bad = read(RECORD + RECORD.replace("XXXXX", "fox") + RECORD)
    assert [example.where for example in examples] == ["t.txt:3", "t.txt:11"]
    assert len(bad) == 1
    assert bad[0].startswith("t.txt:7: ")


@pytest.mark.parametrize("lost", ["fox", "|fox", "w|fox"])
def test_a_last_line_that_stops_within_its_candidates_is_refused(lost: str) -> None:
    examples, bad = read(RECORD + RECORD.rstrip("\n").removesuffix(lost))
    assert len(examples) == 1
    assert "t.txt:7: the file ends without a newline" in bad[0]


def test_a_sentence_in_two_windows_is_one_tuple() -> None:
    examples, _ = read(RECORD + RECORD)
    assert examples[0].sentences[0] is examples[1].sentences[0]
    assert examples[0].sentences[0][1] is examples[0].candidates[1][0]


def test_the_kind_is_read_from_the_name() -> None:
    assert kind_of("data/cbtest_NE_train.txt") == "NE"
    assert kind_of("cbtest_P_test_2500ex.txt") == "P"
    assert kind_of("cbtest_XX_train.txt") is None
    assert kind_of("cbtest_NE_old/notes.txt") is None


@pytest.mark.parametrize(
    ("name", "split"), [("cbtest_NE_valid_2000ex.txt.xz", "valid"), ("cbtest_CN_train.txt.xz", "train")]
)
def test_the_rebuilt_sets_start_as_they_should(name: str, split: str) -> None:
    for found, example in islice(read_examples(shared_data(f"cbt-r/{name}")), 300):
        assert found == split
        assert len(example.candidates) == 10
        assert example.answer in example.candidates
        assert any(example.answer[0] in sentence for sentence in example.sentences)


def is_word(text: str) -> bool:
    return text.split() == [text] and not any(mark in text for mark in (BLANK, "@placeholder", "[MASK]", "|"))


words = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6).filter(is_word)
    | st.sampled_from(["____", "1", "21", '"', "``", "'s", "\ufeff", "é", "@entity1"]),
    min_size=1,
    max_size=5,
).map(tuple)


records = st.fixed_dictionaries(
    {
        "sentences": st.lists(words, min_size=1, max_size=4).map(tuple),
        "question": st.tuples(words, words).map(lambda parts: (*parts[0], BLANK, *parts[1])),
        "candidates": st.lists(words, min_size=1, max_size=4, unique=True).map(tuple),
        "answer": words,
    }
)


@given(st.lists(records, min_size=1, max_size=3))
def test_examples_written_in_cbt_form_are_read_back_the_same(fields: list[dict[str, Any]]) -> None:
    examples = [Example(**each) for each in fields]
    read_back, bad = read("".join(map(cbt_record, examples)))
    assert [replace(example, where="") for example in read_back] == examples
    assert bad == []


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    read(content)
    read(b"1 " + content + b"\n2 XXXXX\ta\t\tb\n\n")
