"""What the pictures of a report have in common: colours, marks, grids."""

from collections.abc import Sequence
from typing import Any

from epireader.evaluation.picture import GREY, INK, PALE
from epireader.evaluation.report import RunReport

PAPER = "#fffffe"
"""What is inside hollow marks. Not quite white, so that no other white takes its colour on a page."""
RUN_COLOURS = ("#2a6a6e", "#b5482e", "#74447f", "#a8761c", "#2f5f9e", "#5d7032")
MARKERS = {"o": "●", "s": "■", "D": "◆", "^": "▲", "v": "▼", "P": "✚"}
"""The mark of each run, and how it is written."""
LONGEST_NAME = 26
COLOUR_NAMES = {INK: "ink", GREY: "soft", PALE: "rule", PAPER: "leaf"} | {
    colour: f"run-{number}" for number, colour in enumerate(RUN_COLOURS)
}
"""What a page calls the colours that are drawn with."""


def style(number: int, stage: str) -> dict[str, Any]:
    """A colour and a mark a run; the Extractor's are hollow and its lines dashed."""
    colour, marker = RUN_COLOURS[number % len(RUN_COLOURS)], list(MARKERS)[number % len(MARKERS)]
    common = {"color": colour, "marker": marker, "markersize": 6, "linewidth": 1.8}
    if stage == "final":
        return {**common, "zorder": 3}
    return {**common, "markerfacecolor": PAPER, "markeredgewidth": 1.5, "linestyle": (0, (4, 2.5)), "zorder": 2.5}


def stages(run: RunReport) -> tuple[str, ...]:
    """The Extractor first, so that the final word is drawn over it."""
    return ("extractor", "final") if run.reranks else ("final",)


def plain(name: str) -> str:
    """A name cut to fit, in which nothing is taken for a formula."""
    return (name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…").replace("$", r"\$")


def dress(axis: Any, lines: str) -> None:
    axis.grid(axis=lines, color=PALE, linewidth=1)
    axis.set_axisbelow(True)
    axis.tick_params(length=0, labelsize=10, labelcolor=GREY)
    axis.spines[:].set_visible(False)
    axis.xaxis.label.set(color=GREY, fontsize=10)


def percent(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(epochs, 100 * value) for epochs, value in points]
