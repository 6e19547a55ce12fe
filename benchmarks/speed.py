"""How fast the readers are on this machine, CPU or GPU, against what one would write oneself, in one run.

    python benchmarks/speed.py [--device auto] [--repeats 5] [--batch-size 32] [--plots FOLDER] [--quick]

The rivals are the EpiReader of an afternoon (plain.py) and an AS Reader with packed sequences (packed.py). Questions are
random words in the shapes of the Children's Book Test, so nothing needs to be at hand. Rates are questions a second:
medians over runs taken in turns, warm-up left out; the spread is the distance between the quartiles.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from rows import Rows, answer_rows, evaluation_row, recurrence_rows, rival_of, together_row, training_row
from sample import corpus_in, fresh_model, random_example
from timing import Clock, growth

from epireader.readers.saved import Model
from epireader.training.config import load_config
from epireader.training.loop import set_precision
from epireader.training.processes import choose_device

HALF = "training.precision=bf16"
TINY = ("model.embedding_dim=32", "model.hidden_dim=16")


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    batches: tuple[int, ...]
    sentences: tuple[int, ...]
    """Of the passages whose length is varied."""
    at_once: int = 64
    passage: int = 20
    """Sentences of all other passages: some 440 words."""
    together: tuple[int, ...] = ()
    half: bool = False
    """Whether training is measured in half precision too, for the rivals as well."""
    cnn: bool = False
    recurrence: tuple[int, int] | None = None
    """Units and words of a GRU that is measured alone."""


ON_A_CPU = Sizes(batches=(1, 4, 16, 32), sentences=(5, 10, 20, 40))
ON_A_GPU = Sizes(
    (8, 32, 128, 512, 1024), (5, 10, 20, 40, 80), together=(3, 7), half=True, cnn=True, recurrence=(256, 800)
)
QUICK = Sizes((1, 4), (2, 4), at_once=4, passage=4, together=(2,), half=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--plots", type=Path, default=Path(__file__).parent / "plots", help="where the pictures go")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it works")
    arguments = parser.parse_args()
    device = choose_device(arguments.device)
    set_precision("tf32", device)
    sizes = QUICK if arguments.quick else ON_A_GPU if device.type == "cuda" else ON_A_CPU
    overrides = [f"training.batch_size={arguments.batch_size}", "training.l2=0", *(TINY if arguments.quick else ())]
    clock = Clock(device, arguments.repeats)
    with TemporaryDirectory() as folder:
        rows, by_size = measure(sizes, overrides, clock, Path(folder))
    threads = f"{torch.get_num_threads()} threads, " if device.type == "cpu" else ""
    print(f"{device}, {threads}torch {torch.__version__}, training in batches of {arguments.batch_size}")
    report(rows, by_size, arguments.plots)


def measure(sizes: Sizes, overrides: list[str], clock: Clock, folder: Path) -> tuple[Rows, dict[str, Rows]]:
    """The rows of the table, and those of the pictures by what is varied in them."""
    config, attention_sum = load_config("cbt-ne", overrides), load_config("as-reader", overrides)
    steps = 4 if clock.device.type == "cuda" else 1
    needed = max(steps * config.training.batch_size, sizes.at_once)
    examples = [random_example(seed, sizes.passage) for seed in range(needed)]
    corpus = corpus_in(folder / "corpus", examples)
    rows = {
        "training": training_row(config, corpus, clock, steps=steps),
        "training, AS Reader": training_row(attention_sum, corpus, clock, steps=steps),
    }
    if sizes.half:
        halved = load_config("cbt-ne", [*overrides, HALF])
        rows["training, bf16"] = training_row(halved, corpus, clock, steps=steps)
    model = fresh_model(config, corpus, clock.device)
    by_size = {"batch size": over_batch_sizes(model, sizes, clock), "words": over_lengths(model, sizes, clock)}
    rows |= {f"evaluation, batch {size}": row for size, row in by_size["batch size"].items()}
    pointer = fresh_model(attention_sum, corpus, clock.device)
    rows["evaluation, AS Reader"] = evaluation_row(pointer, rival_of(pointer), examples[: sizes.batches[-1]], clock)
    rows |= answer_rows(model, rival_of(model)[1], examples[: sizes.at_once], clock)
    for count in sizes.together:
        rows[f"{count} readers trained together"] = together_row(config, corpus, clock, count)
    if sizes.cnn:
        longer = corpus_in(folder / "cnn", [random_example(seed, 36) for seed in range(needed)])
        for name, more in (("training, CNN preset", []), ("training, CNN preset, bf16", [HALF])):
            rows[name] = training_row(load_config("cnn", [*overrides, *more]), longer, clock, steps=steps)
    if sizes.recurrence:
        rows |= recurrence_rows(*sizes.recurrence, clock)
    return rows, by_size


def over_batch_sizes(model: Model, sizes: Sizes, clock: Clock) -> Rows:
    examples = [random_example(seed, sizes.passage) for seed in range(sizes.batches[-1])]
    return {str(size): evaluation_row(model, rival_of(model), examples[:size], clock) for size in sizes.batches}


def over_lengths(model: Model, sizes: Sizes, clock: Clock) -> Rows:
    rows = {}
    for count in sizes.sentences:
        examples = [random_example(seed, count) for seed in range(min(8, sizes.at_once))]
        longest = max(sum(map(len, example.sentences)) for example in examples)
        rows[str(longest)] = evaluation_row(model, rival_of(model), examples, clock)
    return rows


def report(rows: Rows, by_size: dict[str, Rows], plots: Path) -> None:
    print(f"{'':<28}{'rival':<12}{'its /s':>10}{'spread':>9}{'ours /s':>11}{'spread':>9}{'ratio':>8}")
    for name, row in rows.items():
        rates = f"{row.theirs:>10.1f}{row.theirs_spread:>9.1f}{row.ours:>11.1f}{row.spread:>9.1f}"
        print(f"{name:<28}{row.rival:<12}{rates}{row.ratio:>8.2f}")
    powers = {}
    for what, series in by_size.items():
        numbers = [int(size) for size in series]
        # A batch takes as long as its size divided by its rate; a passage of any length is one question.
        cost = [(size if what == "batch size" else 1) / series[str(size)].ours for size in numbers]
        powers[what] = growth(numbers, cost)
        print(f"time grows with the {what + ' to the power':<30}{powers[what]:.2f}")
    figures = {name: asdict(row) for name, row in rows.items()}
    by_size_figures = {what: {size: asdict(row) for size, row in series.items()} for what, series in by_size.items()}
    pictures = [str(path) for path in draw(by_size, plots)]
    print(json.dumps({"rates": figures, "by_size": by_size_figures, "growth": powers, "plots": pictures}))


def draw(by_size: dict[str, Rows], folder: Path) -> list[Path]:
    try:
        from pictures import draw_series
    except ImportError:
        print("no pictures: they need matplotlib (pip install 'epireader[plots]')")
        return []
    folder.mkdir(parents=True, exist_ok=True)
    return [
        draw_series(what, series, folder / f"rate-by-{what.replace(' ', '-')}.png") for what, series in by_size.items()
    ]


if __name__ == "__main__":
    main()
