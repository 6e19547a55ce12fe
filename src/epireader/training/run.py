"""The folder of a run, and how it survives anything.

config.json           every setting, the corpus and the books
vocab.txt             the reader's words
model.safetensors     the best reader so far
resume.safetensors    everything needed to go on: weights, Adam's moments, where the run stands. One file, so that
                      it can only be wholly there.
metrics.jsonl         a line every so many steps and every epoch; nothing in it depends on the clock
tensorboard/          the same as TensorBoard events, where tensorboard is installed
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from epireader import __version__
from epireader.data.corpus import Corpus
from epireader.files import folder_made_beside, sha256_of
from epireader.readers.saved import WEIGHTS, Model, model_record, put_weights, read_weights, save_weights
from epireader.training.batches import Books
from epireader.training.config import Config
from epireader.training.optimizer import restore_optimizer

RESUME, RESUME_FORMAT = "resume.safetensors", "epireader-resume"


class RunRefused(ValueError):
    """A run that cannot be started or continued in this folder."""


@dataclass
class Progress:
    """Where a run stands."""

    epoch: int = 0
    step: int = 0
    """Steps taken in this epoch."""
    total_steps: int = 0
    best_accuracy: float = -1.0
    best_epoch: int = -1
    epochs_without_gain: int = 0
    finished: bool = False
    metrics_bytes: int = 0
    """How much of metrics.jsonl belongs to what was saved."""
    seconds: float = 0.0
    """Time spent, over all sessions."""
    loss_sums: dict[str, float] = field(default_factory=dict)
    """Losses since they were last written down."""
    loss_steps: int = 0

    def is_best(self, accuracy: float) -> bool:
        """Take in the accuracy after an epoch; whether it is the best so far."""
        self.epochs_without_gain += 1
        if accuracy <= self.best_accuracy:
            return False
        self.best_accuracy, self.best_epoch, self.epochs_without_gain = accuracy, self.epoch, 0
        return True

    def end_epoch(self, patience: int, max_epochs: int) -> None:
        self.epoch += 1
        self.step = 0
        self.finished = self.epochs_without_gain >= patience or self.epoch >= max_epochs


class Run:
    """A run's folder. Only the process that holds its lock writes into it."""

    def __init__(self, folder: Path, *, writes: bool = True) -> None:
        self.folder = folder
        self.writes = writes

    @property
    def is_under_way(self) -> bool:
        """Whether it was saved by itself, so that it goes on from there."""
        return (self.folder / RESUME).exists()

    def save_best(self, model: Model, record: Mapping[str, Any]) -> None:
        if not self.writes:
            return
        save_weights(self.folder / WEIGHTS, model.module.state_dict(), record)

    def save_progress(self, model: Model, moments: Mapping[str, Tensor], progress: Progress) -> None:
        """Keep where a run stands: the reader, what its optimizer remembers, and how far it is."""
        if not self.writes:
            return
        tensors = {f"model.{name}": tensor for name, tensor in model.module.state_dict().items()}
        tensors |= {f"optimizer.{name}": moment for name, moment in moments.items()}
        record = {"format": RESUME_FORMAT, "progress": asdict(progress)}
        save_weights(self.folder / RESUME, tensors, record)

    def load_progress(self, model: Model, optimizer: torch.optim.Optimizer) -> Progress:
        """Put a run back where it was saved; a run that never was starts at the beginning."""
        if not self.is_under_way:
            return Progress()
        path = self.folder / RESUME
        tensors, record = read_weights(path)
        if record.get("format") != RESUME_FORMAT:
            raise RunRefused(f"{path} was not written by a run; give another --out")
        put_weights(model.module, under("model.", tensors), path)
        try:
            restore_optimizer(optimizer, parameter_names(model), under("optimizer.", tensors))
            return Progress(**record["progress"])
        except (KeyError, TypeError) as error:
            raise RunRefused(f"{path} is of another version ({error}); give another --out") from None

    def write_metrics(self, progress: Progress, line: Mapping[str, Any]) -> None:
        """Add a line to metrics.jsonl, over whatever was written after the last save of a run that was killed.

        It is on the disk before a save that counts it. Where lines are missing all the same, it follows those there are.
        """
        if not self.writes:
            return
        with (self.folder / "metrics.jsonl").open("a+b") as file:
            file.seek(0)
            file.truncate(file.read(progress.metrics_bytes).rfind(b"\n") + 1)
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            progress.metrics_bytes = file.tell()

    def read_metrics(self) -> list[dict[str, Any]]:
        path = self.folder / "metrics.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@contextmanager
def open_run(
    folder: Path,
    config: Config,
    corpus: Corpus,
    model: Model,
    *,
    embeddings: Path | None = None,
    start: Path | None = None,
    books: Books | None = None,
) -> Iterator[Run]:
    """Begin a run in a new folder, or go on with the same run in its own.

    It is the same if it began with the same word vectors, or the same trained reader in the folder `start`.
    """
    record = {
        **model_record(model),
        "training": asdict(config.training),
        "vocabulary_choice": asdict(config.vocabulary),
        "corpus": _traced(corpus.folder, "corpus.json", folder),
        "embeddings": embeddings and {"name": embeddings.name, "sha256": sha256_of(embeddings)},
        "start": start and {"name": start.resolve().name, "sha256": sha256_of(start / WEIGHTS)},
        "books": books and {**_traced(books.shelf.folder, "books.json", folder), **asdict(books.settings)},
        "made_by": f"epireader {__version__}",
    }
    if not folder.exists():
        with folder_made_beside(folder) as beside:
            (beside / "config.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            model.vocabulary.save(beside / "vocab.txt")
    _refuse_another(folder, record)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunRefused(f"another process is training in {folder}; wait for it or give another --out") from None
        _remove_strays(folder)
        yield Run(folder)


def _traced(data: Path, record: str, run: Path) -> dict[str, str]:
    """Where data lies, seen from a run, and the checksum of its record, which holds those of all it was made from."""
    return {"path": os.path.relpath(data.resolve(), run.resolve()), "sha256": sha256_of(data / record)}


def _remove_strays(folder: Path) -> None:
    """Remove what a process that was killed in the middle of a save left behind: ours, and safetensors' own."""
    for stray in (*folder.glob(".*.part"), *folder.glob(".tmp??????")):
        stray.unlink(missing_ok=True)


def _refuse_another(folder: Path, record: Mapping[str, Any]) -> None:
    try:
        there = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError, UnicodeDecodeError):
        there = None
    if not isinstance(there, dict):
        raise RunRefused(f"{folder} exists and is not a run; give another --out")
    if there.get("reader") != record["reader"]:  # then no other setting can be compared
        begun = f"was begun with the reader {there.get('reader')}"
        raise RunRefused(f"{folder} {begun}, and this one is {record['reader']}; give another --out")
    different = [
        f"{section}{'.' + key if key else ''} was {old!r} and is {new!r}"
        for section, key, old, new in _differences(there, record)
    ]
    if different:
        raise RunRefused(f"{folder} holds a run with other settings ({'; '.join(different)}); give another --out")


def _differences(there: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str, Any, Any]]:
    for section in sorted((there.keys() | now.keys()) - {"made_by"}):
        old, new = there.get(section), now.get(section)
        if isinstance(old, dict) and isinstance(new, dict):
            # Where a file lies and what it is called does not matter, only what it holds. More time may be given later.
            for key in sorted((old.keys() | new.keys()) - {"path", "name", "max_minutes"}):
                if old.get(key) != new.get(key):
                    yield section, key, old.get(key), new.get(key)
        elif old != new:
            yield section, "", old, new


def parameter_names(model: Model) -> list[str]:
    return [name for name, _ in model.module.named_parameters()]


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
