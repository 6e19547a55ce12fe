"""What an Example promises to everything downstream."""

from dataclasses import replace

import pytest

from epireader.data.example import BLANK, BadExample, Example

GOOD = Example(
    sentences=(("The", "fox", "slept", "."), ("A", "crow", "sang", ".")),
    question=("The", BLANK, "sang", "."),
    candidates=(("fox",), ("crow",), ("old", "crow")),
    answer=("crow",),
    where="tale.txt:3",
)


def test_candidates_and_answer_may_be_left_out() -> None:
    example = Example(sentences=GOOD.sentences, question=GOOD.question)
    assert example.candidates == ()
    assert example.answer is None


def test_an_answer_outside_candidates_and_passage_is_kept() -> None:
    assert replace(GOOD, answer=("wolf",)).answer == ("wolf",)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"question": ("The", "fox")}, "exactly one blank, it has 0"),
        ({"question": (BLANK, "and", BLANK)}, "exactly one blank, it has 2"),
        ({"sentences": ()}, "the passage has no words"),
        ({"sentences": (("A",), ())}, "a sentence of the passage has no words"),
        ({"sentences": ((BLANK, "slept"),)}, "only the question may"),
        ({"candidates": (("fox",), ())}, "a candidate has no words"),
        ({"candidates": (("fox",), ("fox",))}, "a candidate is given twice"),
        ({"answer": ()}, "the answer has no words"),
    ],
)
def test_a_broken_promise_is_refused_with_place_and_reason(changed: dict[str, object], reason: str) -> None:
    with pytest.raises(BadExample, match=reason) as refused:
        replace(GOOD, **changed)  # type: ignore[arg-type]
    assert refused.value.where == "tale.txt:3"
    assert str(refused.value).startswith("tale.txt:3: ")


def test_a_refusal_without_a_place_is_only_its_reason() -> None:
    assert str(BadExample("the answer is empty")) == "the answer is empty"
