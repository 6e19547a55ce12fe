"""What commands print: results to stdout, everything else to stderr; and where they may put files."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

Advance = Callable[[int], None]


def say(text: str) -> None:
    """Something a person may want to know, that is not the result."""
    click.echo(text, err=True)


def print_json(value: Mapping[str, Any]) -> None:
    """The result as one line of JSON."""
    click.echo(json.dumps(value, ensure_ascii=False))


def refuse_without_folder(target: Path) -> None:
    """Before any work is done: a file can only be put into a folder that is there."""
    if not target.parent.is_dir():
        raise click.UsageError(f"there is no folder {target.parent} to put {target.name} into")


@contextmanager
def progress_bar(what: str, total: int | None, *, unit: str = "questions") -> Iterator[Advance]:
    """A bar with rate and time left on stderr; nothing at all where that is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed or 0
            return Text(f"{speed / 1e6:.1f} MB/s" if unit == "bytes" else f"{speed:,.0f} {unit}/s")

    count = DownloadColumn() if unit == "bytes" else TextColumn("{task.completed:,.0f} of {task.total:,.0f}")
    columns = (TextColumn("{task.description}"), BarColumn(), count, Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda amount: progress.advance(task, amount)


def percent(value: float) -> str:
    return f"{100 * value:.2f}"


def read_text(file: Path) -> str:
    """The text of a file, or of standard input for `-`."""
    data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    try:
        text, wrong = data.decode("utf-8-sig"), data.find(b"\0")  # in UTF-16, and in files that are no text
    except UnicodeDecodeError as error:
        text, wrong = "", error.start
    if wrong >= 0:
        line = data[:wrong].count(b"\n") + 1
        raise ValueError(f"{file}:{line}: this is not UTF-8 text; save it as plain text in UTF-8 and try again")
    return text
