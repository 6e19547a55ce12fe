"""Accuracy over the number of training questions: its axis and its names."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epireader.evaluation.size_curve import moved_apart, round_numbers, short_number


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (180_000, 1_100_000, [200_000, 500_000, 1_000_000]),
        (180_000, 230_000, [200_000]),
        (300_000, 400_000, []),
        (90, 11_000_000, [100, 1000, 10_000, 100_000, 1_000_000, 10_000_000]),
    ],
)
def test_ticks_are_round_numbers_and_not_too_many(low: int, high: int, ticks: list[int]) -> None:
    assert round_numbers(float(low), float(high)) == ticks


def test_numbers_are_written_short() -> None:
    numbers = (7, 500, 1000, 204_800, 1_000_000, 1_500_000, 20_000_000)
    assert [short_number(number) for number in numbers] == ["7", "500", "1k", "205k", "1M", "1.5M", "20M"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10).map(sorted))
def test_names_never_stand_on_one_another_nor_above_the_picture(values: list[float]) -> None:
    places = moved_apart(values, 0.1)
    assert all(upper - lower > 0.1 - 1e-9 for lower, upper in pairwise(places))
    assert places[-1] <= 0.95 + 1e-9


def test_names_that_have_room_stay_where_they_are() -> None:
    assert moved_apart([0.1, 0.4, 0.9], 0.1) == [0.1, 0.4, 0.9]
