"""`epireader reproduce`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from epireader.cli.show import percent, say
from epireader.cli.train import on_screen

if TYPE_CHECKING:
    from epireader.evaluation.results import Result
    from epireader.training.comparison import Task
    from epireader.training.processes import Processes


class RowsFailed(ValueError):
    """Some rows could not be had."""


@click.command()
@click.argument(
    "corpora",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="CORPUS...",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A folder for results.jsonl and the runs.")
@click.option(
    "--reader",
    "readers",
    multiple=True,
    metavar="NAME",
    help="A reader, a floor, a preset, or all; may be repeated.  [default: the paper's for the set, and the floors]",
)
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Train every reader with the seeds 0 to N - 1.")
@click.option("--seed", "chosen_seeds", type=int, multiple=True, help="Train with this seed; may be repeated.")
@click.option(
    "--set", "overrides", multiple=True, metavar="SECTION.NAME=VALUE", help="Change a setting of every reader."
)
@click.option(
    "--minutes", default=0.0, type=click.FloatRange(min=0), help="The longest time to train one reader, in minutes."
)
@click.option(
    "--embeddings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Word vectors to begin with, as in `train`, for the Stanford reader and for presets that are not of a reader's"
    " authors; others begin as their authors had it.",
)
@click.option(
    "--books",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Prepared books to make the training questions from, as in `train`; such rows stand apart.",
)
@click.option(
    "--together", is_flag=True, help="Train all seeds of a reader at once, which a GPU does sooner than one by one."
)
@click.option(
    "--ensemble", is_flag=True, help="Also measure all seeds of a reader as one: the mean of their probabilities."
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
def reproduce(
    corpora: tuple[Path, ...],
    out: Path,
    readers: tuple[str, ...],
    seeds: int | None,
    chosen_seeds: tuple[int, ...],
    overrides: tuple[str, ...],
    minutes: float,
    embeddings: Path | None,
    books: Path | None,
    together: bool,
    ensemble: bool,
    device: str,
) -> None:
    """Train every reader of the paper's comparison on each prepared CORPUS, and measure it.

    Every reader has its own preset. Its best epoch is chosen on the validation questions, then the test questions are
    asked once. Each result is a line of OUT/results.jsonl. Lines that are already there are not made again, and a run
    that was stopped goes on: give the same command until all is done. `epireader table OUT` shows the table.

    \b
    Examples:
      epireader reproduce corpora/cbt-ne corpora/cbt-cn corpora/cnn --seeds 3 --together --out results
      epireader reproduce corpora/cbt-ne --reader as-reader --reader epireader --seed 7 --minutes 10 --out results
      epireader reproduce corpora/cbt-cn --reader epireader --seeds 7 --together --ensemble --out results
      epireader reproduce corpora/cbt-cn --books corpora/cbt-books --reader few-books --embeddings vectors.txt.xz --out own
      epireader reproduce corpora/mine --reader all --out mine
    """
    from epireader.data.corpus import open_corpus
    from epireader.data.shelf import open_shelf
    from epireader.training.comparison import Comparison, plan
    from epireader.training.processes import Processes, choose_device

    if seeds and chosen_seeds:
        raise click.UsageError("give either --seeds or --seed, not both")
    comparison = Comparison(
        readers=readers,
        seeds=chosen_seeds or range(seeds or 1),
        overrides=overrides,
        minutes=minutes,
        embeddings=embeddings,
        shelf=open_shelf(books) if books else None,
        ensemble=ensemble,
    )
    tasks = plan([open_corpus(corpus) for corpus in corpora], comparison)
    carry_out_all(tasks, out, Processes(0, 1, choose_device(device)), together=together)


def carry_out_all(tasks: list["Task"], out: Path, processes: "Processes", *, together: bool) -> None:
    """One task after the other, or all seeds of one at once; one that fails does not keep the others from being done."""
    from epireader.evaluation.results import FILE, append_result, read_results
    from epireader.training.comparison import grouped
    from epireader.training.reproduce import carry_out, to_train_at_once, train_at_once

    results = out / FILE
    failed: list[Task] = []
    for group in grouped(tasks) if together else [[task] for task in tasks]:
        pending = [task for task in group if not (results.exists() and task.is_done(read_results(results)))]
        at_once = to_train_at_once(pending, out) if len(pending) > 1 else []
        if len(at_once) > 1:
            with failure_noted(at_once, failed), on_screen(out) as screen:
                screen.say(f"{at_once[0].title} and {len(at_once) - 1} more seeds at once")
                train_at_once(at_once, out, processes, screen)
        for task in [task for task in pending if task not in failed]:
            with failure_noted([task], failed):
                with on_screen(out) as screen:
                    screen.say(f"row {tasks.index(task) + 1} of {len(tasks)}: {task.title}")
                    result = carry_out(task, out, processes, screen)
                append_result(results, result)
                say(f"{task.title}: {figures(result)}")
    if failed:
        raise RowsFailed(f"{len(failed)} of {len(tasks)} rows failed; the same command tries them again")
    say(f"{results} has all {len(tasks)} rows; 'epireader table {out}' shows them")


@contextmanager
def failure_noted(tasks: list["Task"], failed: list["Task"]) -> Iterator[None]:
    """Says what goes wrong here and counts the tasks among those that failed, so that the others can be done."""
    try:
        yield
    except click.Abort:
        raise
    except Exception as error:
        say(f"{tasks[0].title} failed: {in_one_sentence(error)}")
        failed += tasks


def in_one_sentence(error: Exception) -> str:
    """What went wrong, also where it is nothing we expected: hours of other runs should not be lost for it."""
    from epireader.cli.main import explained

    first_line = (str(error).splitlines() or [""])[0]
    return explained(error) or f"{type(error).__name__}: {first_line}"


def figures(result: "Result") -> str:
    """`valid 72.25, test 64.92, best epoch 2 of 4, 59 s`."""
    said = f"valid {percent(result.accuracy('valid'))}, test {percent(result.accuracy('test'))}"
    if result.seed is None:
        return said
    time = f"{result.seconds:,.0f} s" + ("" if result.finished else " (the time was over before it was finished)")
    return f"{said}, best epoch {result.best_epoch} of {result.epochs}, {time}"
