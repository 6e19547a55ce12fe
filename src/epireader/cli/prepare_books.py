"""`epireader prepare-books`."""

from pathlib import Path

import click

from epireader.cli.show import print_json, progress_bar, say


@click.command("prepare-books")
@click.argument("sources", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="SOURCE...")
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--sentence-limit", type=click.IntRange(min=1), help="Cut sentences of more words than this.  [default: 100]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the counts as one line of JSON.")
def prepare_books(sources: tuple[Path, ...], out: Path, sentence_limit: int | None, as_json: bool) -> None:
    """Compile books into the folder OUT, which must not exist, so that readers can be trained on them.

    A SOURCE is a file NAME.txt of words, one sentence a line, with a letter for every word in NAME.kinds.txt beside it
    (N name, C common noun, - other), plain, .gz or .xz; or a folder of such pairs. A line `_BOOK_TITLE_ : ...` begins
    the next book. Never give books that a reader is measured on: files called valid or test are refused.

    \b
    Examples:
      epireader prepare-books cbt_train.txt.xz more-books corpora/books
      epireader train corpora/cbt-ne --books corpora/books --preset as-reader --out runs/more
    """
    from dataclasses import asdict

    from epireader.data.prepare_books import pairs_of
    from epireader.data.prepare_books import prepare_books as compile_books
    from epireader.data.questions import LEXICON_START

    options = {"sentence_limit": sentence_limit} if sentence_limit else {}
    total = sum(text.stat().st_size for text, _ in pairs_of(sources))
    with progress_bar("Reading", total, unit="bytes") as advance:
        shelf = compile_books(sources, out, on_bytes=advance, **options)
    size = sum(file.stat().st_size for file in out.iterdir())
    counts = {"distinct_words": len(shelf.lexicon) - len(LEXICON_START), **asdict(shelf.record)}
    names = ("books", "sentences", "about_names", "about_nouns", "words", "distinct_words")
    if as_json:
        print_json({"out": str(out), "bytes": size, **{name: counts[name] for name in names}})
        return
    titles = ("books", "sentences", "  to ask about names", "  to ask about nouns", "words", "  of them distinct")
    for name, title in zip(names, titles, strict=True):
        click.echo(f"{title:<24}{counts[name]:>12,}")
    say(f"{out}: {size / 1e6:.1f} MB")
