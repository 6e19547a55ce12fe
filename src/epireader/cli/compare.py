"""`epireader compare`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

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
@click.option("--split", type=click.Choice(["train", "valid", "test"]), help="Which questions.  [default: valid]")
@click.option("--kind", type=click.Choice(["NE", "CN", "V", "P"]), help="Which of CBT's kinds, if there are several.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one line of JSON.")
def compare(
    models: tuple[str, ...], questions: Path | None, split: str | None, kind: str | None, device: str, as_json: bool
) -> None:
    """Test every pair of readers on the same questions (McNemar's exact test).

    A RUN is a run, an ensemble, `default`, a floor (`most-frequent`, `last-mentioned`, `random`), or a .jsonl file that
    `evaluate --predictions` wrote.

    \b
    Examples:
      epireader compare runs/epireader runs/as-reader
      epireader compare runs/a runs/b runs/c --questions cbtest_CN_test_2500ex.txt --split test
    """
    from itertools import combinations

    from epireader.evaluation.compare import compare as compare_two

    if len(models) < 2 or len(set(models)) < len(models):
        raise click.UsageError("give at least two readers to compare, each of them once")
    files = [model for model in models if model.endswith(".jsonl")]
    if files and len(files) < len(models):
        raise click.UsageError("compare either prediction files or models, not both")
    right = (
        {m: read_right(Path(m)) for m in models} if files else ask(models, questions, split or "valid", kind, device)
    )
    pairs = [(a, b, compare_two(right[a], right[b])) for a, b in combinations(right, 2)]
    if as_json:
        accuracy = {name: float(flags.mean()) for name, flags in right.items()}
        listed = [
            {
                "first": a,
                "second": b,
                "difference": c.difference,
                "only_first": c.only_first,
                "only_second": c.only_second,
                "p_value": c.p_value,
            }
            for a, b, c in pairs
        ]
        print_json({"questions": len(next(iter(right.values()))), "accuracy": accuracy, "pairs": listed})
        return
    for name, flags in right.items():
        click.echo(f"{percent(flags.mean()):>7}  {name}")
    for a, b, c in pairs:
        click.echo(
            f"{a} against {b}: {100 * c.difference:+.2f} points,"
            f" {c.only_first} right alone against {c.only_second}, p = {c.p_value:.2g}"
        )


def ask(
    models: tuple[str, ...], questions: Path | None, split: str, kind: str | None, device: str
) -> dict[str, "np.ndarray"]:
    """Which questions each model gets right."""
    from epireader.data.prepare import open_questions
    from epireader.evaluation.accuracy import right_answers
    from epireader.evaluation.predict import predict
    from epireader.readers.ensemble import load_members
    from epireader.readers.floors import is_floor
    from epireader.training.processes import choose_device

    chosen = choose_device(device)
    trained = next((model for model in models if not is_floor(model)), models[0])
    asked = open_questions(questions or corpus_of(trained, split), split=split, kind=kind)
    right = {}
    for name in models:
        members = load_members(name)
        with progress_bar(name, len(asked) * len(members)) as advance:
            said = predict(members, asked, device=chosen, on_questions=advance)
        right[name] = right_answers(said, said.final)
    return right


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


def read_right(path: Path) -> "np.ndarray":
    """Which questions a file of predictions says are right."""
    import numpy as np

    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return np.array([line["correct"] for line in lines if line["correct"] is not None], dtype=bool)
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        raise click.UsageError(f"{path} was not written by evaluate --predictions") from None
