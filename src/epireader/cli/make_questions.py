"""`epireader make-questions`."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from epireader.cli.show import print_json, progress_bar, say

if TYPE_CHECKING:
    from epireader.text.cloze import Cloze, TaggedBook

FEWEST = 4
"""Candidates that names found by rule alone must give: no nouns are known there that could fill up to ten."""

JSONL_ENDINGS = (".jsonl", ".ndjson")

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("make-questions")
@click.argument("book", type=_FILE, metavar="BOOK")
@click.option("--kind", required=True, type=click.Choice(["names", "nouns"]), help="Which words to leave out.")
@click.option("--every", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
              help="At most one question in N sentences; with 21 no two share a sentence.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed leaves out other words.")
@click.option("--out", required=True, type=_NEW_FILE, help="The file of questions to write.")
@click.option("--format", "form", type=click.Choice(["cbt", "jsonl"]),
              help="How to write them.  [default: jsonl if OUT ends in .jsonl, otherwise cbt]")  # fmt: skip
@click.option("--html", type=_NEW_FILE, help="Write them as pages to print, too, with the answers on the last sheet.")
@click.option("--kinds", type=_FILE,
              help="A letter for every word of BOOK, which then has one sentence a line, its words separated by spaces.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as one line of JSON.")
def make_questions(
    book: Path,
    kind: str,
    every: int,
    seed: int,
    out: Path,
    form: str | None,
    html: Path | None,
    kinds: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Make cloze questions from a plain text by the rules of the Children's Book Test.

    Twenty sentences are the passage, the next is the question with one word left out, and up to ten words of the
    passage are offered in its place. Names are found by a built-in rule; nouns by spaCy, which must be installed.

    \b
    Examples:
      epireader make-questions alice.txt --kind names --out alice.jsonl
      epireader make-questions alice.txt --kind names --every 60 --out alice.jsonl --html alice.html
      epireader make-questions cbt_train.txt.xz --kinds cbt_train.kinds.txt.xz --kind nouns --out questions.txt
    """
    from epireader.text.cloze import NAME, NOUN, ClozeRules, clozes

    form = form or ("jsonl" if out.name.endswith(JSONL_ENDINGS) else "cbt")
    _check_targets([book, *filter(None, [kinds])], [out, *filter(None, [html])], form, force)
    rules = ClozeRules(kind=NAME if kind == "names" else NOUN)
    if kind == "names" and not kinds:
        rules = replace(rules, fewest=FEWEST)
    counts = Counts()
    questions = chain.from_iterable(
        clozes(tagged, rules, every=every, seed=seed) for tagged in counts.of(_tagged_books(book, kind, kinds))
    )
    _write(questions, counts, form, out, html, title=book.name)
    left_out = f" ({counts.left_out:,} left out: the form {form} cannot hold them)" if counts.left_out else ""
    books = f"{counts.books:,} book" + "s" * (counts.books != 1)
    say(f"{out}: {counts.questions:,} questions from {counts.sentences:,} sentences, {books}{left_out}")
    if as_json:
        files = {"out": str(out), "html": str(html) if html else None}
        print_json({**files, "format": form, "kind": kind, "every": every, "seed": seed, **asdict(counts)})


@dataclass
class Counts:
    """What was read and what was made of it."""

    books: int = 0
    sentences: int = 0
    questions: int = 0
    left_out: int = 0

    def of(self, books: "Iterable[TaggedBook]") -> "Iterator[TaggedBook]":
        """The books as they come, counted."""
        for book in books:
            self.books += 1
            self.sentences += len(book.sentences)
            yield book


def _tagged_books(book: Path, kind: str, kinds: Path | None) -> "Iterator[TaggedBook]":
    """The books of a file with the kinds of their words: those given, or those found here."""
    from epireader.data.books import plain_books, tagged_books
    from epireader.text.cloze import TaggedBook
    from epireader.text.names import name_kinds
    from epireader.text.nouns import noun_kinds

    if kinds:
        with progress_bar("Reading", book.stat().st_size, unit="bytes") as advance:
            yield from tagged_books(book, kinds, on_bytes=advance)
        return
    for title, sentences in plain_books(book):
        if kind == "names":
            found = name_kinds(sentences)
        else:
            with progress_bar("Finding nouns", len(sentences), unit="sentences") as advance:
                found = noun_kinds(sentences, on_sentence=advance)
        yield TaggedBook(title=title, sentences=sentences, kinds=found)


def _write(
    questions: "Iterable[Cloze]", counts: Counts, form: str, out: Path, html: Path | None, *, title: str
) -> None:
    """Writes and counts the questions; no file is left where there are none."""
    from epireader.cli.worksheet import Worksheet, readable_title
    from epireader.data.books import example_of
    from epireader.data.example import BadExample
    from epireader.data.writing import FORMS

    with ExitStack() as stack:
        file = _opened(stack, out)
        page = Worksheet(_opened(stack, html), readable_title(title)) if html else None
        for question in questions:
            try:
                file.write(FORMS[form](example_of(question)))
            except BadExample:
                counts.left_out += 1
                continue
            counts.questions += 1
            if page:
                page.add(question)
        if not counts.questions:
            raise ValueError(_nothing(counts))
        if page:
            page.end()


def _opened(stack: ExitStack, path: Path) -> TextIO:
    from epireader.files import written_beside

    return stack.enter_context(stack.enter_context(written_beside(path)).open("w", encoding="utf-8", newline="\n"))


def _nothing(counts: Counts) -> str:
    from epireader.text.cloze import PASSAGE

    return (
        f"no question could be made from these {counts.sentences:,} sentences: it takes {PASSAGE} in a row with enough "
        "different words of the kind, and one after them with such a word in it again; try a longer text"
    )


def _check_targets(sources: list[Path], targets: list[Path], form: str, force: bool) -> None:
    """Refuses, before any work is done, what would lose a file or make one that cannot be read back."""
    if form == "cbt" and targets[0].name.endswith(JSONL_ENDINGS):
        raise ValueError(f"{targets[0]} is a name for JSONL; choose another for the CBT form, or --format jsonl")
    for number, target in enumerate(targets):
        if target.name.lower().endswith((".gz", ".xz")):
            raise ValueError(f"{target} would be written unpacked; leave out {target.suffix}")
        if target.resolve() in [other.resolve() for other in (*sources, *targets[:number])]:
            raise ValueError(f"{target} is named twice; each file needs a name of its own")
        if not target.absolute().parent.is_dir():
            raise ValueError(f"the folder {target.parent} does not exist; make it first")
        if target.exists() and not force:
            raise ValueError(f"{target} exists already; choose another name, or add --force to write over it")
