"""How fast the EpiReader is against the plain one, in one run on this machine: training, evaluation, single answers.

    python benchmarks/speed.py [--device auto] [--repeats 7] [--batch-size 32] [--quick]

The questions are random words in the shapes of the Children's Book Test, so nothing needs to be at hand. Rates are
medians over repeated runs, their spread is the distance between the quartiles, and warm-up is left out.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from plain import with_weights_of

from epireader.answer import Asked, Reader
from epireader.data.batches import Batch, BatchCutter
from epireader.data.corpus import CorpusRecord, open_corpus, write_corpus
from epireader.data.example import BLANK, Example
from epireader.data.questions import Questions, QuestionsBuilder
from epireader.data.statistics import StatisticsCounter
from epireader.readers.saved import Model, build_model
from epireader.training.batches import TrainingBatches
from epireader.training.config import load_config
from epireader.training.loop import choose_vocabulary, set_precision
from epireader.training.optimizer import make_optimizer
from epireader.training.processes import Processes, choose_device
from epireader.training.step import make_step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it works")
    arguments = parser.parse_args()
    device = choose_device(arguments.device)
    torch.set_num_threads(2)
    rows = measure(device, arguments.batch_size, arguments.repeats, quick=arguments.quick)
    print(f"EpiReader (cbt-ne), {device}, torch {torch.__version__}, batch {arguments.batch_size}")
    print(f"{'':<34}{'plain /s':>12}{'ours /s':>12}{'spread':>10}{'ratio':>8}")
    for name, (plain, ours, spread) in rows.items():
        print(f"{name:<34}{plain:>12.1f}{ours:>12.1f}{spread:>10.1f}{ours / plain:>8.2f}")
    figures = {name: {"plain": p, "ours": o, "spread": s, "ratio": o / p} for name, (p, o, s) in rows.items()}
    print(json.dumps({"device": str(device), "batch_size": arguments.batch_size, "rates": figures}))


def measure(device: torch.device, size: int, repeats: int, *, quick: bool) -> dict[str, tuple[float, float, float]]:
    """Rates in questions a second: plain, ours, and the spread of ours."""
    set_precision("tf32", device)
    small = ["model.embedding_dim=16", "model.hidden_dim=8"] if quick else []
    config = load_config("cbt-ne", ["training.l2=0", f"training.batch_size={size}", *small])
    with TemporaryDirectory() as folder:
        examples = [random_example(np.random.default_rng(n), quick=quick) for n in range(4 * size)]
        corpus = open_corpus(corpus_in(Path(folder) / "corpus", examples))
        model = build_model(config.reader, config.model, choose_vocabulary(corpus, config.vocabulary))
        model.module.to(device)
        questions = corpus.questions("train")
        plain = with_weights_of(model.module, config.model).to(device)
        batches = [fixed_batch(questions, model, np.arange(n, n + size), device) for n in range(0, 4 * size, size)]
        processes = Processes(0, 1, device)
        training = TrainingBatches(corpus, model.vocabulary, config.training, processes)
        step = make_step(
            model, model.module, make_optimizer(model.module.parameters(), 1e-3), training, config.training, processes
        )
        plain_step = plain_training_step(plain, fixed_cut(questions, model, device))
        plans = [np.arange(n, n + size) for n in range(0, 4 * size, size)]
        rates = {
            "training": pair(
                lambda: [plain_step(rows) for rows in plans], lambda: [step(rows, 0) for rows in plans], device, repeats
            )
        }
        plain.eval()
        model.module.eval()
        with torch.inference_mode():
            rates["evaluation"] = pair(
                lambda: [plain(batch) for batch in batches],
                lambda: [model.module(batch) for batch in batches],
                device,
                repeats,
            )
        rates = {name: tuple(4 * size * rate for rate in figures) for name, figures in rates.items()}
        return rates | single_questions(model, plain, examples[0], device, repeats)


def single_questions(
    model: Model, plain: torch.nn.Module, example: Example, device: torch.device, repeats: int
) -> dict[str, tuple[float, float, float]]:
    """One question on a passage, and a further one on a passage that has been read."""
    reader = Reader([model], str(device))
    sentences = [" ".join(words) for words in example.sentences]
    asked = Asked(" ".join(example.question), [" ".join(words) for words in example.candidates])
    story = reader.read(sentences)
    story.ask(asked.question, asked.candidates)

    def plain_answer() -> None:
        builder = QuestionsBuilder()
        builder.add(reader.read(sentences).example(asked))
        with torch.inference_mode():
            plain(fixed_batch(builder.build(), model, np.arange(1), device))

    return {
        "first question on a passage": pair(
            plain_answer, lambda: reader.read(sentences).ask(asked.question, asked.candidates), device, repeats
        ),
        "further question on it": pair(
            plain_answer, lambda: story.ask(asked.question, asked.candidates), device, repeats
        ),
    }


def pair(
    plain: Callable[[], object], ours: Callable[[], object], device: torch.device, repeats: int
) -> tuple[float, float, float]:
    """Calls a second of both, taken in turns, and the spread of the second."""
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    for turn in range(repeats + 2):
        for name, call in (("plain", plain), ("ours", ours)):
            start = time.perf_counter()
            call()
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            if turn >= 2:
                times[name].append(1 / (time.perf_counter() - start))
    quartiles = statistics.quantiles(times["ours"], n=4)
    return statistics.median(times["plain"]), statistics.median(times["ours"]), quartiles[2] - quartiles[0]


def plain_training_step(plain: torch.nn.Module, cut: Callable[[np.ndarray], Batch]) -> Callable[[np.ndarray], None]:
    optimizer = torch.optim.Adam(plain.parameters(), lr=1e-3)

    def step(rows: np.ndarray) -> None:
        plain.train()
        plain.loss(cut(rows)).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def fixed_cut(questions: Questions, model: Model, device: torch.device) -> Callable[[np.ndarray], Batch]:
    cutter = BatchCutter(questions, model.vocabulary, device)
    return lambda rows: cutter.cut(torch.from_numpy(rows), cutter.sizes.of(rows))


def fixed_batch(questions: Questions, model: Model, rows: np.ndarray, device: torch.device) -> Batch:
    return fixed_cut(questions, model, device)(rows)


def random_example(random: np.random.Generator, *, quick: bool) -> Example:
    """Twenty sentences of words by Zipf's law, 440 words in all or so, and ten candidates."""
    vocabulary, mean = (50, 4) if quick else (60_000, 22)
    draw = lambda n: tuple(f"w{word}" for word in np.minimum(random.zipf(1.3, n), vocabulary))  # noqa: E731
    sentences = tuple(draw(int(random.gamma(2, mean / 2)) + 1) for _ in range(20))
    distinct = list(dict.fromkeys(word for sentence in sentences for word in sentence))
    candidates = tuple((distinct[n],) for n in random.permutation(len(distinct))[:10])
    return Example(
        sentences=sentences, question=(*draw(12), BLANK, *draw(12)), candidates=candidates, answer=candidates[0]
    )


def corpus_in(folder: Path, examples: list[Example]) -> Path:
    builder, counter = QuestionsBuilder(), StatisticsCounter()
    for example in examples:
        builder.add(example)
        counter.add(example)
    folder.mkdir()
    record = CorpusRecord(
        made_by="a benchmark", sources=(), options={}, skipped=0, statistics={"train": counter.result()}
    )
    write_corpus(folder, {"train": builder}, record)
    return folder


if __name__ == "__main__":
    main()
