"""Whether one reader is better than another on the same questions."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Comparison:
    """Two readers on the same questions (McNemar's test)."""

    both_right: int
    only_first: int
    only_second: int
    both_wrong: int
    p_value: float
    """How likely a split this uneven is if both readers are equally good (two-sided, exact)."""

    @property
    def difference(self) -> float:
        """The first one's accuracy less the second one's."""
        total = self.both_right + self.only_first + self.only_second + self.both_wrong
        return (self.only_first - self.only_second) / total


def compare(first: np.ndarray, second: np.ndarray) -> Comparison:
    """Compare two readers by which questions each got right."""
    if first.shape != second.shape:
        raise ValueError(f"the readers answered different numbers of questions, {len(first)} and {len(second)}")
    if not len(first):
        raise ValueError("there are no questions to compare the readers on")
    only_first, only_second = int((first & ~second).sum()), int((~first & second).sum())
    return Comparison(
        both_right=int((first & second).sum()),
        only_first=only_first,
        only_second=only_second,
        both_wrong=int((~first & ~second).sum()),
        p_value=mcnemar(only_first, only_second),
    )


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided probability that a fair coin splits so unevenly."""
    flips, fewer = only_first + only_second, min(only_first, only_second)
    ways = tail = 1
    for n in range(fewer):
        ways = ways * (flips - n) // (n + 1)
        tail += ways
    return min(1.0, float(2 * tail / 2**flips))
