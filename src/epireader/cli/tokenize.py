"""`epireader tokenize`."""

import sys
from pathlib import Path

import click


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
def tokenize(file: Path) -> None:
    """Print FILE (- for standard input) one sentence a line, its words separated by spaces: the form of CBT's raw books.

    \b
    Example:
      epireader tokenize story.txt
    """
    from epireader.cli.show import read_text
    from epireader.text import split_sentences

    for sentence in split_sentences(read_text(file)):
        sys.stdout.write(" ".join(token.text for token in sentence) + "\n")
