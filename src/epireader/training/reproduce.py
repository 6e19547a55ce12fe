"""One line of the comparison: a reader is trained, its best epoch is taken, and both sets of questions are asked once.

An ensemble is made of runs whose lines are there.
"""

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
from epireader.evaluation.commands import ENSEMBLE
from epireader.evaluation.predict import predict
from epireader.evaluation.results import Result, read_results
from epireader.readers.floors import floor_model
from epireader.readers.saved import Model, load_model
from epireader.training.comparison import Task
from epireader.training.loop import VALIDATION_BATCH, Watcher, set_precision, train
from epireader.training.processes import Processes
from epireader.training.run import Progress, Run
from epireader.training.together import train_together


class MemberMissing(ValueError):
    """An ensemble lacks one of its readers."""


def carry_out(task: Task, out: Path, processes: Processes, watcher: Watcher) -> Result:
    """Train (or go on, or find that it is finished) in `out`/runs, and measure the best reader; or several as one."""
    free_memory(processes.device)
    models, progress = _readers(task, out, processes, watcher)
    begun = time.monotonic()
    measured = {split: measure(models, task.corpus.questions(split), processes.device) for split in ("valid", "test")}
    return Result(
        set=task.set,
        corpus=task.checksum,
        reader=task.reader,
        preset=task.preset,
        seed=task.seed,
        overrides=list(task.overrides),
        embeddings=task.embeddings.name if task.embeddings else None,
        books=task.books,
        members=task.member_seeds,
        max_minutes=task.max_minutes,
        finished=progress.finished,
        epochs=progress.epoch,
        best_epoch=progress.best_epoch + 1,
        seconds=round(progress.seconds or time.monotonic() - begun, 1),
        parameters=sum(weight.numel() for model in models for weight in model.module.parameters()),
        valid=measured["valid"],
        test=measured["test"],
        version=__version__,
        torch=torch.__version__,
        device=torch.cuda.get_device_name(processes.device) if processes.device.type == "cuda" else "CPU",
        date=date.today().isoformat(),
        command=command_of(task, out),
    )


def to_train_at_once(tasks: Sequence[Task], out: Path) -> list[Task]:
    """All of them if just these were being trained at once; otherwise those that are not under way alone."""
    if standing_of(tasks, out).exists():
        return list(tasks)
    return [task for task in tasks if not Run(out / "runs" / task.folder).is_under_way]


def train_at_once(tasks: Sequence[Task], out: Path, processes: Processes, watcher: Watcher) -> None:
    """Train readers that differ in their seeds alone; `carry_out` then finds each of them trained."""
    free_memory(processes.device)
    configs = {out / "runs" / task.folder: task.config for task in tasks if task.config}
    first, standing = tasks[0], standing_of(tasks, out)
    vectors = [task.embeddings for task in tasks if task.embeddings]
    train_together(first.corpus, configs, standing, processes, watcher, embeddings=vectors, shelf=first.shelf)


def standing_of(tasks: Sequence[Task], out: Path) -> Path:
    """The file that says where readers trained at once stand."""
    place = out / "runs" / tasks[0].place(seeds=",".join(str(task.seed) for task in tasks))
    return place.with_name(f"{place.name}.safetensors")


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
    for seed in task.member_seeds or ([] if task.seed is None else [task.seed]):
        words += ["--seed", str(seed)]
    if task.members:
        words.append(ENSEMBLE)
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


def _readers(task: Task, out: Path, processes: Processes, watcher: Watcher) -> tuple[list[Model], Progress]:
    """What is measured, and how its training ended."""
    if task.members:
        return _members(task, out, processes.device)
    if not task.config:
        return [floor_model(task.reader)], Progress(finished=True)
    folder = out / "runs" / task.folder
    progress = train(task.corpus, task.config, folder, processes, watcher, embeddings=task.embeddings, shelf=task.shelf)
    free_memory(processes.device)
    return [load_model(folder)], progress


def _members(task: Task, out: Path, device: torch.device) -> tuple[list[Model], Progress]:
    """The readers of an ensemble, asked in the precision that they were trained in."""
    assert task.config
    results = read_results(out)
    for member in task.members:
        if not member.is_done(results):
            raise MemberMissing(f"its member {member.title} is not there")
    set_precision(task.config.training.precision, device)
    keys = {member.key for member in task.members}
    finished = all(result.finished for result in results if result.key in keys)
    return [load_model(out / "runs" / member.folder) for member in task.members], Progress(finished=finished)
