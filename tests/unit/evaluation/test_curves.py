"""Learning curves."""

from typing import Any

import pytest

from epireader.evaluation.curves import BadMetrics, learning_curve

LINES: list[dict[str, Any]] = [
    {"kind": "train", "epoch": 0, "step": 5, "loss": 3.0, "extractor": 2.0, "reasoner": 1.0},
    {"kind": "train", "epoch": 0, "step": 10, "loss": 2.0, "extractor": 1.5, "reasoner": 0.5},
    {"kind": "valid", "epoch": 0, "step": 10, "accuracy": 0.5, "extractor": 0.25},
    {"kind": "train", "epoch": 1, "step": 15, "loss": 1.0, "extractor": 0.5, "reasoner": 0.5},
    {"kind": "valid", "epoch": 1, "step": 20, "accuracy": 0.75, "extractor": 0.5},
    {"kind": "valid", "epoch": 2, "step": 30, "accuracy": 0.75, "extractor": 0.625},
]


def test_steps_are_counted_in_epochs() -> None:
    curve = learning_curve(LINES)
    assert curve is not None
    assert curve.loss == ((0.5, 3.0), (1.0, 2.0), (1.5, 1.0))
    assert curve.extractor_loss == ((0.5, 2.0), (1.0, 1.5), (1.5, 0.5))
    assert curve.accuracy == ((1.0, 0.5), (2.0, 0.75), (3.0, 0.75))
    assert curve.extractor_accuracy == ((1.0, 0.25), (2.0, 0.5), (3.0, 0.625))


def test_the_best_epoch_is_the_first_that_no_other_beats() -> None:
    curve = learning_curve(LINES)
    assert curve is not None
    assert curve.best == (2.0, 0.75)


@pytest.mark.parametrize(
    ("questions", "size", "asked"),
    [(100, 10, (100, 200, 300)), (97, 10, (97, 194, 291)), (1000, 8, (80, 160, 240)), (None, 10, ())],
    ids=["whole batches", "the last one smaller", "cut for want of time", "no books"],
)
def test_questions_are_counted_where_every_epoch_asks_new_ones(
    questions: int | None, size: int, asked: tuple[int, ...]
) -> None:
    record = {"training": {"batch_size": size}, "books": questions and {"questions": questions}}
    curve = learning_curve(LINES, record)
    assert curve is not None
    assert curve.asked == asked


def test_a_loss_of_one_part_has_no_parts() -> None:
    curve = learning_curve([{"kind": "train", "step": 10, "loss": 1.0}, *LINES[2:3]])
    assert curve is not None
    assert curve.loss == ((1.0, 1.0),)
    assert curve.extractor_loss == ()


@pytest.mark.parametrize("lines", [[], LINES[:2]])
def test_there_is_no_curve_before_the_first_epoch_ends(lines: list[dict[str, Any]]) -> None:
    assert learning_curve(lines) is None


@pytest.mark.parametrize(
    "change", [{"step": 0}, {"step": "ten"}, {"accuracy": None}, {"accuracy": "high"}, {"epoch": -1}]
)
def test_lines_that_no_run_wrote_are_refused_in_one_sentence(change: dict[str, Any]) -> None:
    with pytest.raises(BadMetrics, match="no run writes such lines"):
        learning_curve([*LINES[:2], {**LINES[2], **change}])
    with pytest.raises(BadMetrics, match="accuracy"):
        learning_curve([{"kind": "valid", "epoch": 0, "step": 1}])
