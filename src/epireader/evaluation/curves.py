"""How a run went: its losses and its accuracy on the validation questions, by epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Point = tuple[float, float]
"""How many epochs were done, and a figure."""


class BadMetrics(ValueError):
    """Lines that no run has written."""


@dataclass(frozen=True)
class Curve:
    """What the lines of metrics.jsonl tell."""

    loss: tuple[Point, ...]
    """Mean of the steps since the point before."""
    extractor_loss: tuple[Point, ...]
    """The Extractor's part in it, where there are several parts."""
    accuracy: tuple[Point, ...]
    extractor_accuracy: tuple[Point, ...]
    asked: tuple[int, ...] = ()
    """How many questions had been asked at each point of `accuracy`, where every epoch asks new ones: those of books."""

    @property
    def best(self) -> Point:
        """The first epoch that no other beats: the reader of that one is kept."""
        return max(self.accuracy, key=lambda point: point[1])


def learning_curve(lines: Sequence[Mapping[str, Any]], record: Mapping[str, Any] | None = None) -> Curve | None:
    """The curve of a run with this config.json; None where no epoch was finished."""
    if not all(isinstance(line, Mapping) for line in lines):
        raise BadMetrics("no run writes such lines")
    trained = [line for line in lines if line.get("kind") == "train"]
    validated = [line for line in lines if line.get("kind") == "valid"]
    if not validated:
        return None
    try:
        steps = validated[0]["step"] / (validated[0]["epoch"] + 1)
        return Curve(
            loss=_points(trained, "loss", steps),
            extractor_loss=_points([line for line in trained if "extractor" in line], "extractor", steps),
            accuracy=_points(validated, "accuracy", steps),
            extractor_accuracy=_points(validated, "extractor", steps),
            asked=_asked(validated, record or {}),
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise BadMetrics(f"no run writes such lines: {error!r}") from None


def _points(lines: Sequence[Mapping[str, Any]], name: str, steps: float) -> tuple[Point, ...]:
    return tuple((line["step"] / steps, float(line[name])) for line in lines)


def _asked(lines: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> tuple[int, ...]:
    """The last batch of an epoch may be smaller, and a first epoch that took too long was cut."""
    if not record.get("books"):
        return ()
    size, questions = record["training"]["batch_size"], record["books"]["questions"]
    return tuple(min(line["step"] * size, (line["epoch"] + 1) * questions) for line in lines)
