"""`epireader grid`."""

from pathlib import Path

import click

from epireader.cli.show import percent, print_json
from epireader.cli.train import on_screen


@click.command()
@click.argument("grid_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="GRID.toml")
@click.argument("corpus", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A folder for the runs.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one line of JSON.")
def grid(grid_file: Path, corpus: Path, out: Path, device: str, as_json: bool) -> None:
    """Train a reader with every combination of settings in a grid, and rank them by validation accuracy.

    A grid file names a preset and lists values. Runs that are finished are not run again, so a search that was
    stopped goes on where it was. A run whose loss is no longer a number is said and left out.

    \b
    Example (a file grid.toml):
      preset = "cbt-cn"
      [grid]
      "model.filters" = [16, 32]
      "training.seed" = [0, 1, 2]

    \b
      epireader grid grid.toml corpora/cbt-cn --out runs/search
    """
    from epireader.data.corpus import open_corpus
    from epireader.training.grid import load_grid
    from epireader.training.journal import Diverged
    from epireader.training.loop import train as train_reader
    from epireader.training.processes import join_processes

    opened = open_corpus(corpus)
    points = load_grid(grid_file)
    results = []
    with join_processes(device) as processes:
        for number, point in enumerate(points, start=1):
            run = out / point.name
            with on_screen(run, quiet=not processes.is_first, idle="nothing was left to do") as screen:
                screen.say(f"run {number} of {len(points)}: {point.name}")
                try:
                    progress = train_reader(opened, point.config, run, processes, screen)
                except Diverged as error:  # a setting that does not do must not keep the others from being tried
                    screen.say(str(error))
                    continue
            results.append((progress.best_accuracy, progress.best_epoch + 1, point.name))
    if not results:
        raise Diverged(f"no run of {grid_file} came to its end")
    if not processes.is_first:
        return
    results.sort(reverse=True)
    if as_json:
        print_json({"runs": [{"run": str(out / n), "valid_accuracy": a, "best_epoch": e} for a, e, n in results]})
        return
    for accuracy, epoch, name in results:
        click.echo(f"{percent(accuracy):>7}  epoch {epoch:<3} {name}")
