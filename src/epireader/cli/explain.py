"""`epireader answer --explain`: the passage shaded by attention, the hypotheses as bars, the evidence by sentence."""

import math
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from epireader.answer import Answer, Story

BAR_WIDTH = 8
"""A hypothesis, its three bars and all that is added to its score stand on a line of 80 characters."""
SHADES = ("", "on grey15", "on grey27", "on dark_goldenrod", "bold black on gold1")
MARKS = ("", "", "", "*", "**")
"""Attention where there is no colour: after the word."""


def explain_answers(story: "Story", question: str, answers: list["Answer"]) -> None:
    """Show on standard output how the answers came about."""
    console = Console(highlight=False)
    colour = console.color_system is not None and not console.no_color
    console.print(Text(question, style="bold"))
    console.print()
    if answers[0].attention is not None:
        console.print(shaded_passage(story, answers[0].attention, colour=colour))
        console.print()
    console.print(hypothesis_table(answers))
    if any(answer.evidence for answer in answers[:2]):
        console.print()
        console.print(evidence_table(story, answers[:2]))


def shaded_passage(story: "Story", attention: tuple[float, ...], *, colour: bool) -> Text:
    """The text with the words that were looked at marked, strongest where most was looked."""
    text, end = Text(), 0
    for word, weight in zip(story.words, attention, strict=True):
        text.append(story.text[end : word.start])
        level = shade(weight)
        text.append(story.text[word.start : word.end] + ("" if colour else MARKS[level]), style=SHADES[level])
        end = word.end
    text.append(story.text[end:])
    return text


def shade(weight: float) -> int:
    """0 for next to no attention up to 4 for most of it; each step is a factor of about four."""
    return max(0, min(4, int(4 + math.log(max(weight, 1e-9) / 0.3, 4) + 1))) if weight > 0.001 else 0


def hypothesis_table(answers: list["Answer"]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("hypothesis", min_width=10)
    for heading in ("p, Extractor", "e, Reasoner", "pi, both"):
        table.add_column(heading, no_wrap=True)
    more = {
        "fits the blank": [answer.fits_blank for answer in answers],
        "read again": [answer.read_again for answer in answers],
    }
    more = {heading: values for heading, values in more.items() if any(value is not None for value in values)}
    for heading in more:
        table.add_column(heading, justify="right", min_width=5)
    for number, answer in enumerate(answers):
        bars = (bar(answer.p, "cyan"), bar(answer.e, "magenta"), bar(answer.pi, "green"))
        table.add_row(Text(answer.text), *bars, *(added(values[number]) for values in more.values()))
    return table


def added(amount: float | None) -> str:
    """What is added to a hypothesis's last score, if anything is."""
    return f"{amount:+.2f}" if amount else "-"


def bar(value: float | None, colour: str) -> Text:
    if value is None:
        return Text("not tested", style="dim")
    full = round(value * BAR_WIDTH)
    return Text.assemble(f"{value:.3f} ", ("█" * full, colour), ("░" * (BAR_WIDTH - full), "dim"))


def evidence_table(story: "Story", answers: list["Answer"]) -> Table:
    """The Reasoner's score for each hypothesis after every sentence, and by how much the sentence moved it."""
    table = Table(title="Evidence", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for answer in answers:
        table.add_column(Text(answer.text), justify="right")
        table.add_column("moved", justify="right")
    table.add_column("after the sentence", overflow="fold")
    for number, sentence in enumerate(story.sentences):
        cells: list[str | Text] = []
        for answer in answers:
            cells += evidence_cells(answer.evidence, number)
        table.add_row(*cells, Text(" ".join(story.text[sentence[0].start : sentence[-1].end].split())))
    return table


def evidence_cells(evidence: tuple[float, ...] | None, number: int) -> list[str | Text]:
    if evidence is None:
        return ["-", "-"]
    moved = evidence[number] - (evidence[number - 1] if number else 0.0)
    style = "green" if moved > 0.05 else "red" if moved < -0.05 else "dim"
    return [f"{evidence[number]:.2f}", Text(f"{moved:+.2f}", style=style)]
