"""`epireader answer`."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from epireader.cli.show import print_json, read_text

if TYPE_CHECKING:
    from epireader.answer import Answer

DEMONSTRATION = (
    "flood-at-elder-bank",
    '"You may not touch one of us before the grass is dry," said XXXXX to the owl, and she trembled for her babies.',
)

IDLE_BESIDE = {"batch": ("story", "question", "candidates", "explain", "demo"), "demo": ("story", "question")}
"""Options that have no part in what another one does."""


@click.command()
@click.option("--story", help="A text file, - for standard input, or the name of a bundled story.")
@click.option("--question", help="A sentence with XXXXX (or ____, [MASK], @placeholder) for the missing word.")
@click.option("--candidates", help="Words to choose from, with commas between.  [default: every word of the story]")
@click.option("--top", type=click.IntRange(min=1), help="How many answers to show.  [default: as many as are tested]")
@click.option("--explain", is_flag=True, help="Show where the reader looked, and its evidence sentence by sentence.")
@click.option("--batch", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Answer a JSONL file.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="With --batch: where the answers go.")
@click.option("--model", default="default", show_default=True, help="A run, an ensemble, or a bundled model.")
@click.option("--demo", is_flag=True, help="Ask a question about a bundled story.")
@click.option("--stories", is_flag=True, help="List the bundled stories.")
@click.option("--json", "as_json", is_flag=True, help="Print the answers as one line of JSON.")
def answer(
    story: str | None,
    question: str | None,
    candidates: str | None,
    top: int | None,
    explain: bool,
    batch: Path | None,
    out: Path | None,
    model: str,
    demo: bool,
    stories: bool,
    as_json: bool,
) -> None:
    """Find the word that is missing from a question about a story.

    Without --question it is asked for. With --batch every line of a JSONL file is answered; started again, it goes on
    where it stopped.

    \b
    Examples:
      epireader answer --story story.txt --question "'Come in,' said XXXXX."
      epireader answer --story snow-letter --question "The letter was for XXXXX." --candidates Ilvo,Corin,Hesper
      epireader answer --batch questions.jsonl --out answers.jsonl
      epireader answer --demo --explain
    """
    refuse_idle_options(click.get_current_context().params)
    if stories:
        list_stories()
        return
    if batch is not None:
        answer_batch(batch, out, model=model, top=top, as_json=as_json)
        return
    if demo:
        story, question = DEMONSTRATION
    title, text = find_story(story)
    question = question if question is not None else ask_for_question()
    given = [word.strip() for word in candidates.split(",")] if candidates is not None else None

    from epireader.answer import Reader

    read = Reader.load(model).read(text)
    answers = read.ask(question, given, top=top)
    if as_json:
        from epireader.cli.batch import answer_record

        print_json({"question": question, "answers": [answer_record(found) for found in answers]})
        return
    if demo:
        click.echo(f"{title}: {question}\n")
    if explain:
        from epireader.cli.explain import explain_answers

        explain_answers(read, question, answers)
        return
    click.echo(answer_table(answers))


def refuse_idle_options(given: Mapping[str, Any]) -> None:
    """An option that would do nothing is refused, not passed over: its answers are not those that are asked for."""
    for option, idle in IDLE_BESIDE.items():
        for name in idle:
            if given[option] and given[name]:
                raise click.UsageError(f"--{name} does nothing beside --{option}; leave one of them out")
    if given["out"] and not given["batch"]:
        raise click.UsageError("--out goes with --batch; without it the answers are printed")


def list_stories() -> None:
    from epireader.stories import bundled_stories

    for name, bundled in bundled_stories().items():
        click.echo(f"{name:<28}{bundled.title}")


def find_story(story: str | None) -> tuple[str, str]:
    """The title and text of a bundled story or of a file."""
    from epireader.stories import bundled_stories

    if story is None:
        raise click.UsageError("name a story with --story, or try --demo")
    if story in bundled_stories():
        return bundled_stories()[story].title, bundled_stories()[story].text
    path = Path(story)
    if story != "-" and not path.is_file():
        raise click.UsageError(f"there is no file {story!r}, and no bundled story of that name (see --stories)")

    from epireader.data.books import without_licence

    return path.name, without_licence(read_text(path))


def ask_for_question() -> str:
    if not sys.stdin.isatty():
        raise click.UsageError("ask something with --question")
    return str(click.prompt("Question", err=True))


def answer_batch(source: Path, out: Path | None, *, model: str, top: int | None, as_json: bool) -> None:
    from epireader.cli.batch import run_batch

    if out is None:
        raise click.UsageError("say where the answers go with --out")
    run_batch(source, out, model=model, top=top, as_json=as_json)


def answer_table(answers: list["Answer"]) -> str:
    """Answers with the Extractor's p, the Reasoner's e and the final pi."""
    width = max(len(answer.text) for answer in answers) + 2
    lines = [f"   {'':<{width}}{'p':>8}{'e':>8}{'pi':>8}"]
    for rank, found in enumerate(answers, start=1):
        e = "-" if found.e is None else f"{found.e:.4f}"
        lines.append(f"{rank:>2} {found.text:<{width}}{found.p:>8.4f}{e:>8}{found.pi:>8.4f}")
    return "\n".join(lines)
