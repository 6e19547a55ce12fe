"""`epireader compare`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from epireader.cli.show import percent, print_json, progress_bar, say

if TYPE_CHECKING:
    import numpy as np


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="RUN RUN...")
@click.option(
    "--questions",
    type=click.Path(exists=True, path_type=Path),
    help="A corpus, or any question file.  [default: the corpus the first run was trained on]",
)
@click.option(
    "--split",
    type=click.Choice(["train", "valid", "test"]),
    help="Which questions, if there are several splits.  [default: valid]",
)
@click.option("--kind", type=click.Choice(["NE", "CN", "V", "P"]), help="Which of CBT's kinds, if there are several.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one line of JSON.")
def compare(
    models: tuple[str, ...], questions: Path | None, split: str | None, kind: str | None, device: str, as_json: bool
) -> None:
    """Test every pair of readers on the same questions.

    A RUN is a run, an ensemble, `default`, a floor (`most-frequent`, `last-mentioned`, `random`), a .jsonl file that
    `evaluate --predictions` wrote, or a folder of runs that `train --seeds` made: then the mean over its seeds counts.
    Single readers are compared by McNemar's exact test, means by an exact test over the signs of the questions'
    differences.

    \b
    Examples:
      epireader compare runs/epireader runs/as-reader
      epireader compare runs/a runs/b runs/c --questions cbtest_CN_test_2500ex.txt --split test
      epireader compare runs/seven-epireaders runs/seven-as-readers
    """
    from itertools import combinations

    if len(models) < 2 or len(set(models)) < len(models):
        raise click.UsageError("give at least two readers to compare, each of them once")
    files = [model for model in models if model.endswith(".jsonl")]
    if files and len(files) < len(models):
        raise click.UsageError("compare either prediction files or models, not both")
    if files and (questions or split or kind):
        raise click.UsageError("prediction files hold their answers already; leave out --questions, --split and --kind")
    right = read_right(models) if files else ask(models, questions, split, kind, device)
    pairs: list[dict[str, Any]] = [
        {"first": a, "second": b, **compared(right[a], right[b])} for a, b in combinations(right, 2)
    ]
    spreads = {n: float(flags.mean(axis=1).std(ddof=1)) if len(flags) > 1 else None for n, flags in right.items()}
    if as_json:
        print_json(
            {
                "questions": next(iter(right.values())).shape[1],
                "accuracy": {name: float(flags.mean()) for name, flags in right.items()},
                "spread": spreads,
                "seeds": {name: len(flags) for name, flags in right.items()},
                "pairs": pairs,
            }
        )
        return
    for name, flags in right.items():
        spread = spreads[name]
        beside = "" if spread is None else f" (±{percent(spread)}, {len(flags)} seeds)"
        click.echo(f"{percent(flags.mean()):>7}  {name}{beside}")
    for pair in pairs:
        alone = f" {pair['only_first']} right alone against {pair['only_second']}," if "only_first" in pair else ""
        points = f"{100 * pair['difference']:+.2f} points"
        click.echo(f"{pair['first']} against {pair['second']}: {points},{alone} p = {pair['p_value']:.2g}")


def compared(first: "np.ndarray", second: "np.ndarray") -> dict[str, float]:
    """What is said of two readers, given which questions each of their seeds got right."""
    from epireader.evaluation.compare import compare, compare_means

    if len(first) > 1 or len(second) > 1:
        means = compare_means(first, second)
        return {"difference": means.difference, "p_value": means.p_value}
    found = compare(first[0], second[0])
    return {
        "difference": found.difference,
        "only_first": found.only_first,
        "only_second": found.only_second,
        "p_value": found.p_value,
    }


def ask(
    models: tuple[str, ...], questions: Path | None, split: str | None, kind: str | None, device: str
) -> dict[str, "np.ndarray"]:
    """Which questions each model gets right, a row for each of its seeds."""
    import numpy as np

    from epireader.data.loading import usual_split
    from epireader.data.prepare import open_questions
    from epireader.evaluation.accuracy import right_answers
    from epireader.evaluation.predict import predict
    from epireader.readers.ensemble import load_members
    from epireader.readers.floors import is_floor
    from epireader.training.processes import choose_device

    chosen = choose_device(device)
    # All are loaded before any is asked: what is no reader is refused at once.
    readers = {name: {run: load_members(run) for run in runs_of(name)} for name in models}
    trained = next((next(iter(runs)) for name, runs in readers.items() if not is_floor(name)), models[0])
    source = questions or corpus_of(trained, split or "valid")
    asked = open_questions(source, split=split or usual_split(source), kind=kind)
    right = {}
    for name, runs in readers.items():
        flags = []
        for run, members in runs.items():
            with progress_bar(run, len(asked) * len(members)) as advance:
                said = predict(members, asked, device=chosen, on_questions=advance)
            flags.append(right_answers(said, said.final))
        right[name] = np.stack(flags)
    return right


def runs_of(name: str) -> list[str]:
    """The runs of all seeds in a folder that `train --seeds` made; otherwise what is named itself."""
    from epireader.readers.saved import seeds_in

    return list(map(str, seeds_in(Path(name)))) or [name]


def corpus_of(run: str, split: str) -> Path:
    """The corpus a run was trained on."""
    from epireader.readers.floors import is_floor
    from epireader.readers.saved import find_model, recorded_corpus

    if is_floor(run):
        raise click.UsageError(f"{run} was trained on nothing; name the questions with --questions")
    corpus = recorded_corpus(find_model(run))
    if corpus is None:
        raise click.UsageError(f"the corpus {run} was trained on is not here; name the questions with --questions")
    say(f"asking the {split} questions of {corpus}")
    return corpus


def read_right(files: tuple[str, ...]) -> dict[str, "np.ndarray"]:
    """Which questions each file of predictions says are right, in one row; all must be about the same questions."""
    import numpy as np

    said = {file: read_predictions(Path(file)) for file in files}
    first = files[0]
    for other in files[1:]:
        if said[other].keys() != said[first].keys():
            raise ValueError(f"{first} and {other} are about different questions; ask both readers the same ones")
    return {file: np.array([[known[one] for one in said[first]]], dtype=bool) for file, known in said.items()}


def read_predictions(path: Path) -> dict[tuple[int, str | None], bool]:
    """Of every question with a known answer its number, that answer, and whether it was given."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {(line["question"], line["answer"]): line["correct"] for line in lines if line["correct"] is not None}
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        raise click.UsageError(f"{path} was not written by evaluate --predictions") from None
