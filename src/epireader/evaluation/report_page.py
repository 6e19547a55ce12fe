"""A report as one page that needs nothing else: no scripts, no fonts or pictures from elsewhere. All text is escaped."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from epireader.evaluation.accuracy import Share
from epireader.evaluation.breakdown import Breakdown
from epireader.evaluation.plot_style import MARKERS, RUN_COLOURS
from epireader.evaluation.plots import Plot, as_svg
from epireader.evaluation.report import Report, RunReport
from epireader.evaluation.report_example import example_html

STYLE = Path(__file__).with_name("report.css")

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header><h1>{title}</h1><p>{subtitle}</p></header>
<main>
{sections}
</main>
</body>
</html>
"""

_HOW_TO_READ = """<p class="hint">Mentions of <mark class="right">the right answer</mark> and of
<mark class="rival">the wrong choice</mark> are marked. The bar beside a sentence shows how far it moved the Reasoner’s
score: to the right for the right answer, to the left for the wrong one.</p>
"""


def report_html(report: Report, plots: Sequence[Plot]) -> str:
    """The whole page."""
    drawn = {plot.name: plot for plot in plots}
    unknown = report.runs[0].evaluation.unknown
    left_out = f"; {unknown:,} without an answer are left out" if unknown else ""
    return _PAGE.format(
        title=escape(f"Report on {', '.join(run.name for run in report.runs)}"),
        subtitle=escape(f"{_counted(report.questions, 'question')} of {report.asked}{left_out}"),
        style=STYLE.read_text(encoding="utf-8"),
        sections="\n".join(_sections(report, drawn)),
    )


def _sections(report: Report, plots: Mapping[str, Plot]) -> Iterator[str]:
    runs = list(enumerate(report.runs))
    key = _key(runs)
    yield _section("In figures", _summary(report))
    yield _section("Right answers", key + _figures([plots["accuracy"], plots["recall"]]))
    if "loss" in plots:
        learnt = _key([(number, run) for number, run in runs if run.curve])
        shown = [plots[name] for name in ("loss", "learning", "size") if name in plots]
        yield _section("Learning", learnt + _figures(shown))
    notes = {
        "by-length": (report.by_length, ""),
        "by-mentions": (report.by_mentions, "because the answer is not among the candidates"),
        "by-distance": (report.by_distance, "because the answer is not in the passage"),
    }
    parts = [
        _figure(plots[name], _breakdown_details(report, breakdown, note))
        for name, (breakdown, note) in notes.items()
        if name in plots
    ]
    yield _section("What makes a question hard", f'{key}<div class="figures three">{"".join(parts)}</div>')
    yield from (_examples(run, alone=len(report.runs) == 1) for run in report.runs if run.reranks)


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>"


def _key(runs: Sequence[tuple[int, RunReport]]) -> str:
    """What colours and marks mean."""
    marks, count = list(MARKERS.values()), len(RUN_COLOURS)
    listed = [
        f'<li><i style="color: var(--run-{number % count})">{marks[number % len(marks)]}</i>{escape(run.name)}</li>'
        for number, run in runs
    ]
    if any(run.reranks for _, run in runs):
        listed += ['<li class="stage"><i>●</i>final</li>', '<li class="stage"><i>○</i>Extractor</li>']
    return f'<ul class="key">{"".join(listed)}</ul>\n'


def _figures(plots: Sequence[Plot]) -> str:
    return f'<div class="figures">{"".join(_figure(plot) for plot in plots)}</div>'


def _figure(plot: Plot, details: str = "") -> str:
    svg = as_svg(plot).replace("<svg", f'<svg role="img" aria-label="{escape(plot.title)}"', 1)
    return f"<figure>\n<figcaption>{escape(plot.title)}</figcaption>\n{svg}\n{details}</figure>\n"


def _summary(report: Report) -> str:
    """The figures of every run in one table."""
    reranks = any(run.reranks for run in report.runs)
    head = ["", "reader", *(["Extractor"] if reranks else []), "final", "recall"]
    head += ["corrected", "spoiled", "p"] if reranks else []
    return _table(head, [_summary_row(run, reranks=reranks) for run in report.runs])


def _summary_row(run: RunReport, *, reranks: bool) -> list[str]:
    measured = run.evaluation
    most, recall = list(measured.recall_at.items())[-1]
    cells = [escape(run.name), escape(run.reader)]
    if reranks:
        cells.append(_with_interval(measured.extractor) if run.reranks else "")
    cells += [_with_interval(measured.final), f"{_percent(recall)} <small>@{most}</small>"]
    if reranks:
        changed = (f"{measured.corrected:,}", f"{measured.spoiled:,}", f"{run.p_value:.2g}")
        cells += changed if run.reranks else ("", "", "")
    return cells


def _breakdown_details(report: Report, breakdown: Breakdown, note: str) -> str:
    """The figures of a picture, folded away."""
    columns: dict[str, list[Share]] = {}
    for run in report.runs:
        stages = {"Extractor": run.right_first, "final": run.right_final} if run.reranks else {"": run.right_final}
        for stage, right in stages.items():
            columns[f"{run.name}, {stage}" if stage else run.name] = breakdown.accuracy(right)
    rows = [
        [f"{bin_}<br><small>n={shares[0].total:,}</small>", *map(_with_interval, shares)]
        for bin_, *shares in zip(breakdown.bins, *columns.values(), strict=True)
    ]
    head = ["", *map(escape, columns)]
    said = f'<p class="hint">Left out, {note}: {breakdown.left_out:,}.</p>' if breakdown.left_out else ""
    return f"{said}<details><summary>figures</summary>{_table(head, rows)}</details>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    titles = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    return f'<div class="wide"><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'


def _with_interval(share: Share) -> str:
    low, high = share.interval
    return f"{_percent(share)} <small>{100 * low:.1f} to {100 * high:.1f}</small>"


def _percent(share: Share) -> str:
    return f"{100 * share.value:.1f}"


def _examples(run: RunReport, *, alone: bool) -> str:
    """What a Reasoner corrected and spoiled, the most telling first."""
    measured, title = run.evaluation, "What the Reasoner changed" + ("" if alone else f": {run.name}")
    verdict = (
        f"<p>It corrected {_counted(measured.corrected, 'answer')} of the Extractor and spoiled {measured.spoiled:,}: "
        f"{100 * (measured.final.value - measured.extractor.value):+.1f} points, p = {run.p_value:.2g}"
        " (McNemar’s exact test).</p>"
    )
    if run.corrections or run.spoilings:
        verdict += _HOW_TO_READ
    shown = [*run.corrections, *run.spoilings]
    parts = [verdict]
    for corrected, questions in groupby(shown, key=lambda one: one.corrected):
        listed = list(questions)
        total = measured.corrected if corrected else measured.spoiled
        count = f"{len(listed)} " if len(listed) > 1 else ""
        heading = f"{'Corrected' if corrected else 'Spoiled'}: the {count}most telling of {total:,}"
        parts.append(f"<h3>{heading}</h3>" + "".join(example_html(one) for one in listed))
    return _section(title, "\n".join(parts))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
