"""Words as they are printed."""

import pytest

from epireader.text import tokenize_sentence
from epireader.text.prose import prose


@pytest.mark.parametrize(
    "text",
    [
        "“Don’t go,” said the Cat; “it’s late—and dark…”",
        "‘Who’s there?’ asked Mr. Pell (the miller).",
        "The boys’ mother can’t pay £5, cannot wait, etc.",
        "What?! Well—[Illustration: A CAT]",
        "’Twas the cat’s.",
    ],
)
def test_print_becomes_words_and_print_again(text: str) -> None:
    assert prose([token.text for token in tokenize_sentence(text)]) == text


def test_no_words_print_nothing() -> None:
    assert prose([]) == ""
