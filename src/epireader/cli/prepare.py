"""`epireader prepare`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from epireader.cli.show import print_json, progress_bar, say

if TYPE_CHECKING:
    from epireader.data.statistics import Statistics


@click.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="SOURCE...")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice(["NE", "CN", "V", "P"]), help="Which of CBT's kinds of question to take.")
@click.option(
    "--split",
    type=click.Choice(["train", "valid", "test"]),
    help="Put every question into this split, whatever its file is called.",
)
@click.option(
    "--sentence-limit", type=click.IntRange(min=1), help="Cut sentences of more words than this.  [default: 100]"
)
@click.option("--skip-bad", is_flag=True, help="Pass over questions that cannot be read, and list them.")
@click.option("--json", "as_json", is_flag=True, help="Print the statistics as one line of JSON.")
def prepare(
    sources: tuple[Path, ...],
    out: Path,
    kind: str | None,
    split: str | None,
    sentence_limit: int | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Compile question files into the corpus folder OUT, which must not exist.

    A SOURCE is a file, a folder or an archive of CBT, CNN / Daily Mail or JSONL questions, plain or packed.

    \b
    Examples:
      epireader prepare CBTest/data corpora/cbt-cn --kind CN
      epireader prepare cnn.tgz corpora/cnn
      epireader prepare mine.train.jsonl mine.valid.jsonl corpora/mine
    """
    from dataclasses import asdict

    from epireader.data.loading import source_bytes
    from epireader.data.prepare import PrepareOptions, SkippedQuestions
    from epireader.data.prepare import prepare as compile_corpus

    options = PrepareOptions(kind=kind, split=split, **({"sentence_limit": sentence_limit} if sentence_limit else {}))
    skipped = SkippedQuestions() if skip_bad else None
    total = sum(source_bytes(source, kind) for source in sources)
    with progress_bar("Reading", total, unit="bytes") as advance:
        corpus = compile_corpus(sources, out, options, skipped=skipped, on_bytes=advance)
    if skipped:
        for bad in skipped.listed:
            say(f"skipped {bad}")
        say(f"skipped {skipped.count} questions in all")
    statistics = {name: corpus.record.statistics[name] for name in corpus.splits}
    size = sum(file.stat().st_size for file in out.iterdir())
    if as_json:
        print_json({"corpus": str(out), "bytes": size, "splits": {name: asdict(s) for name, s in statistics.items()}})
        return
    click.echo(statistics_table(statistics))
    say(f"{out}: {size / 1e6:.1f} MB")


def statistics_table(statistics: dict[str, "Statistics"]) -> str:
    """The figures of every split side by side."""

    def spread(name: str) -> list[str]:
        ranges = [getattr(s, name) for s in statistics.values()]
        return [f"{r.min} / {r.mean:.1f} / {r.max}" for r in ranges]

    def count(name: str) -> list[str]:
        return [f"{getattr(s, name):,}" for s in statistics.values()]

    rows = {
        "": list(statistics),
        "questions": count("questions"),
        "  of them distinct": count("distinct_questions"),
        "words in passages (min / mean / max)": spread("passage_words"),
        "words in questions (min / mean / max)": spread("question_words"),
        "vocabulary": count("vocabulary"),
        "distinct candidates": count("distinct_candidates"),
        "questions with a candidate missing": count("candidates_missing"),
        "questions with the answer missing": count("answers_missing"),
        "  or not among the candidates": count("answers_outside_candidates"),
        "  or not given": count("answers_unknown"),
    }
    return "\n".join(f"{name:<38}" + "".join(f"{cell:>22}" for cell in cells) for name, cells in rows.items())
