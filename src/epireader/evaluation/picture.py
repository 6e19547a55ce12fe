"""The table as a picture for a slide: a panel a set of questions, a row a system, published hollow, measured filled."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epireader.evaluation.table import Cell, Column, Part, Place, rounded
from epireader.files import written_beside

SLIDE = (13.333, 7.5)
"""Inches."""
INK, GREY, PALE, BLUE = "#22262b", "#767d87", "#e3e6ea", "#1f5fa8"
RING: dict[str, Any] = {"marker": "o", "color": INK, "markersize": 9, "markeredgewidth": 1.6, "linewidth": 0}
POINT: dict[str, Any] = {"marker": "o", "color": BLUE, "markersize": 8, "linewidth": 0}
LARGE_NAME, LONGEST_NAME = 30, 54
"""Letters: of a name in large type, and of any name."""
TITLE = "The EpiReader and the readers it was compared with"
SUBTITLE = "Test accuracy, %. Rebuilt sets (-R) are not the official ones: compare filled points with each other only."
FOOTNOTE = "Bars: standard deviation over seeds.  *: training was not finished."


class NoPictures(ValueError):
    """matplotlib is not there."""


@dataclass(frozen=True)
class Panel:
    """A set of questions, official or rebuilt, and where its figures are."""

    part: Part
    published: Column | None
    measured: Column | None

    def cell(self, place: Place, column: Column | None) -> Cell | None:
        line = self.part.lines.get(place)
        return line.cells.get(column) if line and column else None

    def places(self) -> set[Place]:
        """Rows it has a point in. What came after the paper, and the Extractors of readers that were changed, are left to
        the table, or a slide would not hold them."""
        both = (self.published, self.measured)
        return {
            place
            for place, line in self.part.lines.items()
            if not (line.later or (place.changes and not place.stage))
            and any((cell := self.cell(place, column)) and cell.test for column in both)
        }


def draw(parts: Sequence[Part], path: Path) -> None:
    """Draw the test accuracies into a PNG file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise NoPictures("drawing needs matplotlib; install it with: pip install 'epireader[plots]'") from None
    panels = [panel for part in parts for panel in _panels(part)]
    names = {place: _short(panel.part.lines[place].name) for panel in panels for place in panel.places()}
    # Floors stand first in the table, but at the foot of a picture.
    rows = {place: names[place] for place in sorted(names, key=lambda place: (place.rank < 0, place))}
    figure = Figure(figsize=SLIDE, dpi=144, facecolor="white")
    for number, panel in enumerate(panels, start=1):
        axis = figure.add_subplot(1, len(panels), number)
        _draw_panel(axis, panel, list(rows))
        labels = axis.set_yticks(range(len(rows)), rows.values() if number == 1 else [""] * len(rows), color=INK)
        for label in (tick.label1 for tick in labels):
            large = len(label.get_text()) <= LARGE_NAME
            weight = "bold" if large and label.get_text().startswith("EpiReader") else None
            label.set(fontsize=12 if large else 7.5, weight=weight)
    figure.subplots_adjust(left=0.265, right=0.99, top=0.79, bottom=0.075, wspace=0.05)
    _write_titles(figure)
    with written_beside(path) as beside:
        figure.savefig(beside, format="png")


def _short(name: str) -> str:
    """A name that fits beside its points; of an ensemble the end is kept."""
    if len(name) <= LONGEST_NAME:
        return name
    settings, *ensemble = name.partition(", ensemble of ")
    return settings[: LONGEST_NAME - 1 - len("".join(ensemble))] + "…" + "".join(ensemble)


def _panels(part: Part) -> list[Panel]:
    """Published figures of a set and, beside them, those measured on it (or, failing that, on the rebuilt one)."""
    panels: list[Panel] = []
    for column in part.columns:
        if column.published or not panels:
            panels.append(Panel(part, column, None) if column.published else Panel(part, None, column))
        elif panels[-1].measured is None:
            panels[-1] = Panel(part, panels[-1].published, column)
    return panels


def _draw_panel(axis: Any, panel: Panel, places: Sequence[Place]) -> None:
    axis.set(xlim=(0, 95), ylim=(len(places) - 0.4, -0.6), xticks=range(0, 81, 20))
    for column, left, colour in ((panel.published, 0.0, INK), (panel.measured, 0.36, BLUE)):
        if column:
            axis.text(left, 1.03, column.set, transform=axis.transAxes, fontsize=15, color=colour, weight="bold")
    axis.grid(axis="x", color=PALE, linewidth=1)
    axis.set_axisbelow(True)
    axis.tick_params(length=0, labelsize=11, labelcolor=GREY)
    axis.spines[:].set_visible(False)
    for row, place in enumerate(places):
        axis.axhline(row, color=PALE, linewidth=1, zorder=0)
        _draw_row(axis, row, panel.cell(place, panel.published), panel.cell(place, panel.measured))


def _draw_row(axis: Any, row: int, published: Cell | None, measured: Cell | None) -> None:
    """One or two points with a line between them; the number of the left one stands to its left."""
    points = []
    if published and published.test:
        for face, layer in (("white", 2), ("none", 4)):  # the ring is seen where a filled point covers it
            axis.plot(published.test.mean, row, **RING, markerfacecolor=face, zorder=layer)
        points.append((published.test.mean, 0.0, INK, ""))
    if measured and measured.test:
        spread = measured.test.spread or 0.0
        axis.errorbar(measured.test.mean, row, xerr=spread or None, **POINT, elinewidth=1.4, capsize=3, zorder=3)
        points.append((measured.test.mean, spread, BLUE, "" if measured.finished else "*"))
    points.sort()
    if len(points) == 2:
        axis.plot([points[0][0], points[1][0]], [row, row], color=GREY, linewidth=1.6, zorder=1)
    for number, (value, spread, colour, mark) in enumerate(points):
        left = len(points) == 2 and not number
        axis.annotate(
            f"{rounded(value)}{mark}",
            (value - spread if left else value + spread, row),
            xytext=(-8 if left else 8, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=11,
            color=colour,
        )


def _write_titles(figure: Any) -> None:
    from matplotlib.lines import Line2D

    figure.text(0.015, 0.945, TITLE, fontsize=23, color=INK, weight="bold", va="center")
    figure.text(0.015, 0.887, SUBTITLE, fontsize=13, color=GREY, va="center")
    figure.text(0.99, 0.012, FOOTNOTE, fontsize=10, color=GREY, ha="right")
    kinds = [Line2D([], [], **RING, markerfacecolor="white"), Line2D([], [], **POINT)]
    shown = figure.legend(
        kinds, ["published", "measured"], loc="upper right", bbox_to_anchor=(0.995, 0.975), fontsize=14
    )
    shown.set_frame_on(False)
