"""Rates against a size, both on logarithmic axes."""

from pathlib import Path

from matplotlib.figure import Figure
from timing import Row

LABELS = {"batch size": "questions in a batch", "words": "words in the longest passage of a batch"}


def draw_series(what: str, series: dict[str, Row], path: Path) -> Path:
    sizes = [int(size) for size in series]
    rows = list(series.values())
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, rates, spreads, colour, marker in (
        ("ours", [row.ours for row in rows], [row.spread for row in rows], "#1f6f8b", "o"),
        (rows[0].rival, [row.theirs for row in rows], [row.theirs_spread for row in rows], "#b5651d", "s"),
    ):
        low = [max(rate - spread / 2, rate / 2) for rate, spread in zip(rates, spreads, strict=True)]
        high = [rate + spread / 2 for rate, spread in zip(rates, spreads, strict=True)]
        axes.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(sizes, rates, marker=marker, color=colour)
        axes.annotate(name, (sizes[-1], rates[-1]), (8, 0), textcoords="offset points", color=colour, va="center")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel(LABELS[what])
    axes.set_ylabel("questions a second")
    lowest, highest = (f(rate for row in rows for rate in (row.ours, row.theirs)) for f in (min, max))
    ticks = [
        m * 10**power for power in range(-1, 7) for m in (1, 2, 5) if lowest / 1.5 <= m * 10**power <= highest * 1.5
    ]
    axes.set_yticks(ticks, [f"{tick:,g}" for tick in ticks])
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("EpiReader, evaluation (band: quartiles)", loc="left", fontsize=10)
    figure.savefig(path, dpi=130)
    return path
