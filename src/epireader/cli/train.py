"""`epireader train`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from epireader.cli.show import Advance, percent, print_json, progress_bar, say

if TYPE_CHECKING:
    from epireader.evaluation.accuracy import Evaluation
    from epireader.training.config import Config
    from epireader.training.run import Progress


@click.command()
@click.argument("corpus", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--preset", help="A preset's name (as-reader, cbt-ne, cnn, stanford, ...) or a TOML file.")
@click.option(
    "--from",
    "start",
    metavar="MODEL",
    help="In place of a preset: a trained reader to begin with, a run or a bundled model (default), with its settings.",
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="The run's folder; it goes on where it stopped."
)
@click.option(
    "--set", "overrides", multiple=True, metavar="SECTION.NAME=VALUE", help="Change a setting; may be repeated."
)
@click.option(
    "--embeddings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Word vectors to begin with, as text in GloVe's format; .gz and .xz too. With --seeds N it may be given N times:"
    " a file for each reader.",
)
@click.option(
    "--books",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="BOOKS",
    help="Prepared books to make the training questions from; CORPUS is then for validation.",
)
@click.option("--seed", type=int, help="Short for --set training.seed=N.")
@click.option(
    "--seeds", type=click.IntRange(min=1), metavar="N", help="Train N readers at once, in OUT/seed-0 and so on."
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one line of JSON.")
def train(
    corpus: Path,
    preset: str | None,
    start: str | None,
    out: Path,
    overrides: tuple[str, ...],
    embeddings: tuple[Path, ...],
    books: Path | None,
    seed: int | None,
    seeds: int | None,
    device: str,
    as_json: bool,
) -> None:
    """Train a reader on the prepared CORPUS.

    A run that was stopped, by Ctrl-C, a crash or kill -9, goes on when the same command is given again. To train in
    several processes, start it with torchrun.

    \b
    Examples:
      epireader train corpora/cbt-cn --preset cbt-cn --out runs/cn
      epireader train corpora/cbt-cn --preset as-reader --set model.hidden_dim=64 --out runs/small
      epireader train corpora/cnn --preset stanford --embeddings glove.6B.100d.txt.xz --out runs/stanford
      epireader train corpora/cbt-cn --preset cbt-cn --seeds 7 --out runs/seven
      epireader train corpora/cbt-cn --preset cbt-cn --seeds 2 --embeddings a.txt --embeddings b.txt --out runs/two
      epireader train corpora/cbt-cn --preset cbt-cn --books corpora/books --set books.names=0 --out runs/more
      epireader train corpora/mine --from default --set training.learning_rate=0.0003 --out runs/mine
      torchrun --nproc-per-node 2 -m epireader train corpora/cnn --preset cnn --out runs/cnn
    """
    from epireader.data.corpus import open_corpus
    from epireader.data.shelf import open_shelf
    from epireader.readers.saved import find_model
    from epireader.training.loop import train as train_reader
    from epireader.training.processes import join_processes
    from epireader.training.together import train_together

    refuse_contradictions(preset=preset, start=start, embeddings=embeddings, seed=seed, seeds=seeds)
    begins = None if start is None else find_model(start)
    overrides = overrides if seed is None else (*overrides, f"training.seed={seed}")
    settings = {n: (*overrides, f"training.seed={n}") for n in range(seeds)} if seeds else {None: overrides}
    configs = {n: config_for(preset, begins, given, with_books=bool(books)) for n, given in settings.items()}
    with join_processes(device) as processes:
        with on_screen(out, quiet=not processes.is_first, idle=f"nothing was left to do in {out}") as screen:
            opened, shelf = open_corpus(corpus), open_shelf(books) if books else None
            if seeds:
                runs = {out / f"seed-{n}": config for n, config in configs.items()}
                each = embeddings * seeds if len(embeddings) == 1 else embeddings
                where = (out / "resume.safetensors", processes, screen)
                trained = train_together(opened, runs, *where, embeddings=each, start=begins, shelf=shelf)
            else:
                own = embeddings[0] if embeddings else None
                where = (out, processes, screen)
                trained = {out: train_reader(opened, configs[None], *where, embeddings=own, start=begins, shelf=shelf)}
        if processes.is_first:
            show(trained, as_json=as_json, several=bool(seeds))


def refuse_contradictions(
    *, preset: str | None, start: str | None, embeddings: Sequence[Path], seed: int | None, seeds: int | None
) -> None:
    if seed is not None and seeds is not None:
        raise click.UsageError("give either --seed or --seeds, not both")
    if len(embeddings) > 1 and len(embeddings) != (seeds or 1):
        readers = f"{seeds} readers" if seeds and seeds > 1 else "one reader"
        raise click.UsageError(
            f"{len(embeddings)} files of word vectors are given for {readers}; give one, or one for each"
        )
    if (preset is None) == (start is None):
        raise click.UsageError("give either --preset or --from, which says what to begin with")
    if start is not None and embeddings:
        raise click.UsageError("give either --embeddings or --from: a trained reader has its word vectors")


def config_for(preset: str | None, start: Path | None, overrides: tuple[str, ...], *, with_books: bool) -> "Config":
    """The settings of a preset, or those that the reader to begin with was trained with."""
    from epireader.training.config import config_of_trained, load_config

    if start is not None:
        return config_of_trained(start, overrides, with_books=with_books)
    assert preset is not None
    return load_config(preset, overrides)


def show(trained: Mapping[Path, "Progress"], *, as_json: bool, several: bool) -> None:
    if as_json:
        results = [as_result(run, progress) for run, progress in trained.items()]
        print_json({"runs": results} if several else results[0])
        return
    for run, progress in trained.items():
        accuracy = percent(progress.best_accuracy)
        click.echo(f"{run}: validation accuracy {accuracy} after epoch {progress.best_epoch + 1}")


def as_result(run: Path, progress: "Progress") -> dict[str, str | float]:
    return {
        "run": str(run),
        "best_epoch": progress.best_epoch + 1,
        "valid_accuracy": progress.best_accuracy,
        "epochs": progress.epoch,
        "finished": progress.finished,
        "steps": progress.total_steps,
        "seconds": round(progress.seconds, 1),
    }


@contextmanager
def on_screen(out: Path, *, quiet: bool = False, idle: str = "") -> Iterator["Screen"]:
    """Shows a run; says `idle` if no epoch was left to take, and where it was saved if somebody stops it."""
    from epireader.training.loop import Interrupted

    with Screen(quiet=quiet) as screen:
        try:
            yield screen
        except Interrupted:
            screen.say(f"stopped and saved in {out}; give the same command to go on")
            raise click.Abort from None
        if idle and screen.idle:
            screen.say(idle)


class Screen:
    """Shows a run: a bar an epoch on a terminal, a line an epoch everywhere."""

    def __init__(self, *, quiet: bool) -> None:
        from contextlib import ExitStack

        self._quiet = quiet
        self._bar = ExitStack()
        self._advance: Advance = lambda _: None
        self.idle = True
        """Whether no epoch was begun: the run was finished before, or its time was over."""

    def __enter__(self) -> "Screen":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def say(self, text: str) -> None:
        self._bar.close()
        if not self._quiet:
            say(text)

    def epoch(self, number: int, steps: int, done: int) -> None:
        self.idle = False
        if done:
            self.say(f"going on in epoch {number + 1} after step {done} of {steps}")
        if not self._quiet:
            self._advance = self._bar.enter_context(progress_bar(f"Epoch {number + 1}", steps, unit="steps"))
            self._advance(done)

    def step(self) -> None:
        self._advance(1)

    def validated(self, progress: "Progress", evaluation: "Evaluation") -> None:
        best = "  (best so far)" if progress.best_epoch == progress.epoch else ""
        k = max(evaluation.recall_at)
        self.say(
            f"epoch {progress.epoch + 1}: validation accuracy {percent(evaluation.final.value)},"
            f" Extractor {percent(evaluation.extractor.value)}, recall@{k} {percent(evaluation.recall_at[k].value)}{best}"
        )
