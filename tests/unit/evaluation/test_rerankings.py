"""What reranking corrected and spoiled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.questions import ANSWER_OUTSIDE, ANSWER_UNKNOWN
from epireader.evaluation.accuracy import evaluate
from epireader.evaluation.predict import Predictions
from epireader.evaluation.rerankings import Reranking, corrections, spoilings

Rows = list[list[float]]


def said(first: Rows, final: Rows, answers: list[int]) -> Predictions:
    def column(rows: Rows) -> np.ndarray:
        return np.array([value for row in rows for value in row], np.float32)

    offsets = np.cumsum([0] + [len(row) for row in first])
    return Predictions(offsets, column(final), column(first), column(final), np.array(answers))


FIRST = [[0.5, 0.25, 0.25], [0.5, 0.375, 0.125], [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]
FINAL = [[0.25, 0.5, 0.25], [0.125, 0.75, 0.125], [0.125, 0.5, 0.375], [0.25, 0.5, 0.25]]


def test_corrections_come_with_the_largest_swing_first() -> None:
    found = corrections(said(FIRST, FINAL, [1, 1, 1, 1]))
    assert found == [
        Reranking(number=1, answer=1, rival=0, swing=0.75),  # 0.625 ahead after, 0.125 behind before
        Reranking(number=2, answer=1, rival=0, swing=0.625),
        Reranking(number=0, answer=1, rival=0, swing=0.5),
    ]


def test_the_rival_of_a_spoiling_is_what_is_chosen_after_it() -> None:
    assert spoilings(said(FIRST, FINAL, [0, 0, 0, 0])) == [
        Reranking(number=1, answer=0, rival=1, swing=-0.75),
        Reranking(number=2, answer=0, rival=1, swing=-0.625),
        Reranking(number=0, answer=0, rival=1, swing=-0.5),
    ]


def test_a_tie_that_reranking_breaks_is_corrected_and_the_rival_is_not_the_answer_itself() -> None:
    assert corrections(said([[0.5, 0.5]], [[0.75, 0.25]], [0])) == [Reranking(0, 0, 1, 0.5)]


@pytest.mark.parametrize("answer", [ANSWER_UNKNOWN, ANSWER_OUTSIDE])
def test_questions_without_an_answer_among_the_candidates_are_neither(answer: int) -> None:
    predictions = said(FIRST, FINAL, [answer] * 4)
    assert corrections(predictions) == []
    assert spoilings(predictions) == []


@given(st.integers(0, 2**32 - 1))
def test_there_are_as_many_as_evaluation_counts_and_questions_come_once(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = [random.integers(0, 4, (12, 3)).astype(float).tolist() for _ in range(2)]
    predictions = said(*rows, random.integers(-2, 3, 12).tolist())
    if (predictions.answers == ANSWER_UNKNOWN).all():
        return
    counted = evaluate(predictions, most=1)
    for found, count in ((corrections(predictions), counted.corrected), (spoilings(predictions), counted.spoiled)):
        assert len({one.number for one in found}) == len(found) == count
        assert all(one.rival != one.answer for one in found)
    assert [one.swing for one in corrections(predictions)] == sorted(
        (one.swing for one in corrections(predictions)), reverse=True
    )
