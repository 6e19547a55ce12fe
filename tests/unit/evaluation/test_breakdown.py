"""Accuracy by what a question is like."""

import numpy as np
import pytest
from builders import example, random_example
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.example import Example
from epireader.data.questions import Questions, QuestionsBuilder
from epireader.evaluation.accuracy import Share
from epireader.evaluation.breakdown import NOT_THERE, Bin, break_down, places_of, traits_of


def questions(*examples: Example) -> Questions:
    builder = QuestionsBuilder()
    for one in examples:
        builder.add(one)
    return builder.build()


def bin_by_hand(value: int, values: list[int], most: int) -> int:
    """The share of questions with a lower value, in steps of 1/most."""
    lower = sum(other < value for other in values if other != NOT_THERE)
    there = sum(other != NOT_THERE for other in values)
    return next(step for step in range(most) if lower * most < (step + 1) * there)


@given(st.lists(st.integers(-1, 12), min_size=1, max_size=40), st.integers(1, 6))
def test_bins_agree_with_their_definition(values: list[int], most: int) -> None:
    found = break_down(np.array(values), most)
    steps = sorted({bin_by_hand(value, values, most) for value in values if value != NOT_THERE})
    wanted = [-1 if value == NOT_THERE else steps.index(bin_by_hand(value, values, most)) for value in values]
    assert found.group.tolist() == wanted
    assert found.left_out == values.count(NOT_THERE)
    for number, bin_ in enumerate(found.bins):
        inside = [value for value, group in zip(values, wanted, strict=True) if group == number]
        assert (bin_.low, bin_.high) == (min(inside), max(inside))


def test_a_case_by_hand() -> None:
    found = break_down(np.array([5, 1, 1, 1, 9, 7, -1, 2]), most=2)
    assert found.bins == (Bin(1, 2), Bin(5, 9))
    assert found.group.tolist() == [1, 0, 0, 0, 1, 1, -1, 0]
    right = np.array([True, True, False, True, True, False, True, False])
    assert found.accuracy(right) == [Share(2, 4), Share(2, 3)]


def test_questions_with_the_same_value_are_never_parted() -> None:
    assert break_down(np.array([3] * 10 + [4]), most=5).bins == (Bin(3, 3), Bin(4, 4))


def test_a_trait_that_no_question_has_gives_no_bins() -> None:
    found = break_down(np.array([NOT_THERE, NOT_THERE]))
    assert found.bins == ()
    assert found.accuracy(np.array([True, False])) == []
    assert found.left_out == 2


def test_answers_to_other_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="2 questions are grouped, but 3 were answered"):
        break_down(np.array([1, 2])).accuracy(np.array([True] * 3))


def test_a_bin_is_written_as_one_number_or_a_range() -> None:
    assert str(Bin(3, 3)) == "3"
    assert str(Bin(3, 1200)) == "3–1,200"


def test_traits_of_a_case_by_hand() -> None:
    asked = questions(
        example(["the cat sat", "a cat ran off"], "XXXXX", ["cat", "a"], "cat"),
        example(["the old cat sat", "the old cat"], "XXXXX", ["old cat", "the"], "old cat"),
        example(["one two"], "XXXXX", ["one", "nine"], "nine"),  # a candidate, but not in the passage
        example(["one two"], "XXXXX", ["one"], "two"),  # not a candidate
        example(["one two three"], "XXXXX", ["one"]),  # unknown: left out
        example(["x"], "XXXXX", ["x"], "x"),
    )
    traits = traits_of(asked)
    assert traits.passage_words.tolist() == [7, 7, 2, 2, 1]
    assert traits.mentions.tolist() == [2, 2, 0, NOT_THERE, 1]
    assert traits.distance.tolist() == [2, 0, NOT_THERE, NOT_THERE, 0]


@given(st.integers(0, 2**32 - 1))
def test_traits_agree_with_a_search_through_the_words(seed: int) -> None:
    random = np.random.default_rng(seed)
    examples = [random_example(random, phrase=3, words=4) for _ in range(5)]
    traits = traits_of(questions(*examples))
    for number, one in enumerate(examples):
        assert one.answer is not None
        flat = [word for sentence in one.sentences for word in sentence]
        ends = [
            start + len(one.answer)
            for start in range(len(flat))
            if tuple(flat[start : start + len(one.answer)]) == one.answer
        ]
        assert traits.passage_words[number] == len(flat)
        assert traits.mentions[number] == len(ends)
        assert traits.distance[number] == len(flat) - ends[-1]


def test_a_phrase_longer_than_the_text_stands_nowhere() -> None:
    assert places_of(np.array([1, 2]), np.array([1])).tolist() == []
    assert places_of(np.array([1, 1]), np.array([1, 1, 1])).tolist() == [0, 1]
