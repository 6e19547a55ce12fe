"""The loop that trains a reader."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

from epireader.data.batches import Batch, BatchCutter, plan_epoch
from epireader.data.corpus import BadCorpus, Corpus
from epireader.data.vocabulary import Vocabulary, most_frequent
from epireader.evaluation.accuracy import Evaluation, evaluate
from epireader.evaluation.predict import predict
from epireader.readers.reading import Loss
from epireader.readers.saved import Model, build_model
from epireader.settings import BadSetting
from epireader.training.config import Config, TrainingConfig, VocabularyConfig
from epireader.training.journal import Journal
from epireader.training.optimizer import l2_penalty, make_optimizer
from epireader.training.processes import Processes
from epireader.training.run import Progress, Run, open_run

VALIDATION_BATCH = 256


class Watcher(Protocol):
    """Is told how a run goes, to show it."""

    def epoch(self, number: int, steps: int, done: int) -> None: ...

    def step(self) -> None: ...

    def validated(self, progress: Progress, evaluation: Evaluation) -> None: ...


class Interrupted(Exception):
    """The run was asked to stop. It has saved itself and goes on where it was when it is started again."""


def train(corpus: Corpus, config: Config, out: Path, processes: Processes, watcher: Watcher) -> Progress:
    """Train a reader, or go on training it, until it stops getting better on the validation questions."""
    settings = config.training
    set_precision(settings.precision, processes.device)
    model = fresh_model(corpus, config, processes.device)
    optimizer = make_optimizer(model.module, settings.learning_rate)
    cut = TrainingBatches(corpus, model.vocabulary, settings, processes)
    valid = corpus.questions("valid")
    with shared_run(out, config, corpus, model, processes) as run, stop_requests(processes) as stop_requested:
        progress = run.load_progress(model, optimizer)
        journal = Journal(run, progress, processes)
        module = shared_module(model.module, processes)
        clock = time.monotonic() - progress.seconds
        while not progress.finished:
            plan = cut.plan(progress.epoch)
            watcher.epoch(progress.epoch, len(plan), progress.step)
            model.module.train()
            for rows in plan[progress.step :]:
                loss = loss_of(module, model, cut(rows, progress.epoch), settings)
                loss.total.backward()
                if settings.clip_norm:
                    clip_grad_norm_(model.module.parameters(), settings.clip_norm)
                optimizer.step()
                optimizer.zero_grad()
                journal.add(loss)
                progress.step += 1
                progress.total_steps += 1
                watcher.step()
                if progress.total_steps % settings.log_every == 0:
                    journal.write_losses()
                stopping = stop_requested(progress.total_steps)
                if stopping or progress.total_steps % settings.checkpoint_every == 0:
                    progress.seconds = time.monotonic() - clock
                    run.save_progress(model, optimizer, journal.kept_in(progress))
                if stopping:
                    raise Interrupted
            journal.write_losses()
            predictions = predict([model], valid, batch_size=VALIDATION_BATCH, device=processes.device)
            evaluation = evaluate(predictions, most=model.hypotheses)
            if progress.is_best(evaluation.final.value):
                run.save_best(model, {"epoch": progress.epoch, "valid_accuracy": progress.best_accuracy})
            journal.write_validation(evaluation)
            watcher.validated(progress, evaluation)
            progress.end_epoch(settings.patience, settings.max_epochs)
            progress.seconds = time.monotonic() - clock
            run.save_progress(model, optimizer, journal.kept_in(progress))
        journal.close()
    return progress


def loss_of(module: nn.Module, model: Model, batch: Batch, settings: TrainingConfig) -> Loss:
    """The loss of a batch, l2 included. `module` is the model's own, or what shares it between processes."""
    with torch.autocast(batch.passage.device.type, dtype=torch.bfloat16, enabled=settings.precision == "bf16"):
        reading = module(batch)
    loss: Loss = model.module.loss(reading, batch)  # type: ignore[operator]
    if not settings.l2:
        return loss
    penalty = settings.l2 * l2_penalty(model.module)
    return Loss(loss.total + penalty, {**loss.parts, "l2": penalty.detach()})


class TrainingBatches:
    """The training questions, cut into batches; with several processes, this one's share of each."""

    def __init__(self, corpus: Corpus, vocabulary: Vocabulary, settings: TrainingConfig, processes: Processes) -> None:
        questions = corpus.questions("train")
        if not bool((questions.answers >= 0).any()):
            raise BadCorpus(f"no training question of {corpus.folder} has its answer among its candidates")
        if settings.batch_size % processes.world:
            raise BadSetting(
                f"training.batch_size must be a multiple of the {processes.world} processes, got {settings.batch_size}"
            )
        self._cutter = BatchCutter(questions, vocabulary, processes.device)
        self._settings, self._processes = settings, processes

    def plan(self, epoch: int) -> list[np.ndarray]:
        return plan_epoch(
            self._cutter.sizes.words,
            self._settings.batch_size,
            seed=self._settings.seed,
            epoch=epoch,
            read_ahead=self._settings.read_ahead,
            world=self._processes.world,
        )

    def __call__(self, rows: np.ndarray, epoch: int) -> Batch:
        rows = rows[self._processes.rank :: self._processes.world]
        shuffle = self._settings.seed * 1_000_003 + epoch if self._settings.shuffle_entities else None
        return self._cutter.cut(torch.from_numpy(rows), self._cutter.sizes.of(rows), shuffle=shuffle)


def fresh_model(corpus: Corpus, config: Config, device: torch.device) -> Model:
    """A reader with first weights drawn from the seed: the same on every device."""
    torch.manual_seed(config.training.seed)
    model = build_model(config.reader, config.model, choose_vocabulary(corpus, config.vocabulary))
    model.module.to(device)
    return model


def choose_vocabulary(corpus: Corpus, settings: VocabularyConfig) -> Vocabulary:
    """The words of the training questions that get vectors of their own."""
    counts: dict[str, int] = {}
    for word, count in corpus.questions("train").word_counts():
        key = word.lower() if settings.lowercase else word
        counts[key] = counts.get(key, 0) + count
    words = most_frequent(counts.items(), min_count=settings.min_count, max_words=settings.max_words or None)
    return Vocabulary(words, settings.strangers, settings.lowercase)


def set_precision(precision: str, device: torch.device) -> None:
    """Let a GPU round the inputs of fp32 products to TF32, or not."""
    if device.type == "cuda":
        torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")
        torch.backends.cudnn.allow_tf32 = precision != "fp32"


def shared_module(module: nn.Module, processes: Processes) -> nn.Module:
    return DistributedDataParallel(module) if processes.world > 1 else module


@contextmanager
def shared_run(out: Path, config: Config, corpus: Corpus, model: Model, processes: Processes) -> Iterator[Run]:
    """The run's folder: the first process makes, locks and writes it, the others only read."""
    if processes.is_first:
        with open_run(out, config, corpus, model) as run:
            processes.wait()
            yield run
    else:
        processes.wait()
        yield Run(out, writes=False)


@contextmanager
def stop_requests(processes: Processes) -> Iterator[Callable[[int], bool]]:
    """Turns Ctrl-C and a polite kill into a question asked after each step; a second Ctrl-C stops at once."""
    asked: list[int] = []

    def ask(number: int, _: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    def stop_requested(step: int) -> bool:
        # Asking the other processes takes a round trip, so it is not done at every step.
        return bool(asked) if processes.world == 1 else step % 20 == 0 and processes.any(bool(asked))

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop_requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
