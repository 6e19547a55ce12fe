"""Examples written in the forms of files, and read back."""

import io
from dataclasses import replace

import pytest
from builders import example
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.cbt import read_cbt
from epireader.data.example import BLANK, BadExample, Example
from epireader.data.jsonl import read_jsonl
from epireader.data.sources import TextFile
from epireader.data.writing import FORMS, cbt_record, jsonl_line

FOX = example(["The fox sat down .", "A crow sang ."], f"`` Sing ! '' said the {BLANK} .", ["crow", "fox"], "fox")


def read_back(form: str, text: str) -> list[Example]:
    read = {"cbt": read_cbt, "jsonl": read_jsonl}[form]
    file = TextFile("x", "x", io.BufferedReader(io.BytesIO(text.encode())))  # type: ignore[arg-type]
    bad: list[BadExample] = []
    found = [replace(one, where="") for one in read(file, sentence_limit=1000, on_bad=bad.append)]
    assert bad == []
    return found


def test_a_cbt_record_is_what_the_official_files_have() -> None:
    assert cbt_record(FOX) == (
        "1 The fox sat down .\n2 A crow sang .\n3 `` Sing ! '' said the XXXXX .\tfox\t\tcrow|fox\n\n"
    )


def test_a_jsonl_line_is_one_object() -> None:
    assert jsonl_line(FOX) == (
        '{"passage": ["The fox sat down .", "A crow sang ."], "question": "`` Sing ! \'\' said the XXXXX .", '
        '"candidates": ["crow", "fox"], "answer": "fox"}\n'
    )


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read_back_the_same(form: str) -> None:
    odd = example(
        ["-LRB- Mr. Pell -- é -RRB- ____ ."], f"{BLANK} 's `` etc. . ''", ["Mr.", "old Pell", "é"], "old Pell"
    )
    examples = [FOX, odd, FOX]
    assert read_back(form, "".join(FORMS[form](one) for one in examples)) == examples


words = st.lists(
    st.sampled_from(["fox", "Mr.", "`", "``", "'", "''", ".", "...", "--", "n't", "'s", "etc.", "|", "XXXXX", "[MASK]"])
    | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4),
    min_size=1,
    max_size=5,
).map(tuple)


@pytest.mark.parametrize("form", FORMS)
@given(st.lists(words, min_size=1, max_size=3), words, words, st.lists(words, min_size=1, max_size=3, unique=True))
def test_anything_is_read_back_the_same_or_refused(
    form: str,
    passage: list[tuple[str, ...]],
    before: tuple[str, ...],
    after: tuple[str, ...],
    candidates: list[tuple[str, ...]],
) -> None:
    try:
        one = Example(
            sentences=tuple(passage),
            question=(*before, BLANK, *after),
            candidates=tuple(candidates),
            answer=candidates[0],
        )
        text = FORMS[form](one)
    except BadExample:
        return
    assert read_back(form, text) == [one]


def test_jsonl_holds_questions_without_candidates_or_answer_and_cbt_does_not() -> None:
    open_question = replace(FOX, candidates=(), answer=None)
    assert read_back("jsonl", jsonl_line(open_question)) == [open_question]
    with pytest.raises(BadExample, match="needs an answer and candidates"):
        cbt_record(open_question)


@pytest.mark.parametrize(
    ("bad", "form", "message"),
    [
        (replace(FOX, candidates=(("a|b",),)), "cbt", r"a candidate has \| in it"),
        (replace(FOX, sentences=(("a\tb",),)), "cbt", "white space in it"),
        (replace(FOX, sentences=(("", "b"),)), "cbt", "white space in it"),
        (replace(FOX, sentences=(("a\0",),)), "jsonl", "NUL"),
        (replace(FOX, sentences=(("@placeholder",),)), "cbt", "only the question may"),
        (replace(FOX, question=("[MASK]", BLANK)), "cbt", "exactly one blank"),
        (replace(FOX, sentences=(("do", "not.Stop", "can't"),)), "jsonl", "would be read as"),
    ],
)
def test_what_a_form_cannot_hold_is_refused(bad: Example, form: str, message: str) -> None:
    with pytest.raises(BadExample, match=message):
        FORMS[form](bad)
