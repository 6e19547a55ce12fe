"""The table as a picture for a slide: a panel a set of questions, a row a system, published hollow, measured filled.

A slide does not hold every line of the table. A reader has a row with its paper's settings, one with all others, and one
for each set of books it was trained on; where several lines share a row, the best on validation is drawn.
"""

from collections.abc import Mapping, Sequence
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
LONGEST_NAME = 38
"""Letters."""
TITLE = "The EpiReader and the readers it was compared with"
SUBTITLE = "Test accuracy, %. Rebuilt sets (-R) are not the official ones: compare filled points with each other only."
FOOTNOTE = (
    "Other settings: the best on validation.  Bars: standard deviation over seeds.  *: training was not finished."
)


class NoPictures(ValueError):
    """matplotlib is not there."""


@dataclass(frozen=True, order=True)
class Row:
    """The lines of the table that are one in the picture."""

    rank: int
    unpublished: str
    changed: bool
    books: str
    ensemble: bool
    stage: int

    @classmethod
    def of(cls, place: Place) -> "Row":
        books = next((change for change in place.changes if change.startswith("with ")), "")
        return cls(place.rank, place.unpublished, bool(place.changes), books, place.members > 1, place.stage)

    @property
    def settings(self) -> str:
        """What it has in place of the paper's settings."""
        settings = self.books or ("other settings" if self.changed else "")
        return ", ".join(filter(None, (settings, "ensemble" if self.ensemble else "")))


@dataclass(frozen=True)
class Panel:
    """A set of questions, official or rebuilt, and where its figures are."""

    part: Part
    published: Column | None
    measured: Column | None

    def readers(self) -> dict[Row, str]:
        """The rows it has a point in, and whose they are. What came after the paper, and the Extractors of readers that were
        changed, are left to the table."""
        lines = {Row.of(place): line for place, line in self.part.lines.items() if not line.later}
        return {
            row: line.name.partition(", ")[0]
            for row, line in lines.items()
            if (row.stage or not row.changed) and (self.cell(row, self.published) or self.cell(row, self.measured))
        }

    def cell(self, row: Row, column: Column | None) -> Cell | None:
        """The best on validation of those the row has there."""
        lines = [line for place, line in self.part.lines.items() if Row.of(place) == row]
        cells = [line.cells[column] for line in lines if column in line.cells and line.cells[column].test]
        return max(cells, key=lambda cell: cell.valid.mean if cell.valid else 0.0, default=None)


def draw(parts: Sequence[Part], path: Path) -> None:
    """Draw the test accuracies into a PNG file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise NoPictures("drawing needs matplotlib; install it with: pip install 'epireader[plots]'") from None
    panels = [panel for part in parts for panel in _panels(part)]
    readers = {row: reader for panel in panels for row, reader in panel.readers().items()}
    # Floors stand first in the table, but at the foot of a picture.
    rows = sorted(readers, key=lambda row: (row.rank < 0, row))
    figure = Figure(figsize=SLIDE, dpi=144, facecolor="white")
    for number, panel in enumerate(panels, start=1):
        axis = figure.add_subplot(1, len(panels), number)
        _draw_panel(axis, panel, rows)
        axis.set_yticks(range(len(rows)), [""] * len(rows))
    _name_rows(figure.axes[0], {row: readers[row] for row in rows})
    figure.subplots_adjust(left=0.19, right=0.99, top=0.79, bottom=0.075, wspace=0.05)
    _write_titles(figure)
    with written_beside(path) as beside:
        figure.savefig(beside, format="png")


def _name_rows(axis: Any, readers: Mapping[Row, str]) -> None:
    """A reader's name stands at its first row; under it, paler, what it had in place of its paper's settings."""
    owners = [(row.rank, row.unpublished) for row in readers]
    under = [bool(row.settings) and owners[height] in owners[:height] for height, row in enumerate(readers)]
    names = [
        row.settings if below else ", ".join(filter(None, (reader, row.settings)))
        for below, (row, reader) in zip(under, readers.items(), strict=True)
    ]
    short = [name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…" for name in names]
    for tick, below in zip(axis.set_yticks(range(len(short)), short), under, strict=True):
        ours = tick.label1.get_text().startswith("EpiReader")
        tick.label1.set(fontsize=10.5, color=GREY if below else INK, weight="bold" if ours else None)


def _panels(part: Part) -> list[Panel]:
    """Published figures of a set and, beside them, those measured on it (or, failing that, on the rebuilt one)."""
    panels: list[Panel] = []
    for column in part.columns:
        if column.published or not panels:
            panels.append(Panel(part, column, None) if column.published else Panel(part, None, column))
        elif panels[-1].measured is None:
            panels[-1] = Panel(part, panels[-1].published, column)
    return panels


def _draw_panel(axis: Any, panel: Panel, rows: Sequence[Row]) -> None:
    axis.set(xlim=(0, 95), ylim=(len(rows) - 0.4, -0.6), xticks=range(0, 81, 20))
    for column, left, colour in ((panel.published, 0.0, INK), (panel.measured, 0.36, BLUE)):
        if column:
            axis.text(left, 1.03, column.set, transform=axis.transAxes, fontsize=15, color=colour, weight="bold")
    axis.grid(axis="x", color=PALE, linewidth=1)
    axis.set_axisbelow(True)
    axis.tick_params(length=0, labelsize=11, labelcolor=GREY)
    axis.spines[:].set_visible(False)
    for height, row in enumerate(rows):
        axis.axhline(height, color=PALE, linewidth=1, zorder=0)
        _draw_row(axis, height, panel.cell(row, panel.published), panel.cell(row, panel.measured))


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
