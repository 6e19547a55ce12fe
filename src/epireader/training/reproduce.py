"""One line of the comparison: a reader is trained, its best epoch is taken, and both sets of questions are asked once."""

import gc
import shlex
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch

from epireader import __version__
from epireader.data.questions import Questions
from epireader.evaluation.accuracy import evaluate, right_answers
from epireader.evaluation.predict import predict
from epireader.evaluation.results import Result
from epireader.readers.floors import floor_model
from epireader.readers.saved import Model, load_model
from epireader.training.comparison import Task
from epireader.training.loop import VALIDATION_BATCH, Watcher, train
from epireader.training.processes import Processes
from epireader.training.run import Progress
from epireader.training.together import train_together


def carry_out(task: Task, out: Path, processes: Processes, watcher: Watcher) -> Result:
    """Train (or go on, or find that it is finished) in `out`/runs, and measure the best reader."""
    free_memory(processes.device)
    model, progress = _trained(task, out, processes, watcher) if task.config else _floor(task)
    begun = time.monotonic()
    measured = {split: measure([model], task.corpus.questions(split), processes.device) for split in ("valid", "test")}
    return Result(
        set=task.set,
        corpus=task.checksum,
        reader=task.reader,
        preset=task.preset,
        seed=task.seed,
        overrides=list(task.overrides),
        embeddings=task.embeddings.name if task.embeddings else None,
        books=task.books,
        max_minutes=task.max_minutes,
        finished=progress.finished,
        epochs=progress.epoch,
        best_epoch=progress.best_epoch + 1,
        seconds=round(progress.seconds or time.monotonic() - begun, 1),
        parameters=sum(weight.numel() for weight in model.module.parameters()),
        valid=measured["valid"],
        test=measured["test"],
        version=__version__,
        torch=torch.__version__,
        device=torch.cuda.get_device_name(processes.device) if processes.device.type == "cuda" else "CPU",
        date=date.today().isoformat(),
        command=command_of(task, out),
    )


def train_at_once(tasks: Sequence[Task], out: Path, processes: Processes, watcher: Watcher) -> None:
    """Train readers that differ in their seeds alone; `carry_out` then finds each of them trained."""
    free_memory(processes.device)
    configs = {out / "runs" / task.folder: task.config for task in tasks if task.config}
    first = tasks[0]
    seeds = ",".join(str(task.seed) for task in tasks)
    standing = out / "runs" / first.folder.parent / f"together,seeds={seeds}.safetensors"
    train_together(first.corpus, configs, standing, processes, watcher, embeddings=first.embeddings, shelf=first.shelf)


def measure(members: Sequence[Model], questions: Questions, device: torch.device) -> dict[str, Any]:
    """The figures of a reader, or of several as one, and which questions it got right (and its Extractor, if it reranks)."""
    said = predict(members, questions, batch_size=VALIDATION_BATCH, device=device)
    right = {"final": right_answers(said, said.final)}
    if said.evidence is not None:
        right["extractor"] = right_answers(said, said.first)
    figures = evaluate(said, most=members[0].hypotheses).as_json()
    return {**figures, "right": {stage: np.packbits(flags).tobytes().hex() for stage, flags in right.items()}}


def command_of(task: Task, out: Path) -> str:
    """What gives the line again, where corpora lie in a folder of that name."""
    words = ["epireader", "reproduce", f"corpora/{task.corpus.folder.resolve().name}", "--reader", task.name]
    if task.seed is not None:
        words += ["--seed", str(task.seed)]
    for override in task.overrides:
        words += ["--set", override]
    if task.max_minutes:
        words += ["--minutes", f"{task.max_minutes:g}"]
    if task.embeddings:
        words += ["--embeddings", task.embeddings.name]
    if task.books:
        words += ["--books", f"corpora/{task.books}"]
    return shlex.join([*words, "--out", out.name])


def free_memory(device: torch.device) -> None:
    """Give back what the run before left on the GPU: recorded steps refer to themselves, so they must be looked for."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _trained(task: Task, out: Path, processes: Processes, watcher: Watcher) -> tuple[Model, Progress]:
    assert task.config
    folder = out / "runs" / task.folder
    progress = train(task.corpus, task.config, folder, processes, watcher, embeddings=task.embeddings, shelf=task.shelf)
    free_memory(processes.device)
    return load_model(folder), progress


def _floor(task: Task) -> tuple[Model, Progress]:
    return floor_model(task.reader), Progress(finished=True)
