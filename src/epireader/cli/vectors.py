"""`epireader vectors`."""

from pathlib import Path

import click

from epireader.cli.show import print_json, progress_bar, refuse_without_folder, say


@click.command("vectors")
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--dim", type=click.IntRange(min=1), default=160, show_default=True, help="The width of a vector.")
@click.option("--epochs", type=click.IntRange(min=1), default=10, show_default=True, help="How often the text is read.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another seed gives other vectors."
)
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How many words to either side say what a word is like: few tell what may stand in its place, many what it has"
    " to do with.",
)
@click.option(
    "--whole-words",
    is_flag=True,
    help="Learn of each word by itself, as word2vec does; otherwise words share what is learnt of the runs of letters in"
    " them, as with fastText.",
)
@click.option("--force", is_flag=True, help="Overwrite OUT if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as one line of JSON.")
def vectors(
    source: Path,
    out: Path,
    dim: int,
    epochs: int,
    seed: int,
    window: int,
    whole_words: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Learn word vectors from the text of SOURCE and write them to the file OUT.

    SOURCE is a prepared corpus, whose training passages are read and nothing else, or a folder of prepared books. A
    reader that begins with such vectors (`train --embeddings OUT`, with `model.embedding_dim` as wide) knows which words
    are alike before it is asked anything. OUT is packed if its name ends in .gz or .xz.

    \b
    Examples:
      epireader vectors corpora/cbt-books cbt-books.160d.txt.xz
      epireader train corpora/cbt-asked --books corpora/cbt-books --preset few-books --embeddings cbt-books.160d.txt.xz --out runs/few-books
    """
    from epireader.data.embeddings import write_vectors
    from epireader.data.word2vec import Learning, learn_vectors, training_text

    refuse_without_folder(out)
    if out.exists() and not force:
        raise click.UsageError(f"{out} exists already; choose another name, or overwrite it with --force")
    how = Learning(dim=dim, epochs=epochs, seed=seed, window=window, whole_words=whole_words)
    text = training_text(source)
    with progress_bar("Reading", len(text) * (1 + epochs), unit="words") as advance:
        words, learnt = learn_vectors(text, how, advance)
    write_vectors(out, words, learnt)
    if as_json:
        print_json({"out": str(out), "words": len(words), "dim": dim, "text": len(text)})
        return
    say(f"{out}: vectors for {len(words):,} words, learnt from a text of {len(text):,}")
