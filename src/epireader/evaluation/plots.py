"""The pictures of a report: drawn once, for a page (SVG whose colours the page gives) and for a slide (PNG)."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epireader.evaluation.accuracy import Share
from epireader.evaluation.breakdown import Breakdown
from epireader.evaluation.picture import GREY, INK, NoPictures
from epireader.evaluation.plot_style import COLOUR_NAMES, dress, percent, plain, stages, style
from epireader.evaluation.report import Report, RunReport
from epireader.evaluation.size_curve import draw_size_curve
from epireader.files import written_beside

SIZE = (4.8, 3.1)
"""Inches. Small enough to be read on a telephone."""
NARROW = (4.2, 3.2)
"""Where three stand side by side."""


@dataclass(frozen=True)
class Plot:
    """A picture that can be drawn on an axis."""

    name: str
    title: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = SIZE


def plots_of(report: Report) -> Iterator[Plot]:
    """All pictures of a report."""
    runs = list(enumerate(report.runs))
    learnt = [(number, run) for number, run in runs if run.curve]
    if learnt:
        yield Plot("loss", "Training loss", lambda axis: _draw_losses(axis, learnt))
        yield Plot("learning", "Validation accuracy, %", lambda axis: _draw_learning(axis, learnt))
    read_books = [(number, run) for number, run in learnt if run.curve and run.curve.asked]
    if read_books:
        yield Plot(
            "size", "Validation accuracy by training questions, %", lambda axis: draw_size_curve(axis, read_books)
        )
    tall = (SIZE[0], max(SIZE[1], 1.1 + 0.55 * len(runs)))
    yield Plot("accuracy", "Accuracy, %", lambda axis: _draw_accuracy(axis, runs), tall)
    yield Plot("recall", "Right answer among the first K, %", lambda axis: _draw_recall(axis, runs))
    breakdowns = {
        "length": ("Accuracy by length of the passage, %", "words in the passage", report.by_length),
        "mentions": ("Accuracy by mentions of the answer, %", "times the answer stands in it", report.by_mentions),
        "distance": ("Accuracy by distance of its last mention, %", "words after its last mention", report.by_distance),
    }
    for name, (title, axis_label, breakdown) in breakdowns.items():
        if breakdown.bins:
            yield Plot(f"by-{name}", title, _breakdown_drawer(runs, breakdown, axis_label), NARROW)


def as_svg(plot: Plot) -> str:
    """The picture as an SVG element whose colours are CSS variables; the title and the key are left to the page."""
    figures, rc_context = find_matplotlib()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": plot.name}), io.StringIO() as file:
        figure = figures.Figure(figsize=plot.size, layout="constrained")
        plot.draw(figure.add_subplot())
        absent = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=absent)
        drawn = file.getvalue()
    drawn = drawn[drawn.index("<svg") :].replace(' id="', f' id="{plot.name}-').replace('"#', f'"#{plot.name}-')
    drawn = drawn.replace("url(#", f"url(#{plot.name}-")
    for colour, name in COLOUR_NAMES.items():
        drawn = drawn.replace(colour, f"var(--{name})")
    return drawn


def write_pngs(plots: Sequence[Plot], report: Report, folder: Path) -> None:
    """Every picture as a file of its own, with its title and what the marks mean."""
    figures, _ = find_matplotlib()
    folder.mkdir(parents=True, exist_ok=True)
    for plot in plots:
        figure = figures.Figure(
            figsize=(plot.size[0], plot.size[1] + 0.8), dpi=200, layout="constrained", facecolor="white"
        )
        axis = figure.add_subplot()
        plot.draw(axis)
        axis.set_title(plot.title, color=INK, fontsize=12, weight="bold", loc="left")
        _add_key(figure, list(_key(report)))
        with written_beside(folder / f"{plot.name}.png") as beside:
            figure.savefig(beside, format="png", metadata={"Software": None})


def _add_key(figure: Any, marks: list[Any]) -> None:
    """What the marks mean, below the picture, in as many columns as have room there."""
    for columns in (3, 2, 1):
        key = figure.legend(
            handles=marks, loc="outside lower center", ncols=columns, fontsize=9, labelcolor=INK, frameon=False
        )
        figure.draw_without_rendering()
        if columns == 1 or key.get_window_extent().width <= figure.bbox.width:
            return
        key.remove()


def find_matplotlib() -> tuple[Any, Any]:
    """Its figures and its settings; NoPictures where it is not installed."""
    try:
        from matplotlib import figure, rc_context
    except ImportError:
        raise NoPictures("drawing needs matplotlib; install it with: pip install 'epireader[plots]'") from None
    return figure, rc_context


def _key(report: Report) -> Iterator[Any]:
    from matplotlib.lines import Line2D

    for number, run in enumerate(report.runs):
        yield Line2D([], [], **style(number, "final"), label=plain(run.name))
    if any(run.reranks for run in report.runs):
        yield Line2D([], [], color=GREY, marker="o", markersize=6, label="final")
        yield Line2D(
            [], [], color=GREY, marker="o", markersize=6, markerfacecolor="white", linestyle="--", label="Extractor"
        )


def _whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _draw_losses(axis: Any, runs: Sequence[tuple[int, RunReport]]) -> None:
    for number, run in runs:
        assert run.curve
        curves = {"extractor": run.curve.extractor_loss if run.reranks else (), "final": run.curve.loss}
        for stage, points in curves.items():
            if points:
                # A mark for each of very many points would hide the line.
                axis.plot(
                    *zip(*points, strict=True), **style(number, stage) | {"marker": "" if len(points) > 12 else "."}
                )
    axis.set(xlabel="epochs", ylim=(0, None), xlim=(0, None))
    dress(axis, "y")
    _whole_numbers(axis)


def _draw_learning(axis: Any, runs: Sequence[tuple[int, RunReport]]) -> None:
    for number, run in runs:
        assert run.curve
        curves = {"extractor": run.curve.extractor_accuracy, "final": run.curve.accuracy}
        for stage in stages(run):
            axis.plot(*zip(*percent(curves[stage]), strict=True), **style(number, stage))
        best = percent([run.curve.best])[0]
        axis.plot(*best, marker="o", markersize=14, markerfacecolor="none", color=style(number, "final")["color"])
    axis.set(xlabel="epochs; a ring marks the best", xlim=(0, None))
    dress(axis, "y")
    _whole_numbers(axis)


def _draw_accuracy(axis: Any, runs: Sequence[tuple[int, RunReport]]) -> None:
    for number, run in runs:
        for stage in stages(run):
            share: Share = getattr(run.evaluation, stage)
            row = number + (0.0 if len(stages(run)) == 1 else 0.17 if stage == "extractor" else -0.17)
            bars = _errors([share])
            axis.errorbar(
                [100 * share.value],
                [row],
                xerr=bars,
                capsize=3,
                elinewidth=1.4,
                **style(number, stage) | {"linestyle": ""},
            )
            beside = (100 * share.interval[1], row)
            text = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "fontsize": 10, "color": INK}
            axis.annotate(f"{100 * share.value:.1f}", beside, **text)
    labels = axis.set_yticks(range(len(runs)), [plain(run.name) for _, run in runs])
    axis.set(ylim=(len(runs) - 0.45, -0.55), xlabel="bars: 95% intervals")
    axis.margins(x=0.12)
    dress(axis, "x")
    for label in labels:
        label.label1.set_color(INK)


def _draw_recall(axis: Any, runs: Sequence[tuple[int, RunReport]]) -> None:
    for number, run in runs:
        shares = run.evaluation.recall_at
        values = [100 * share.value for share in shares.values()]
        axis.errorbar(
            list(shares),
            values,
            yerr=_errors(shares.values()),
            capsize=3,
            elinewidth=1.2,
            **style(number, stages(run)[0]),
        )
    axis.set(xlabel="K, before reranking; bars: 95% intervals")
    dress(axis, "y")
    _whole_numbers(axis)


def _breakdown_drawer(runs: Sequence[tuple[int, RunReport]], breakdown: Breakdown, label: str) -> Callable[[Any], None]:
    def draw(axis: Any) -> None:
        series = [(number, run, stage) for number, run in runs for stage in stages(run)]
        for place, (number, run, stage) in enumerate(series):
            shares = breakdown.accuracy(run.right_first if stage == "extractor" else run.right_final)
            # Side by side, or the bars of one hide those of another.
            aside = (place - (len(series) - 1) / 2) * min(0.12, 0.6 / len(series))
            where, values = [n + aside for n in range(len(shares))], [100 * share.value for share in shares]
            axis.errorbar(where, values, yerr=_errors(shares), capsize=2.5, elinewidth=1.2, **style(number, stage))
        sizes = [share.total for share in breakdown.accuracy(runs[0][1].right_final)]
        ticks = [f"{bin_}\nn={size:,}" for bin_, size in zip(breakdown.bins, sizes, strict=True)]
        axis.set_xticks(range(len(ticks)), ticks)
        axis.set(xlabel=label, xlim=(-0.5, len(ticks) - 0.5))
        dress(axis, "y")
        axis.tick_params(axis="x", labelsize=9 if max(len(str(bin_)) for bin_ in breakdown.bins) <= 8 else 7.5)

    return draw


def _errors(shares: Any) -> list[list[float]]:
    """How far the ends of the intervals are from the figures, in points: below, above."""
    known = list(shares)
    below = [100 * max(0.0, share.value - share.interval[0]) for share in known]
    return [below, [100 * max(0.0, share.interval[1] - share.value) for share in known]]
