"""Two ways of doing the same, timed in turns."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

WARM_UP = {"cpu": 1, "cuda": 2}  # the second step on a GPU is recorded as a graph


@dataclass(frozen=True)
class Row:
    """Questions a second of a rival and of ours; medians, and how far their quartiles lie apart."""

    rival: str
    theirs: float
    ours: float
    theirs_spread: float
    spread: float
    ratio: float
    """The median over the turns, each of which has both."""


@dataclass(frozen=True)
class Clock:
    device: torch.device
    repeats: int

    def compare(
        self, theirs: Callable[[], object], ours: Callable[[], object], questions: int, rival: str = "plain"
    ) -> Row:
        warm_up = WARM_UP[self.device.type]
        times = [(self.seconds(theirs), self.seconds(ours)) for _ in range(warm_up + self.repeats)][warm_up:]
        their_rates, our_rates = ([questions / seconds for seconds in column] for column in zip(*times, strict=True))
        return Row(
            rival=rival,
            theirs=statistics.median(their_rates),
            ours=statistics.median(our_rates),
            theirs_spread=quartile_distance(their_rates),
            spread=quartile_distance(our_rates),
            ratio=statistics.median(their / own for their, own in times),
        )

    def seconds(self, call: Callable[[], object]) -> float:
        start = time.perf_counter()
        call()
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter() - start


def quartile_distance(values: list[float]) -> float:
    first, _, third = statistics.quantiles(values, n=4)
    return third - first


def growth(sizes: list[int], seconds: list[float]) -> float:
    """The power of the size by which the time grows, over the upper half of the sizes: 1 is linear."""
    upper = len(sizes) // 2
    points = [(torch.tensor(float(s)).log(), torch.tensor(t).log()) for s, t in zip(sizes, seconds, strict=True)]
    (x0, y0), (x1, y1) = points[upper - 1], points[-1]
    return float((y1 - y0) / (x1 - x0))
