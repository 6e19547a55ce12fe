"""The rule that finds names: what it goes by, on texts of our own, and how well it does on the books of CBT."""

import pytest
from shared_data import shared_data

from epireader.data.books import tagged_books
from epireader.stories import bundled_stories
from epireader.text import split_sentences
from epireader.text.names import STARTS_ENOUGH, name_kinds

STORY = """
Old Marrack lived by the sea. Every day Tansy the goat went down to the shore. "Where is Tansy?" asked Mr. Pell.
Tansy was eating hay, and hay was all she ate. Hay is good for goats! "Come," said Pell, "and see TANSY." He was
NEVER cross. Mr. Pell said: "Come in, old man." The goat looked at Tansy Dunnock of Ambry. Ambry is a town.
"""


def words_of(text: str) -> list[tuple[str, ...]]:
    return [tuple(token.text for token in sentence) for sentence in split_sentences(text)]


def names_of(text: str) -> list[str]:
    lines = words_of(text)
    return [
        word
        for words, kinds in zip(lines, name_kinds(lines), strict=True)
        for word, kind in zip(words, kinds, strict=True)
        if kind == "N"
    ]


def test_the_names_of_a_small_story_are_found() -> None:
    found = "Marrack Tansy Tansy Mr. Pell Tansy Pell TANSY Mr. Pell Tansy Dunnock Ambry Ambry"
    assert names_of(STORY) == found.split()


def test_each_word_of_each_sentence_gets_one_letter() -> None:
    lines = words_of(STORY)
    assert [len(words) for words in lines] == [len(kinds) for kinds in name_kinds(lines)]
    assert {letter for kinds in name_kinds(lines) for letter in kinds} == {"N", "-"}
    assert name_kinds([]) == []


def test_a_capital_where_a_sentence_or_a_speech_starts_is_no_sign_of_a_name() -> None:
    assert names_of("Rain fell. He said: 'Snow fell.' \"Hail fell,\" he said. It fell -- Sleet, that is.") == []


def test_what_the_rest_of_the_text_says_decides_at_the_start_of_a_sentence() -> None:
    assert names_of("Rose slept.") == []
    assert names_of("Rose slept. I saw Rose.") == ["Rose", "Rose"]
    assert names_of("Rose slept. I saw Rose. A rose, a rose, and a rose.") == ["Rose"]


def test_a_word_that_only_starts_sentences_is_a_name_if_it_does_so_often_and_has_no_small_form() -> None:
    assert names_of("Ilvo ran. " * STARTS_ENOUGH) == ["Ilvo"] * STARTS_ENOUGH
    assert names_of("Ilvo ran. " * (STARTS_ENOUGH - 1)) == []
    assert names_of("Dogs ran. " * STARTS_ENOUGH + "I like dogs.") == []


def test_shouting_makes_no_names() -> None:
    assert names_of("He was VERY cross with ANN. I saw Ann. But OH, I AM late, and The Rain came, O Ann.") == [
        "ANN", "Ann", "Rain", "Ann",
    ]  # fmt: skip


def test_the_names_of_a_bundled_story_are_found() -> None:
    names = {"Hollin", "Bartle", "Issom", "Mother", "Ondry", "Pim", "Quillamy", "Sarkin"}
    assert set(names_of(bundled_stories()["hollin-ferry"].text)) == names


@pytest.mark.parametrize(("split", "precision", "recall"), [("valid", 0.945, 0.925), ("test", 0.96, 0.945)])
def test_the_rule_agrees_with_the_tagger_on_the_books_of_cbt(split: str, precision: float, recall: float) -> None:
    """Thresholds lie just under what was measured; the rule was tuned on training books alone."""
    folder = shared_data("cbt-books")
    both = found = right = 0
    for book in tagged_books(folder / f"cbt_{split}.txt.xz", folder / f"cbt_{split}.kinds.txt.xz"):
        for ours, theirs in zip(name_kinds(book.sentences), book.kinds, strict=True):
            both += sum(a == b == "N" for a, b in zip(ours, theirs, strict=True))
            found += ours.count("N")
            right += theirs.count("N")
    assert both / found > precision
    assert both / right > recall
