"""`epireader table`."""

import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from epireader.cli.show import print_json, refuse_without_folder, say

if TYPE_CHECKING:
    from epireader.evaluation.table import Cell, Column, Figure, Line, Part

Rows = list[list[str]]

NAME_WIDTH = 56
"""A system's name that is longer goes on in the next line, so that its figures stay in sight."""
GLUE = "\N{NO-BREAK SPACE}"


@click.command()
@click.argument("results", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[RESULTS...]")
@click.option("--markdown", is_flag=True, help="Print it as Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one line of JSON.")
@click.option(
    "--png", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also draw it, for a slide."
)
def table(results: tuple[Path, ...], markdown: bool, as_json: bool, png: Path | None) -> None:
    """Show the paper's Table 2 with the figures measured here beside the published ones.

    RESULTS are folders of `epireader reproduce`, or the files results.jsonl in them; without any, the figures that come
    with the package are shown.

    \b
    Examples:
      epireader table
      epireader table results --png table.png
      epireader table results more/results.jsonl --markdown
    """
    from epireader.evaluation.commands import commands_of
    from epireader.evaluation.results import SHIPPED, read_results
    from epireader.evaluation.table import build_table

    if markdown and as_json:
        raise click.UsageError("give either --markdown or --json, not both")
    if png:
        refuse_without_folder(png)
    found = {result.key: result for path in results or (SHIPPED,) for result in read_results(path)}
    parts, commands = build_table(found.values()), commands_of(found.values())
    if as_json:
        print_json({"parts": [part_record(part) for part in parts], "commands": commands})
    else:
        click.echo(as_text(parts, commands, markdown=markdown))
    if png:
        from epireader.evaluation.picture import draw

        draw(parts, png)
        say(f"drawn in {png}")


def as_text(parts: list["Part"], commands: list[str], *, markdown: bool) -> str:
    """The table for a person, or for a page."""
    blocks, sources = [], sources_of(parts)
    for part in parts:
        shown = {
            f"{part.title}: accuracy on validation / test, %": accuracy_rows(part, sources),
            f"{part.title}: points over the AS Reader on test": distance_rows(part),
        }
        for title, rows in shown.items():
            if len(rows) > 1:
                blocks.append(f"{title}\n\n{markdown_table(rows) if markdown else plain_table(rows)}")
    blocks.append("\n\n".join(notes(parts, sources)) if markdown else "\n".join(notes(parts, sources)))
    if commands:
        listed = "\n".join(commands)
        blocks.append("Measured with:\n" + (f"\n```sh\n{listed}\n```" if markdown else listed))
    return "\n\n".join(blocks)


def accuracy_rows(part: "Part", sources: dict[str, int]) -> Rows:
    """A row a system, a cell a set of questions; the first row is the head."""
    rows = [["", *map(heading, part.columns)]]
    for line in part.lines.values():
        source = f" [{sources[line.source]}]" if line.source else ""
        rows.append([line.name + source, *(cell_text(line.cells.get(column)) for column in part.columns)])
    return rows


def distance_rows(part: "Part") -> Rows:
    """How far every system is from the AS Reader."""
    from epireader.evaluation.table import rounded

    rows = [["", *map(heading, part.columns)]]
    for line in part.lines.values():
        ahead = [part.ahead(line, column) for column in part.columns]
        if any(points is not None for points in ahead):
            rows.append([line.name, *("" if points is None else rounded(points, "+5.1f") for points in ahead)])
    return rows


def heading(column: "Column") -> str:
    return f"{column.set}, {'published' if column.published else 'measured'}"


def cell_text(cell: "Cell | None") -> str:
    """`72.3±0.4 / 64.9±0.8 (3)*`: figures, number of seeds (in an ensemble, `(7 as one)`), whether a run was not finished."""
    if cell is None:
        return ""
    seeds = f" ({len(cell.members)} as one)" if cell.members else f" ({len(cell.seeds)})" if cell.seeds else ""
    return f"{figure_text(cell.valid)} / {figure_text(cell.test)}{seeds}{'' if cell.finished else '*'}"


def figure_text(figure: "Figure | None") -> str:
    text = str(figure or "-")
    return text.rjust(len(text) + 4 - len(text.partition("±")[0]))


def plain_table(rows: Rows) -> str:
    """Columns of equal width; what a column is stands on two lines, a long name on as many as it takes."""
    head, *body = rows
    parted = [cell.partition(", ")[::2] for cell in head]
    rows = [list(line) for line in zip(*parted, strict=True)] + [line for row in body for line in folded(row)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines[:2], "-" * max(map(len, lines)), *lines[2:]])


def folded(row: list[str]) -> Rows:
    """A row whose name may take several lines; its figures stand beside the first."""
    name, *figures = row
    whole = ", ".join(part.replace(" ", GLUE) for part in name.split(", "))  # to be broken at commas alone
    lines = textwrap.wrap(whole, NAME_WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    first, *more = (line.replace(GLUE, " ") for line in lines)
    return [[first, *figures], *([line, *("" for _ in figures)] for line in more)]


def markdown_table(rows: Rows) -> str:
    head, *body = [f"| {' | '.join(cell.strip().replace('|', '&#124;') for cell in row)} |" for row in rows]
    return "\n".join([head, "|---" * len(rows[0]) + "|", *body])


def sources_of(parts: list["Part"]) -> dict[str, int]:
    """The sources that are shown, numbered."""
    lines = (line for part in parts for line in part.lines.values())
    return {source: n for n, source in enumerate(dict.fromkeys(line.source for line in lines if line.source), start=1)}


def notes(parts: list["Part"], sources: dict[str, int]) -> Iterator[str]:
    """What must be known to read the table."""
    cells = [cell for part in parts for line in part.lines.values() for cell in line.cells.values()]
    rebuilt = sorted({column.set.split()[0] for part in parts for column in part.columns if "-R" in column.set})
    if rebuilt:
        official = " and ".join(name.removesuffix("-R") for name in rebuilt)
        yield (
            f"{' and '.join(rebuilt)}: questions rebuilt in the form of {official}. They are not {official}, and these"
            " figures compare with each other only."
        )
    if any(cell.seeds for cell in cells):
        yield "(n): so many seeds, of which this is the mean; ±: their standard deviation."
    if any(cell.members for cell in cells):
        yield "(n as one): so many seeds, of whose probabilities the mean was taken."
    if not all(cell.finished for cell in cells):
        yield "*: training was not finished, because its time was over."
    yield "  ".join(f"[{number}] {source}" for source, number in sources.items())


def part_record(part: "Part") -> dict[str, Any]:
    return {"title": part.title, "lines": [line_record(part, line) for line in part.lines.values()]}


def line_record(part: "Part", line: "Line") -> dict[str, Any]:
    columns = [
        {**asdict(column), **asdict(line.cells[column]), "over_as_reader": part.ahead(line, column)}
        for column in part.columns
        if column in line.cells
    ]
    return {"name": line.name, "source": line.source, "columns": columns}
