"""The rules of accuracy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.questions import ANSWER_OUTSIDE, ANSWER_UNKNOWN
from epireader.evaluation.accuracy import Share, evaluate, ranks
from epireader.evaluation.predict import Predictions

seeds = st.integers(0, 2**32 - 1)


def predictions(rows: list[list[float]], answers: list[int], first: list[list[float]] | None = None) -> Predictions:
    def column(values: list[list[float]]) -> np.ndarray:
        return np.array([value for row in values for value in row], np.float32)

    offsets = np.cumsum([0] + [len(row) for row in rows])
    return Predictions(offsets, column(rows), column(first or rows), None, np.array(answers))


def accuracy(row: list[float], answer: int) -> float:
    return evaluate(predictions([row], [answer]), most=1).final.value


def test_the_most_probable_answer_is_right() -> None:
    assert accuracy([0.2, 0.5, 0.3], 1) == 1.0
    assert accuracy([0.2, 0.5, 0.3], 2) == 0.0


def test_a_tie_with_the_right_answer_counts_as_wrong_wherever_it_stands() -> None:
    assert accuracy([0.4, 0.4, 0.2], 0) == 0.0
    assert accuracy([0.4, 0.4, 0.2], 1) == 0.0


def test_a_tie_between_wrong_answers_does_not_matter() -> None:
    assert accuracy([0.25, 0.5, 0.25], 1) == 1.0


def test_an_answer_outside_the_candidates_counts_as_wrong() -> None:
    assert accuracy([0.0, 1.0], ANSWER_OUTSIDE) == 0.0
    assert accuracy([1.0], ANSWER_OUTSIDE) == 0.0


def test_an_answer_the_reader_ruled_out_counts_as_wrong_even_where_it_is_the_only_one() -> None:
    assert accuracy([0.0], 0) == 0.0
    assert accuracy([0.0, 0.0], 0) == 0.0


def test_a_probability_that_is_not_a_number_counts_as_wrong_at_every_k() -> None:
    broken = evaluate(predictions([[float("nan"), 0.5], [float("nan")] * 2], [0, 1]), most=2)
    assert broken.final.count == 0
    assert [share.count for share in broken.recall_at.values()] == [0, 0]
    assert accuracy([0.5, float("nan")], 0) == 0.0


def test_a_question_without_a_known_answer_is_left_out() -> None:
    evaluation = evaluate(predictions([[0.9, 0.1], [0.9, 0.1]], [ANSWER_UNKNOWN, 0]), most=1)
    assert (evaluation.questions, evaluation.unknown) == (1, 1)
    assert evaluation.final == Share(1, 1)


def test_where_no_answer_is_known_there_is_nothing_to_measure() -> None:
    with pytest.raises(ValueError, match="no question has a known answer"):
        evaluate(predictions([[1.0]], [ANSWER_UNKNOWN]), most=1)


def test_one_probability_everywhere_scores_nothing() -> None:
    assert evaluate(predictions([[0.1] * 10] * 50, list(range(10)) * 5), most=1).final.count == 0


def test_recall_counts_answers_among_the_first_k_before_reranking() -> None:
    first = [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.4, 0.3, 0.3], [0.5, 0.5, 0.0], [0.5, 0.3, 0.2]]
    after = [[0.0, 0.0, 1.0]] * 6
    evaluation = evaluate(predictions(after, [0, 1, 2, 1, 2, ANSWER_OUTSIDE], first), most=4)
    assert {k: share.count for k, share in evaluation.recall_at.items()} == {1: 1, 2: 2, 3: 4, 4: 4}
    assert all(share.total == 6 for share in evaluation.recall_at.values())
    assert evaluation.extractor == evaluation.recall_at[1]


def test_corrected_and_spoiled_are_counted_by_what_reranking_changed() -> None:
    good, bad = [0.9, 0.1], [0.1, 0.9]
    before, after = [good, good, bad, bad, bad], [good, bad, good, good, bad]
    evaluation = evaluate(predictions(after, [0] * 5, before), most=1)
    assert (evaluation.corrected, evaluation.spoiled) == (2, 1)
    assert (evaluation.extractor.count, evaluation.final.count) == (2, 3)


def test_without_reranking_nothing_is_corrected_or_spoiled() -> None:
    evaluation = evaluate(predictions([[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]], [0, 0, ANSWER_OUTSIDE]), most=1)
    assert (evaluation.corrected, evaluation.spoiled) == (0, 0)


def ranks_by_hand(rows: list[list[float]], answers: list[int]) -> list[int]:
    found = []
    for row, answer in zip(rows, answers, strict=True):
        if answer < 0 or row[answer] <= 0:
            found.append(np.iinfo(np.int64).max)
        else:
            found.append(sum(p >= row[answer] for n, p in enumerate(row) if n != answer))
    return found


@given(seed=seeds, count=st.integers(1, 6))
def test_ranks_agree_with_the_definition(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    rows = [(random.integers(0, 4, random.integers(1, 6)) / 4).tolist() for _ in range(count)]
    answers = [int(random.integers(-2, len(row))) for row in rows]
    said = predictions(rows, answers)
    assert ranks(said, said.final).tolist() == ranks_by_hand(rows, answers)


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    # Wilson's interval without continuity correction, as Newcombe (1998) and R's prop.test(correct=FALSE) give it.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_wilsons(count: int, total: int, low: float, high: float) -> None:
    assert Share(count, total).interval == pytest.approx((low, high), abs=5e-5)


@given(total=st.integers(1, 3000), part=st.floats(0, 1))
def test_an_interval_holds_its_share_and_mirrors_that_of_the_rest(total: int, part: float) -> None:
    share = Share(round(part * total), total)
    low, high = share.interval
    assert 0 <= low <= share.value + 1e-12
    assert share.value - 1e-12 <= high <= 1
    assert Share(total - share.count, total).interval == pytest.approx((1 - high, 1 - low))


def test_a_share_of_nothing_says_nothing() -> None:
    assert Share(0, 0).value == 0.0
    assert Share(0, 0).interval == (0.0, 1.0)


def test_the_json_has_what_was_promised() -> None:
    record = evaluate(predictions([[0.9, 0.1], [0.9, 0.1]], [0, 1]), most=2).as_json()
    assert record["questions"] == 2
    assert record["accuracy"] == {"extractor": 0.5, "final": 0.5}
    assert record["recall_at_k"] == {"1": 0.5, "2": 1.0}
    assert record.keys() == {
        "questions", "answers_unknown", "accuracy", "interval_95", "recall_at_k", "corrected", "spoiled"
    }  # fmt: skip
