"""Small runs for tests, in this process or in others that may be killed."""

import json
import multiprocessing
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from epireader.cli.main import explained, main
from epireader.data.corpus import open_corpus
from epireader.evaluation.accuracy import Evaluation
from epireader.training.config import Config, load_config
from epireader.training.loop import Interrupted, train
from epireader.training.processes import Processes, join_processes
from epireader.training.run import Progress

SMALL = ("model.embedding_dim=8", "model.hidden_dim=6")
TINY = {
    **dict.fromkeys(("as-reader", "attentive", "impatient", "deep-lstm", "stanford"), SMALL),
    "cbt-ne": (
        "model.embedding_dim=8", "model.hidden_dim=6", "model.filters=4", "model.reasoner_hidden_dim=4",
        "model.hypotheses=3", "model.reasoner_weight=1.0",
    ),
}  # fmt: skip
SAVE_OFTEN = "training.checkpoint_minutes=0.0001"

FORKS = multiprocessing.get_context("forkserver")
"""Processes that start in no time, because torch (and what an optimizer imports) is imported once for all of them."""
FORKS.set_forkserver_preload(["epireader.training.loop", "torch._dynamo", "torch.utils.tensorboard.writer"])


def tiny(preset: str = "as-reader", *overrides: str) -> Config:
    """A preset with few and small weights, a batch of 8 questions, and more overrides."""
    return load_config(preset, [*TINY[preset], "training.batch_size=8", "training.log_every=7", *overrides])


def as_options(preset: str = "as-reader", *overrides: str) -> list[str]:
    """The same for the command line."""
    settings = [*TINY[preset], "training.batch_size=8", "training.log_every=7", *overrides]
    return ["--preset", preset, *(word for setting in settings for word in ("--set", setting))]


class Watch:
    """Watches a run, and does something at one of its steps (1 is the first it takes)."""

    def __init__(self, at: int = 0, do: Callable[[], object] = lambda: None) -> None:
        self._at, self._do = at, do
        self.steps = 0
        self.began: list[tuple[int, int, int]] = []
        self.accuracies: list[float] = []
        self.best_epoch = -1
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def epoch(self, number: int, steps: int, done: int) -> None:
        self.began.append((number, steps, done))

    def step(self) -> None:
        self.steps += 1
        if self.steps == self._at:
            self._do()

    def validated(self, progress: Progress, evaluation: Evaluation) -> None:
        self.accuracies.append(evaluation.final.value)
        self.best_epoch = progress.best_epoch


def train_here(
    corpus: Path,
    out: Path,
    config: Config,
    watch: Watch | None = None,
    embeddings: Path | None = None,
    start: Path | None = None,
) -> Progress:
    """Train in this process, on the CPU."""
    here = Processes(0, 1, torch.device("cpu"))
    return train(open_corpus(corpus), config, out, here, watch or Watch(), embeddings=embeddings, start=start)


def call(*words: object) -> int:
    """Run `epireader WORDS` in this process and give its exit code; what it prints, capsys has."""
    before, sys.argv = sys.argv, ["epireader", *map(str, words)]
    try:
        main()
    except SystemExit as exit_:
        return int(exit_.code or 0)
    finally:
        sys.argv = before
    return 0


def in_a_fork(target: Callable[..., None], *arguments: object) -> int:
    """Run a function of an importable module in a process of its own; its exit code, negative for a signal."""
    return in_forks([(target, *arguments)])[0]


def in_forks(calls: Sequence[tuple[Any, ...]]) -> list[int]:
    """Run functions in processes at the same time; their exit codes."""
    started = [FORKS.Process(target=target, args=arguments) for target, *arguments in calls]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
        assert process.exitcode is not None, "a process does not end"
    return [process.exitcode or 0 for process in started]


def train_and_die(corpus: Path, out: Path, config: Config, at: int, moment: str = "step") -> None:
    """Train until a step and die there as by kill -9: after the step, or in the middle of the save that follows it."""
    torch.set_num_threads(1)

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def die_in_the_save() -> None:
        real = Path.replace
        if moment == "before the rename":
            Path.replace = die
        elif moment == "after the rename":
            Path.replace = lambda beside, target: (real(beside, target), die())

    train_here(corpus, out, config, Watch(at, die if moment == "step" else die_in_the_save))


def train_together(corpus: Path, out: Path, config: Config, rank: int, world: int, port: int, stop_at: int = 0) -> None:
    """One of several processes that train together, as torchrun starts them; told to stop at a step, if one is given."""
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "LOCAL_RANK": str(rank)}
    os.environ["WORLD_SIZE"] = str(world)
    watch = Watch(stop_at, lambda: signal.raise_signal(signal.SIGTERM))
    with join_processes("cpu") as processes:
        try:
            train(open_corpus(corpus), config, out, processes, watch)
        except Interrupted:
            sys.exit(130)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def saved_progress(run: Path) -> dict[str, Any]:
    """Where a run stood when it last saved itself."""
    # Torch would open it once more, and might find the next one in its place, of another size.
    with safe_open(run / "resume.safetensors", framework="np") as file:
        return dict(json.loads(file.metadata()["record"])["progress"])


def result_of(run: Path) -> tuple[bytes, bytes]:
    """What must not depend on how often a run was stopped: the best reader and the metrics."""
    return (run / "model.safetensors").read_bytes(), (run / "metrics.jsonl").read_bytes()


def metrics(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def train_on_a_small_disk(corpus: Path, out: Path, config: Config, largest: int, at: int) -> None:
    """Train; from a step on no file can grow beyond so many bytes. What is said of that goes to the run's `said`."""
    torch.set_num_threads(1)

    def fill_the_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    try:
        train_here(corpus, out, config, Watch(at, fill_the_disk))
    except Exception as error:
        (out / "said").write_text(explained(error) or f"unexplained: {error!r}")
        sys.exit(1)
