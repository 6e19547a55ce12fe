"""Which questions are read together: a pass is bounded, and no more than half of a question is padding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.questions import Sizes
from epireader.readers import passes
from epireader.readers.passes import LARGEST_PASS, QUESTIONS_AT_ONCE, plan_passes, room

SOME = st.tuples(
    st.integers(1, 5_000), st.integers(1, 300), st.integers(1, 400), st.integers(1, 2_000), st.integers(1, 50)
)


def sizes_of(questions: list[tuple[int, ...]]) -> Sizes:
    return Sizes(*(np.array(column) for column in zip(*questions, strict=True)))


def padded(sizes: Sizes, rows: np.ndarray) -> int:
    """What each question of a pass takes: as much as one that is as large as the largest in every way."""
    shape = sizes.of(rows)
    one = sizes_of([(shape.words, shape.sentences, shape.question, shape.candidates, shape.phrase)])
    return int(room(one)[0])


@given(st.lists(SOME, min_size=1, max_size=150))
def test_every_question_is_read_once_and_every_pass_is_bounded(questions: list[tuple[int, ...]]) -> None:
    sizes = sizes_of(questions)
    plan = list(plan_passes(sizes))
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(questions)))
    for rows in plan:
        assert len(rows) <= QUESTIONS_AT_ONCE
        assert len(rows) == 1 or len(rows) * padded(sizes, rows) <= LARGEST_PASS
        assert padded(sizes, rows) <= 2 * room(sizes)[rows].min()


def test_questions_of_one_size_go_together_as_many_as_there_is_room_for() -> None:
    one = (440, 20, 25, 10, 1)
    count = LARGEST_PASS // int(room(sizes_of([one]))[0])
    assert 10 < count < QUESTIONS_AT_ONCE
    assert [len(rows) for rows in plan_passes(sizes_of([one] * (2 * count + 1)))] == [count, count, 1]


def test_a_short_passage_does_not_wait_beside_a_long_one() -> None:
    sizes = sizes_of([(30, 2, 10, 20, 1), (2_000, 90, 10, 20, 1), (40, 3, 10, 20, 1), (1_900, 80, 12, 20, 1)])
    assert [rows.tolist() for rows in plan_passes(sizes)] == [[1, 3], [2, 0]]


@pytest.mark.parametrize("odd", [(600, 30, 20, 500, 40), (600, 30, 1_500, 10, 1)], ids=["phrases", "question"])
def test_a_question_that_is_large_in_another_way_is_not_read_with_the_others(odd: tuple[int, ...]) -> None:
    sizes = sizes_of([*[(600, 30, 20, 10, 1)] * 5, odd])
    assert [rows.tolist() for rows in plan_passes(sizes)] == [[5], [0, 1, 2, 3, 4]]


def test_one_that_is_larger_than_a_pass_is_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "LARGEST_PASS", 1)
    assert [rows.tolist() for rows in plan_passes(sizes_of([(5, 1, 3, 2, 1), (6, 1, 3, 2, 1)]))] == [[1], [0]]
