"""CNN and Daily Mail files: their parts, their sentences, and what can be wrong in one."""

import io
import re
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_data

from epireader.data.cnn import read_cnn, split_at_ends
from epireader.data.example import BLANK, BadExample, Example
from epireader.data.loading import read_examples
from epireader.data.sources import TextFile

FIXTURE = Path(__file__).parents[2] / "fixtures" / "cnn" / "questions" / "training" / "0a1f.question"
PARTS = (
    "http://x.example/",
    "@entity2 met @entity0 . @entity2 left .",
    "@placeholder left .",
    "@entity2",
    "@entity2:a\n@entity0:b",
)


def question_file(*parts: str) -> bytes:
    return "\n\n".join(parts).encode()


def read(content: bytes, *, sentence_limit: int = 100) -> tuple[list[Example], list[str]]:
    """The example of a file with this content, or what was said of it."""
    bad: list[BadExample] = []
    file = TextFile("t.question", "t.question", io.BufferedReader(io.BytesIO(content)))
    examples = list(read_cnn(file, sentence_limit=sentence_limit, on_bad=bad.append))
    return examples, [str(each) for each in bad]


def only(content: bytes, *, sentence_limit: int = 100) -> Example:
    (example,), bad = read(content, sentence_limit=sentence_limit)
    assert bad == []
    return example


def test_a_file_becomes_an_example() -> None:
    assert only(question_file(*PARTS)) == Example(
        sentences=(("@entity2", "met", "@entity0", "."), ("@entity2", "left", ".")),
        question=(BLANK, "left", "."),
        candidates=(("@entity2",), ("@entity0",)),
        answer=("@entity2",),
        where="t.question:5",
    )


def test_the_fixture_has_its_sentences_and_entities() -> None:
    example = only(FIXTURE.read_bytes())
    assert [sentence[-2:] for sentence in example.sentences] == [
        ("in", "."),
        ("@entity0", "."),
        ("me", "."),
        (".", '"'),
        ("@entity2", "."),
        ("lost", "?"),
        ("so", "."),
    ]
    assert example.candidates == (("@entity2",), ("@entity0",), ("@entity5",), ("@entity7",))


def test_an_entity_only_the_question_names_is_no_candidate() -> None:
    source, passage, _, answer, names = PARTS
    example = only(question_file(source, passage, "@placeholder saw @entity9", answer, names))
    assert ("@entity9",) not in example.candidates


def test_only_a_whole_word_is_an_entity() -> None:
    example = only(question_file("", "@entity1 saw an @entity2-like x@entity3 .", *PARTS[2:]))
    assert example.candidates == (("@entity1",),)


def test_an_answer_missing_from_the_passage_is_kept() -> None:
    source, passage, question, _, names = PARTS
    example = only(question_file(source, passage, question, "@entity9", names))
    assert example.answer == ("@entity9",)
    assert ("@entity9",) not in example.candidates


def test_line_ends_do_not_change_what_is_read() -> None:
    content = question_file(*PARTS)
    assert only(content.replace(b"\n", b"\r\n")) == only(content)
    assert only(content + b"\n") == only(content)
    assert only(b"\xef\xbb\xbf" + content) == only(content)
    assert only(content.replace(b" met ", " met\u2028".encode())) == only(content)


def test_the_names_of_entities_may_be_missing() -> None:
    assert only(question_file(*PARTS[:4], "")) == only(question_file(*PARTS))


def test_a_long_sentence_is_cut_and_no_word_is_lost() -> None:
    passage = " ".join(["@entity1", *(f"w{n}" for n in range(250))])
    sentences = only(question_file("", passage, *PARTS[2:]), sentence_limit=100).sentences
    assert [len(sentence) for sentence in sentences] == [100, 100, 51]
    assert " ".join(word for sentence in sentences for word in sentence) == passage


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("he ran . she sat ! why ?", ["he ran .", "she sat !", "why ?"]),
        ("no end here", ["no end here"]),
        ('" go . " he ran', ['" go . "', "he ran"]),
        ('he ran . " go , " she said .', ["he ran .", '" go , " she said .']),
        ('" go . " " no . "', ['" go . "', '" no . "']),
        ('he ran . " " no . "', ['he ran . "', '" no . "']),
        ("\" he said ' go ! ' \" she sat .", ["\" he said ' go ! ' \"", "she sat ."]),
        ("( he ran . ) she sat .", ["( he ran . )", "she sat ."]),
        ("“ go . ” '' he ran", ["“ go . ” ''", "he ran"]),
        ("what ? ! . then", ["what ? ! .", "then"]),
        ("what ?! well ... yes .", ["what ?!", "well ... yes ."]),
        ("mr. x ran . 3.5 %", ["mr. x ran .", "3.5 %"]),
    ],
)
def test_a_sentence_ends_after_its_mark_and_what_closes_it(text: str, sentences: list[str]) -> None:
    assert [" ".join(sentence) for sentence in split_at_ends(tuple(text.split()))] == sentences


@given(st.lists(st.sampled_from([".", "!", "?", '"', "'", ")", "(", "...", "a", "b"])).map(tuple))
def test_splitting_loses_no_word_and_makes_no_empty_sentence(words: tuple[str, ...]) -> None:
    sentences = list(split_at_ends(words))
    assert all(sentences)
    assert tuple(word for sentence in sentences for word in sentence) == words


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        (b"", 1, "cut off: it has no empty line after the source"),
        (question_file(*PARTS[:1]), 1, "cut off: it has no empty line after the source"),
        (question_file(*PARTS[:2]), 3, "cut off: it has no empty line after the passage"),
        (question_file(*PARTS[:3]), 5, "cut off: it has no empty line after the question"),
        (question_file(*PARTS[:4]), 7, "cut off: it has no empty line after the answer"),
        (question_file(*PARTS).replace(b"met", b"met\n"), 4, "an empty line must follow the passage"),
        (question_file("s", " ", *PARTS[2:]), 3, "the passage is empty"),
        (question_file(*PARTS[:2], "", *PARTS[3:]), 5, "the question is empty"),
        (question_file(*PARTS[:3], "", PARTS[4]), 7, "the answer is empty"),
        (question_file(*PARTS[:2], "he left", *PARTS[3:]), 5, "exactly one blank .* it has 0"),
        (question_file(*PARTS[:2], "@placeholder or @placeholder", *PARTS[3:]), 5, "it has 2"),
        (question_file("s", "@entity2 saw @placeholder", *PARTS[2:]), 3, "the passage has the blank @placeholder"),
        (question_file("s", "no entity", *PARTS[2:]), 3, "no @entityN"),
        (question_file(*PARTS).replace(b" met ", b" m\xfft "), 3, "not UTF-8: byte 0xff"),
        (question_file(*PARTS).replace(b" left .\n", b" l\0ft\n"), 3, "NUL"),
    ],
)
def test_what_cannot_be_read_is_refused_with_file_line_and_reason(content: bytes, place: int, reason: str) -> None:
    examples, bad = read(content)
    assert examples == []
    assert re.search(rf"^t\.question:{place}: .*{reason}", bad[0])


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    read(content)
    read(b"\n\n@entity1 " + content + b"\n\n@placeholder\n\n@entity1\n\n")


def test_the_rebuilt_archive_starts_as_it_should() -> None:
    for split, example in islice(read_examples(shared_data("cnn-r/cnn-r.tar.xz")), 300):
        assert split == "test"
        assert example.answer in example.candidates
        assert max(map(len, example.sentences)) <= 100
        assert re.search(r"cnn-r\.tar\.xz:cnn/questions/test/[0-9a-f]{40}\.question:5$", example.where)
