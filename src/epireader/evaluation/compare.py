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


@dataclass(frozen=True)
class MeansComparison:
    """Two kinds of reader on the same questions, each trained with several seeds."""

    difference: float
    """The first kind's mean accuracy less the second's."""
    p_value: float
    """How likely a difference this large is if, on every question, either kind could as well have been the other."""


def compare_means(first: np.ndarray, second: np.ndarray) -> MeansComparison:
    """Compare two kinds of reader by which questions each seed of them got right, a row a seed.

    What counts is a question's share of seeds that are right; seeds need not be as many. Were both kinds equally good, the sign
    of each question's difference would be chance. The test goes over all signs (exact, two-sided); with one seed each it is
    McNemar's.
    """
    if first.shape[1:] != second.shape[1:]:
        raise ValueError(f"the readers answered different numbers of questions, {first.shape[1]} and {second.shape[1]}")
    if not first.size or not second.size:
        raise ValueError("there are no questions to compare the readers on")
    # In whole numbers: each question's difference times both numbers of seeds.
    differences = first.sum(axis=0) * len(second) - second.sum(axis=0) * len(first)
    return MeansComparison(
        difference=float(differences.mean() / (len(first) * len(second))),
        p_value=_as_far_from_zero(np.abs(differences), abs(int(differences.sum()))),
    )


def _as_far_from_zero(sizes: np.ndarray, distance: int) -> float:
    """The probability that numbers of these sizes with signs at random add up to at least this distance from zero."""
    reach = int(sizes.sum())
    chances = np.zeros(2 * reach + 1)  # of every sum from -reach to reach
    chances[reach] = 1.0
    for size in sizes[sizes > 0]:
        chances = (np.roll(chances, size) + np.roll(chances, -size)) / 2  # what goes round is still zero
    return min(1.0, float(chances[: reach - distance + 1].sum() + chances[reach + distance :].sum()))


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided probability that a fair coin splits so unevenly."""
    flips, fewer = only_first + only_second, min(only_first, only_second)
    ways = tail = 1
    for n in range(fewer):
        ways = ways * (flips - n) // (n + 1)
        tail += ways
    return min(1.0, float(2 * tail / 2**flips))
