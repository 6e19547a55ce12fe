"""`epireader report`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from epireader.cli.show import progress_bar, refuse_without_folder, say

if TYPE_CHECKING:
    from epireader.evaluation.curves import Curve
    from epireader.evaluation.report import Report


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN... [QUESTIONS]")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Where the page goes.")
@click.option(
    "--png", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER", help="Also put every picture here."
)
@click.option(
    "--split",
    type=click.Choice(["valid", "test"]),
    help="Which questions, if there are several splits.  [default: valid]",
)
@click.option("--kind", type=click.Choice(["NE", "CN", "V", "P"]), help="Which of CBT's kinds, if there are several.")
@click.option(
    "--examples",
    default=3,
    show_default=True,
    type=click.IntRange(min=0),
    help="How many corrected questions, and how many spoiled ones, are shown of each run.",
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
def report(
    runs: tuple[str, ...], out: Path, png: Path | None, split: str | None, kind: str | None, examples: int, device: str
) -> None:
    """Write a page about how runs learnt, what they get right, and what their Reasoner changes.

    A RUN is a run, an ensemble, `default`, or a floor (`most-frequent`, `last-mentioned`, `random`). QUESTIONS are a
    prepared corpus, or any file, folder or archive that `prepare` reads; without them the validation questions of the
    corpus the runs were trained on are asked.

    \b
    Examples:
      epireader report runs/epireader runs/as-reader --out report.html
      epireader report default cbtest_CN_valid_2000ex.txt --out report.html --png pictures
    """
    from epireader.data.loading import usual_split
    from epireader.evaluation.plots import find_matplotlib, plots_of, write_pngs
    from epireader.evaluation.report_page import report_html
    from epireader.files import written_beside

    find_matplotlib()  # now, rather than when everything has been read
    refuse_without_folder(out)
    models, questions = parted(runs)
    source = questions or corpus_of_all(models)
    made = ask(models, source, split or usual_split(source), kind, examples, device)
    plots = list(plots_of(made))
    with written_beside(out) as beside:
        beside.write_text(report_html(made, plots), encoding="utf-8")
    say(f"written to {out}")
    if png:
        write_pngs(plots, made, png)
        say(f"{len(plots)} pictures in {png}")


def parted(words: tuple[str, ...]) -> tuple[list[str], Path | None]:
    """The runs, and the questions if the last word names some: something that is there and holds no reader."""
    from epireader.readers.floors import is_floor
    from epireader.readers.saved import seeds_in

    *before, last = words
    path = Path(last)
    readers = any((path / name).is_file() for name in ("config.json", "ensemble.json")) or seeds_in(path)
    if not before or not path.exists() or readers or is_floor(last):
        models, questions = list(words), None
    else:
        models, questions = before, path
    if len(set(models)) < len(models):
        raise click.UsageError("give every run once")
    return models, questions


def corpus_of_all(models: list[str]) -> Path:
    """The one corpus that all runs which know theirs were trained on."""
    from epireader.readers.floors import is_floor
    from epireader.readers.saved import find_model, recorded_corpus

    found = {model: recorded_corpus(find_model(model)) for model in models if not is_floor(model)}
    corpora = {corpus.resolve(): corpus for corpus in found.values() if corpus}
    if not corpora:
        raise click.UsageError(f"the corpus {models[0]} was trained on is not here; name QUESTIONS after the runs")
    if len(corpora) > 1:
        listed = " and ".join(str(corpus) for corpus in corpora.values())
        raise click.UsageError(f"the runs were trained on different corpora ({listed}); name QUESTIONS after the runs")
    return next(iter(corpora.values()))


def ask(models: list[str], source: Path, split: str | None, kind: str | None, examples: int, device: str) -> "Report":
    """Ask every reader the same questions."""
    from epireader.data.prepare import open_questions
    from epireader.evaluation.report import build_report, report_run, short_names
    from epireader.readers.ensemble import load_members
    from epireader.training.processes import choose_device

    chosen = choose_device(device)
    readers = {name: load_members(name) for name in models}
    asked = open_questions(source, split=split, kind=kind)
    told = []
    for shown, (name, members) in zip(short_names(models), readers.items(), strict=True):
        with progress_bar(shown, len(asked) * len(members)) as advance:
            curve = curve_of(name)
            told.append(
                report_run(shown, members, asked, curve=curve, examples=examples, device=chosen, on_questions=advance)
            )
    return build_report(title_of(source, split), asked, told)


def curve_of(model: str) -> "Curve | None":
    """How a run learnt; None for a reader that is no run, or has not finished an epoch."""
    from json import JSONDecodeError

    from epireader.evaluation.curves import BadMetrics, learning_curve
    from epireader.readers.floors import is_floor
    from epireader.readers.saved import find_model, read_record
    from epireader.training.run import Run

    if is_floor(model):
        return None
    folder = find_model(model)
    try:
        lines = Run(folder, writes=False).read_metrics()
        return learning_curve(lines, read_record(folder)) if lines else None
    except (BadMetrics, JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{folder / 'metrics.jsonl'} is damaged ({error})") from None


def title_of(source: Path, split: str | None) -> str:
    """What the questions are called: `CBT-R NE, validation`."""
    from epireader.data.corpus import is_corpus, open_corpus

    name = open_corpus(source).set if is_corpus(source) else source.name
    return f"{name}, {'validation' if split == 'valid' else split}" if split else name
