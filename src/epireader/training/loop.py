"""The loop that trains a reader."""

import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from epireader.data.corpus import Corpus
from epireader.data.questions import Questions
from epireader.data.shelf import Shelf
from epireader.evaluation.accuracy import Evaluation, evaluate
from epireader.evaluation.predict import predict
from epireader.readers.saved import Model
from epireader.training.averaging import mean_weights
from epireader.training.batches import Books, TrainingBatches, books_for
from epireader.training.beginning import fresh_model, give_vectors
from epireader.training.config import Config, TrainingConfig
from epireader.training.journal import Journal
from epireader.training.optimizer import make_optimizer, optimizer_tensors
from epireader.training.processes import Processes
from epireader.training.run import Progress, Run, open_run, parameter_names
from epireader.training.step import Step, make_step

VALIDATION_BATCH = 256


@runtime_checkable
class Watcher(Protocol):
    """Is told how a run goes, to show it."""

    def say(self, text: str) -> None: ...

    def epoch(self, number: int, steps: int, done: int) -> None: ...

    def step(self) -> None: ...

    def validated(self, progress: Progress, evaluation: Evaluation) -> None: ...


class Interrupted(Exception):
    """The run was asked to stop. It has saved itself and goes on where it was when it is started again."""


def train(
    corpus: Corpus,
    config: Config,
    out: Path,
    processes: Processes,
    watcher: Watcher,
    *,
    embeddings: Path | None = None,
    start: Path | None = None,
    shelf: Shelf | None = None,
) -> Progress:
    """Train a reader, or go on training it, until it stops getting better on the validation questions.

    Where `training.max_minutes` are over before that, the progress is not `finished`: given more, the run goes on. Word
    vectors begin as those in the file `embeddings`, where one is given, or the whole reader as the one in the folder
    `start`. With the books of a `shelf`, the training questions are made from them, not taken from the corpus.
    """
    settings = config.training
    set_precision(settings.precision, processes.device)
    books = books_for(config, shelf)
    model = fresh_model(corpus, config, processes.device, shelf, start)
    for path, found in give_vectors([model], [embeddings]).items():
        watcher.say(f"{path.name}: {found.coverage}")
    optimizer = make_optimizer(
        model.module.parameters(), settings.learning_rate, settings.optimizer, average=settings.average
    )
    batches = TrainingBatches(corpus, model.vocabulary, settings, processes, books)
    valid = corpus.questions("valid")
    with (
        shared_run(out, config, corpus, model, processes, embeddings, start, books) as run,
        closing(Journal(run, run.load_progress(model, optimizer), processes)) as journal,
        stop_requests() as stop_requested,
    ):
        module = shared_module(model.module, processes)
        step = make_step(model, module, optimizer, batches, settings, processes)
        session = Session(model, optimizer, valid, run, journal, Clock(journal.progress.seconds), processes, watcher)
        if start:
            session.say_where_it_begins()
        take_epochs(session, step, batches, settings, stop_requested)
        if journal.progress.best_epoch < 0:
            # The time was over within the first epoch. What it learnt by then counts, but is not saved as progress:
            # given more time, the run goes on where it was cut.
            session.validate()
        if processes.any(stop_requested()):  # too late to stop this run, but not what would come after it
            raise Interrupted
    return journal.progress


def take_epochs(
    session: "Session",
    step: Step,
    batches: TrainingBatches,
    settings: TrainingConfig,
    stop_requested: Callable[[], bool],
) -> None:
    """Epoch after epoch, until the run is finished, its time is over, or somebody stops it."""
    progress, journal, clock = session.journal.progress, session.journal, session.clock
    processes, watcher = session.processes, session.watcher
    while not progress.finished:
        plan = batches.plan(progress.epoch)
        if processes.any(clock.too_late(settings.max_minutes, progress.epoch, progress.step / len(plan))):
            watcher.say(f"the time is over after {clock.seconds() / 60:.1f} minutes")
            return
        watcher.epoch(progress.epoch, len(plan), progress.step)
        session.model.module.train()
        for rows in plan[progress.step :]:
            seed_dropout(settings.seed, progress.total_steps, processes)
            journal.add(step(rows, progress.epoch))
            progress.step += 1
            progress.total_steps += 1
            watcher.step()
            if progress.total_steps % settings.log_every == 0:
                journal.write_losses()
            stopping = processes.agree(stop_requested(), progress.total_steps)
            late = progress.epoch == 0 and clock.too_late(settings.max_minutes)
            cut = processes.agree(late, progress.total_steps) and progress.step < len(plan)
            due = clock.minutes_since_saved() >= settings.checkpoint_minutes
            if stopping or cut or processes.agree(due, progress.total_steps):
                session.save()
            if stopping:
                raise Interrupted
            if cut:
                break
        else:
            journal.write_losses()
            session.validate()
            progress.end_epoch(settings.patience, settings.max_epochs)
            session.save()


@dataclass(frozen=True)
class Session:
    """A run that is open."""

    model: Model
    optimizer: torch.optim.Optimizer
    valid: Questions
    run: Run
    journal: Journal
    clock: "Clock"
    processes: Processes
    watcher: Watcher

    def save(self) -> None:
        moments = optimizer_tensors(self.optimizer, parameter_names(self.model))
        self.run.save_progress(self.model, moments, self.clock.stamped(self.journal.kept()))

    def validate(self) -> None:
        """Ask the validation questions, and keep the reader if it is the best so far."""
        progress = self.journal.progress
        with mean_weights(self.optimizer):
            evaluation = self._measured()
            if progress.is_best(evaluation.final.value):
                self.run.save_best(self.model, {"epoch": progress.epoch, "valid_accuracy": progress.best_accuracy})
        self.journal.write_validation(evaluation)
        self.watcher.validated(progress, evaluation)

    def say_where_it_begins(self) -> None:
        """What a reader that was trained before is worth before it learns more; a run that goes on said it once."""
        if not self.journal.progress.total_steps:
            self.watcher.say(f"it begins with a validation accuracy of {self._measured().final.value:.2%}")

    def _measured(self) -> Evaluation:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "RNN module weights")  # readers trained at once have theirs side by side
            predictions = predict([self.model], self.valid, batch_size=VALIDATION_BATCH, device=self.processes.device)
        return evaluate(predictions, most=self.model.hypotheses)


class Clock:
    """How long a run has taken, and when it was last saved."""

    def __init__(self, seconds: float) -> None:
        self._saved = time.monotonic()
        self._begun = self._saved - seconds

    def seconds(self) -> float:
        return time.monotonic() - self._begun

    def too_late(self, minutes: float, epochs: int = 0, part: float = 0.0) -> bool:
        """Whether the time is over, or will be before the epoch that `part` has been done of ends like those before it."""
        left = (1 - part) / (epochs + part) if epochs else 0.0
        return minutes > 0 and self.seconds() * (1 + left) >= 60 * minutes

    def minutes_since_saved(self) -> float:
        return (time.monotonic() - self._saved) / 60

    def stamped(self, progress: Progress) -> Progress:
        """The progress with the time spent so far, about to be saved."""
        self._saved = time.monotonic()
        progress.seconds = self.seconds()
        return progress


def seed_dropout(seed: int, step: int, processes: Processes) -> None:
    """Make what a step draws at random depend on the run's seed and the step's number alone.

    So a run that was stopped goes on with the draws it had left, bit by bit on the CPU. It holds for replayed CUDA graphs
    too: a graph draws with the seed its generator has when it is replayed, not with the one it was recorded with. But a
    GPU draws other numbers than the CPU from one seed, and others in a batch of another shape.
    """
    number = int(np.random.SeedSequence([seed, step, processes.rank]).generate_state(1)[0])
    if processes.device.type == "cuda":
        torch.cuda.manual_seed(number)
    else:
        torch.default_generator.manual_seed(number)


def set_precision(precision: str, device: torch.device) -> None:
    """Let a GPU round the inputs of fp32 products to TF32, or not."""
    if device.type == "cuda":
        torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")
        torch.backends.cudnn.allow_tf32 = precision != "fp32"


def shared_module(module: nn.Module, processes: Processes) -> nn.Module:
    return DistributedDataParallel(module) if processes.world > 1 else module


@contextmanager
def shared_run(
    out: Path,
    config: Config,
    corpus: Corpus,
    model: Model,
    processes: Processes,
    embeddings: Path | None,
    start: Path | None,
    books: Books | None,
) -> Iterator[Run]:
    """The run's folder: the first process makes, locks and writes it, the others only read."""
    if processes.is_first:
        with open_run(out, config, corpus, model, embeddings=embeddings, start=start, books=books) as run:
            processes.wait()
            yield run
    else:
        processes.wait()
        yield Run(out, writes=False)


IN_EARNEST = 1.0
"""Seconds. What comes sooner is the same request: `timeout`, for one, sends a signal to a process and to its group."""


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Turns Ctrl-C and a polite kill into a question asked after each step; a second Ctrl-C stops at once."""
    asked: list[float] = []

    def ask(_number: int, _frame: object) -> None:
        now = time.monotonic()
        if asked and now - asked[0] >= IN_EARNEST:
            raise KeyboardInterrupt
        asked.append(now)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
