"""Comparing two readers on the same questions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epireader.evaluation.compare import compare, mcnemar

small = st.integers(0, 60)


def flags(text: str) -> np.ndarray:
    return np.array([letter == "r" for letter in text])


def test_the_four_cells_are_counted_and_the_difference_is_that_of_the_accuracies() -> None:
    first, second = flags("rrrrwwwrrr"), flags("rrwwrwwwww")
    found = compare(first, second)
    assert (found.both_right, found.only_first, found.only_second, found.both_wrong) == (2, 5, 1, 2)
    assert found.difference == pytest.approx(first.mean() - second.mean())
    assert found.p_value == mcnemar(5, 1)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"),
    [
        (5, 1, 2 * (1 + 6) / 64),  # two tails of at most one head in six throws
        (8, 2, 2 * (1 + 10 + 45) / 1024),
        (10, 0, 2 / 1024),
        (1, 0, 1.0),
        (3, 3, 1.0),
        (0, 0, 1.0),
        (25, 12, 0.0470),  # R: binom.test(12, 37)
    ],
)
def test_mcnemars_test_gives_the_values_worked_out_by_hand(only_first: int, only_second: int, p_value: float) -> None:
    assert mcnemar(only_first, only_second) == pytest.approx(p_value, abs=5e-5)


@given(first=small, second=small)
def test_the_test_does_not_care_which_reader_comes_first(first: int, second: int) -> None:
    assert mcnemar(first, second) == mcnemar(second, first)
    assert 0 < mcnemar(first, second) <= 1


@given(fewer=st.integers(0, 20), more=st.integers(0, 20))
def test_a_more_uneven_split_is_less_likely(fewer: int, more: int) -> None:
    fewer, more = sorted((fewer, more))
    assert mcnemar(fewer, more + 1) <= mcnemar(fewer, more)


def test_many_questions_neither_overflow_nor_take_long() -> None:
    normal = math.erfc(100 / math.sqrt(2 * 2500))  # (1300 - 1200)^2 / 2500 = 4 = 2 squared
    assert mcnemar(1300, 1200) == pytest.approx(normal, abs=0.003)
    assert mcnemar(10_400, 10_000) == pytest.approx(math.erfc(400 / math.sqrt(2 * 20_400)), abs=0.001)
    assert mcnemar(3000, 10) == 0.0


def test_a_reader_is_not_better_than_itself() -> None:
    same = compare(flags("rwrw"), flags("rwrw"))
    assert (same.difference, same.p_value) == (0.0, 1.0)


def test_readers_that_answered_different_questions_are_not_compared() -> None:
    with pytest.raises(ValueError, match="different numbers of questions, 2 and 3"):
        compare(flags("rw"), flags("rwr"))
    with pytest.raises(ValueError, match="no questions"):
        compare(flags(""), flags(""))
