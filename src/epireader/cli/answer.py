"""`epireader answer`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from epireader.cli.show import print_json, read_text, say

if TYPE_CHECKING:
    from epireader.answer import Answer

DEMONSTRATION = ("snow-letter", "The blue letter had come from XXXXX, who was far away at sea.")


@click.command()
@click.option("--story", help="A text file, - for standard input, or the name of a bundled story.")
@click.option("--question", help="A sentence with XXXXX (or ____, [MASK], @placeholder) for the missing word.")
@click.option(
    "--candidates", help="Words to choose from, with commas between them.  [default: every word of the story]"
)
@click.option("--top", type=click.IntRange(min=1), help="How many answers to show.  [default: as many as are tested]")
@click.option("--model", default="default", show_default=True, help="A run, an ensemble, or a bundled model.")
@click.option("--demo", is_flag=True, help="Ask a question about a bundled story.")
@click.option("--stories", is_flag=True, help="List the bundled stories.")
@click.option("--json", "as_json", is_flag=True, help="Print the answers as one line of JSON.")
def answer(
    story: str | None,
    question: str | None,
    candidates: str | None,
    top: int | None,
    model: str,
    demo: bool,
    stories: bool,
    as_json: bool,
) -> None:
    """Find the word that is missing from a question about a story.

    Without --question it is asked for.

    \b
    Examples:
      epireader answer --story story.txt --question "'Come in,' said XXXXX."
      epireader answer --story snow-letter --question "The letter was for XXXXX." --candidates Ilvo,Corin,Hesper
      epireader answer --demo
    """
    from epireader.stories import bundled_stories

    if stories:
        for name, bundled in bundled_stories().items():
            click.echo(f"{name:<28}{bundled.title}")
        return
    if demo:
        story, question = DEMONSTRATION
    if story is None:
        raise click.UsageError("name a story with --story, or try --demo")
    text = bundled_stories()[story].text if story in bundled_stories() else read_text(_existing(story))
    if question is None:
        question = click.prompt("Question", err=True) if sys.stdin.isatty() else None
    if question is None:
        raise click.UsageError("ask something with --question")
    given = [word.strip() for word in candidates.split(",")] if candidates is not None else None

    from epireader.answer import Reader

    answers = Reader.load(model).answer(text, question, given, top=top)
    if as_json:
        print_json({"question": question, "answers": [as_record(found) for found in answers]})
        return
    if demo:
        say(f"{bundled_stories()[story].title}\n{question}\n")
    click.echo(answer_table(answers))


def _existing(story: str) -> Path:
    path = Path(story)
    if story != "-" and not path.is_file():
        raise click.UsageError(f"there is no file {story!r}, and no bundled story of that name (see --stories)")
    return path


def as_record(answer: "Answer") -> dict[str, object]:
    from dataclasses import asdict

    return asdict(answer)


def answer_table(answers: list["Answer"]) -> str:
    """Answers with the Extractor's p, the Reasoner's e and the final pi."""
    width = max(len(answer.text) for answer in answers) + 2
    lines = [f"   {'':<{width}}{'p':>8}{'e':>8}{'pi':>8}"]
    for rank, found in enumerate(answers, start=1):
        e = "-" if found.e is None else f"{found.e:.4f}"
        lines.append(f"{rank:>2} {found.text:<{width}}{found.p:>8.4f}{e:>8}{found.pi:>8.4f}")
    return "\n".join(lines)
