"""How accuracy grows with the number of training questions, for readers that are asked new ones in every epoch."""

from collections.abc import Sequence
from typing import Any

from epireader.evaluation.plot_style import dress, percent, plain, stages, style
from epireader.evaluation.report import RunReport

LINE_HEIGHT = 0.075
"""Of a name, as a share of the axis."""
ASIDE = 1.15
"""How far the axis goes on beyond the first and the last point, as a factor."""
MOST_TICKS, MOST_MARKS = 7, 20


def draw_size_curve(axis: Any, runs: Sequence[tuple[int, RunReport]]) -> None:
    """Validation accuracy over the questions asked so far; each line is named where it ends."""
    ends: list[tuple[float, int, str, str]] = []
    sizes: list[int] = []
    for number, run in runs:
        assert run.curve
        asked = run.curve.asked
        sizes += asked
        curves = {"extractor": run.curve.extractor_accuracy, "final": run.curve.accuracy}
        for stage in stages(run):
            values = [value for _, value in percent(curves[stage])]
            look = style(number, stage) | {"markersize": 5} | ({"marker": ""} if len(asked) > MOST_MARKS else {})
            axis.plot(asked, values, **look)
            ends.append((values[-1], asked[-1], plain(run.name) if stage == "final" else "Extractor", look["color"]))
    axis.set_xscale("log")
    ticks = round_numbers(min(sizes) / ASIDE, max(sizes) * ASIDE) or [min(sizes), max(sizes)]
    axis.set_xticks(ticks, [short_number(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set(xlabel="training questions asked; log scale", xlim=(min(sizes) / ASIDE, max(sizes) * ASIDE))
    dress(axis, "y")
    axis.tick_params(axis="x", pad=8)
    _name_lines(axis, sorted(ends))


def _name_lines(axis: Any, ends: Sequence[tuple[float, int, str, str]]) -> None:
    low, high = axis.get_ylim()
    places = moved_apart([(value - low) / (high - low) for value, *_ in ends], LINE_HEIGHT)
    for place, (value, asked, name, colour) in zip(places, ends, strict=True):
        axis.annotate(
            name,
            (asked, value),
            xytext=(1.03, place),
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=colour,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkB": 4, "relpos": (0, 0.5)},
        )


def moved_apart(values: Sequence[float], gap: float) -> list[float]:
    """Shares in rising order, moved so that there is a gap between any two, and all of the last is below 1."""
    places: list[float] = []
    for value in values:
        places.append(max(value, places[-1] + gap) if places else value)
    moved = max(place - value for place, value in zip(places, values, strict=True))
    down = max(moved / 2, places[-1] + gap / 2 - 1)
    return [place - down for place in places]


def round_numbers(low: float, high: float) -> list[int]:
    """The numbers between that are 1, 2 or 5 times a power of ten; only the powers where those are too many."""
    digits: dict[bool, tuple[int, ...]] = {True: (1, 2, 5), False: (1,)}
    found = {
        fine: [digit * 10**power for power in range(16) for digit in of if low <= digit * 10**power <= high]
        for fine, of in digits.items()
    }
    return found[len(found[True]) <= MOST_TICKS]


def short_number(number: int) -> str:
    """200,000 as 200k, 1,500,000 as 1.5M."""
    for size, letter in ((10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return str(number)
