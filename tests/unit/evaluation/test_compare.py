"""Comparing two readers on the same questions."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epireader.evaluation.compare import compare, compare_means, mcnemar

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


def signs_tried_one_by_one(first: np.ndarray, second: np.ndarray) -> float:
    """The share of all ways to choose signs by which the shares' differences add up to as much or more."""
    differences = first.mean(axis=0) - second.mean(axis=0)
    sums = [np.dot(signs, differences) for signs in product((-1, 1), repeat=len(differences))]
    return float(np.mean([abs(total) >= abs(differences.sum()) - 1e-9 for total in sums]))


@settings(max_examples=50)
@given(ours=st.integers(1, 4), theirs=st.integers(1, 3), questions=st.integers(1, 9), seed=st.integers(0, 999))
def test_means_are_compared_by_all_signs_that_their_differences_could_have(
    ours: int, theirs: int, questions: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    first, second = random.random((ours, questions)) < 0.7, random.random((theirs, questions)) < 0.5
    found = compare_means(first, second)
    assert found.difference == pytest.approx(first.mean() - second.mean())
    assert found.p_value == pytest.approx(signs_tried_one_by_one(first, second))


@given(first=st.lists(st.booleans(), min_size=1, max_size=60), seed=st.integers(0, 99))
def test_of_one_seed_each_the_test_of_means_is_mcnemars(first: list[bool], seed: int) -> None:
    one, other = np.array(first), np.random.default_rng(seed).random(len(first)) < 0.5
    found, single = compare_means(one[None], other[None]), compare(one, other)
    assert (found.difference, found.p_value) == pytest.approx((single.difference, single.p_value))


def test_means_of_many_seeds_over_many_questions_are_compared_in_a_moment() -> None:
    random = np.random.default_rng(0)
    hard = random.random(3000)
    first, second = (random.random((seeds, 3000)) < hard + gain for seeds, gain in ((7, 0.02), (3, 0.0)))
    assert compare_means(first, second).p_value < 0.01
    assert compare_means(second, first).difference == -compare_means(first, second).difference


def test_means_over_different_questions_are_not_compared() -> None:
    with pytest.raises(ValueError, match="different numbers of questions, 2 and 3"):
        compare_means(flags("rw")[None], flags("rwr")[None])
    with pytest.raises(ValueError, match="no questions"):
        compare_means(flags("")[None], flags("")[None])
