"""What holds for every text, however odd."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from epireader.text import split_sentences, tokenize_sentence
from epireader.text.rules import UNSEEN

FRAGMENTS = st.sampled_from(
    ["a", "I", "n't", "'s", "'", '"', "’", "“", ".", "...", ". .", " ", "\n", "\r\n", "-", "--", "_", "1", ",", "Mr.",
     "etc.", "U.S.", "He", "cannot", "@entity1", "(", "]", "!", "?", "/", "&", "\u0301", "\ufeff", "\0", "\ud800", "😀"]
)  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=())) | st.lists(FRAGMENTS).map("".join)


@given(TEXTS)
@example("\ud800\x00\u0301")
def test_tokens_follow_each_other_inside_the_text(text: str) -> None:
    end = 0
    for token in tokenize_sentence(text):
        assert end <= token.start < token.end <= len(text)
        assert token.text
        end = token.end


@given(TEXTS)
def test_every_character_that_shows_but_italics_is_in_one_token(text: str) -> None:
    covered = [place for token in tokenize_sentence(text) for place in range(token.start, token.end)]
    assert len(covered) == len(set(covered))
    shown = {place for place, sign in enumerate(text) if not sign.isspace() and sign not in UNSEEN}
    assert {place for place in shown if text[place] != "_"} <= set(covered)


@given(TEXTS)
def test_only_a_spaced_ellipsis_holds_space(text: str) -> None:
    for token in tokenize_sentence(text):
        assert len(token.text.split()) == 1
        assert token.text == "..." or len(text[token.start : token.end].split()) == 1


@given(TEXTS)
def test_sentences_are_the_tokens_cut_into_pieces(text: str) -> None:
    sentences = split_sentences(text)
    assert all(sentences)
    assert tuple(token for sentence in sentences for token in sentence) == tokenize_sentence(text)


@pytest.mark.parametrize(
    "piece",
    ["a", "e\u0301", "\u0301", "'", '"', "’", "``", "\0", "\ud800", "😀", "\ufeff", " ", "\r\n", "_", "_a", "-", "a-", ".",
     ". ", "....a ", "a.", "a. ", "a'", "ea'", "don't", "I. ", "U.S. ", "etc. ", "1,", "A&", "a/", "@",
     "\u200b", "\u200b ", ".\u200b"],
)  # fmt: skip
def test_cost_is_linear_in_the_length_of_the_text(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    started = time.process_time()
    split_sentences(text)
    assert time.process_time() - started < 3, "a quadratic rule would take minutes"


def test_a_word_of_a_megabyte_is_one_token() -> None:
    (token,) = tokenize_sentence("x" * 1_000_000)
    assert (token.start, token.end) == (0, 1_000_000)
