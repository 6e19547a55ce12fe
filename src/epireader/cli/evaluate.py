"""`epireader evaluate`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from epireader.cli.show import percent, print_json, progress_bar, refuse_without_folder, say

if TYPE_CHECKING:
    from epireader.data.questions import Questions
    from epireader.evaluation.accuracy import Evaluation, Share
    from epireader.evaluation.predict import Predictions


@click.command()
@click.argument("model")
@click.argument("questions", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--split",
    type=click.Choice(["train", "valid", "test"]),
    help="Which questions, if there are several splits.  [default: test]",
)
@click.option("--kind", type=click.Choice(["NE", "CN", "V", "P"]), help="Which of CBT's kinds, if there are several.")
@click.option("--skip-bad", is_flag=True, help="Pass over questions that cannot be read, and list them.")
@click.option(
    "--batch-size", default=128, show_default=True, type=click.IntRange(min=1), help="Questions read at once."
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option(
    "--predictions", type=click.Path(dir_okay=False, path_type=Path), help="Write one JSON line a question here."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one line of JSON.")
def evaluate(
    model: str,
    questions: Path,
    split: str | None,
    kind: str | None,
    skip_bad: bool,
    batch_size: int,
    device: str,
    predictions: Path | None,
    as_json: bool,
) -> None:
    """Measure MODEL (a run, an ensemble, or `default`) on QUESTIONS.

    MODEL may also be a floor, which has learnt nothing: `most-frequent`, `last-mentioned` or `random`.

    QUESTIONS are a prepared corpus, or any file, folder or archive that `prepare` reads.

    \b
    Examples:
      epireader evaluate default cbtest_CN_valid_2000ex.txt
      epireader evaluate runs/cn corpora/cbt-cn --split valid --json
    """
    from epireader.data.prepare import SkippedQuestions, open_questions
    from epireader.evaluation.accuracy import evaluate as measure
    from epireader.evaluation.predict import predict
    from epireader.readers.ensemble import load_members
    from epireader.training.processes import choose_device

    if predictions:
        refuse_without_folder(predictions)
        if predictions.resolve() == questions.resolve():
            raise click.UsageError(f"{predictions} holds the questions; choose another name for --predictions")
    chosen, members = choose_device(device), load_members(model)
    skipped = SkippedQuestions() if skip_bad else None
    asked = open_questions(questions, split=split, kind=kind, skipped=skipped)
    if skipped:
        for bad in skipped.listed:
            say(f"skipped {bad}")
        say(f"skipped {skipped.count} questions in all")
    with progress_bar("Reading", len(asked) * len(members)) as advance:
        said = predict(members, asked, batch_size=batch_size, device=chosen, on_questions=advance)
    evaluation = measure(said, most=members[0].hypotheses)
    if predictions:
        write_predictions(predictions, asked, said)
    if as_json:
        print_json({"model": model, **evaluation.as_json()})
    else:
        click.echo(evaluation_table(evaluation, reranks=said.evidence is not None))


def evaluation_table(evaluation: "Evaluation", *, reranks: bool) -> str:
    """The figures for a person; of a reader without a Reasoner nothing is told of one."""

    def line(name: str, share: "Share") -> str:
        low, high = share.interval
        return f"{name:<26}{percent(share.value):>7}   {percent(low)} to {percent(high)}"

    left_out = f" ({evaluation.unknown:,} without an answer left out)" if evaluation.unknown else ""
    before, after = (", Extractor", ", final") if reranks else ("", "")
    changed = f"the Reasoner corrected {evaluation.corrected:,} answers and spoiled {evaluation.spoiled:,}"
    lines = [
        f"{'':<26}{'%':>7}   95% interval",
        *([line("accuracy, Extractor", evaluation.extractor)] if reranks else []),
        line(f"accuracy{after}", evaluation.final),
        *(line(f"recall@{k}{before}", share) for k, share in evaluation.recall_at.items()),
        *([changed] if reranks else []),
        f"{evaluation.questions:,} questions{left_out}",
    ]
    return "\n".join(lines)


def write_predictions(path: Path, questions: "Questions", predictions: "Predictions") -> None:
    """One JSON line a question, in their order."""
    from epireader.evaluation.listing import prediction_lines
    from epireader.files import written_beside

    with written_beside(path) as beside, beside.open("w", encoding="utf-8") as file:
        for line in prediction_lines(questions, predictions):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
