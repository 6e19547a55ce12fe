"""`epireader ensemble`."""

from pathlib import Path

import click

from epireader.cli.show import say


@click.command()
@click.argument(
    "runs", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN RUN..."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The ensemble's folder.")
def ensemble(runs: tuple[Path, ...], out: Path) -> None:
    """Join RUNs into one model whose members vote: their probabilities are averaged.

    The folder OUT can be given to `evaluate` and `answer` as a model. It refers to the runs; it does not copy them.

    \b
    Example:
      epireader ensemble runs/cn-0 runs/cn-1 runs/cn-2 --out runs/cn-three
    """
    from epireader.readers.ensemble import save_ensemble

    save_ensemble(out, list(runs))
    say(f"{out}: {len(runs)} members")
