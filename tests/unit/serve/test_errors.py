"""One shape for everything that is refused, and it can always be sent."""

import json

import pytest

from epireader.serve.errors import LONGEST_SENTENCE, error_body, validation_sentence


@pytest.mark.parametrize("sentence", ["plain", "“quoted” – <script>", "half \ud800", "\0\x1b[31m", ""])
def test_any_sentence_can_be_sent_and_read_back(sentence: str) -> None:
    assert json.loads(error_body(sentence)) == {"error": sentence}


def test_a_sentence_has_an_end() -> None:
    assert len(json.loads(error_body("x" * 100_000))["error"]) == LONGEST_SENTENCE + 3


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        ({"type": "missing", "loc": ("body", "question"), "msg": "Field required"}, "question is missing"),
        (
            {"type": "string_type", "loc": ("body", "questions", 3, "question"), "msg": ""},
            "questions.3.question must be text",
        ),
        ({"type": "list_type", "loc": ("body", "candidates"), "msg": ""}, "candidates must be a list"),
        ({"type": "extra_forbidden", "loc": ("body", "x"), "msg": ""}, "x is not known here"),
        (
            {"type": "less_than_equal", "loc": ("body", "top"), "msg": "Input should be less than or equal to 1000"},
            "top is not accepted: Input should be less than or equal to 1000",
        ),
        ({"type": "missing", "loc": ("body",), "msg": ""}, "the body is missing"),
        (
            {"type": "json_invalid", "loc": ("body", 7), "msg": "", "ctx": {"error": "Expecting value"}},
            "the body is not JSON: Expecting value",
        ),
    ],
)
def test_what_is_wrong_with_a_request_is_said_in_words(problem: dict[str, object], sentence: str) -> None:
    assert validation_sentence([problem]) == sentence
