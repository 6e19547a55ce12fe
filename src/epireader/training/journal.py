"""What a run writes down about itself: metrics.jsonl, and TensorBoard events where tensorboard is installed."""

import importlib.util
import math
from typing import Any

import torch

from epireader.evaluation.accuracy import Evaluation
from epireader.training.processes import Processes
from epireader.training.run import Progress, Run
from epireader.training.step import Losses


class Diverged(ArithmeticError):
    """A loss that is no longer a number."""


class Journal:
    """Adds up losses on the device and writes their means now and then."""

    def __init__(self, run: Run, progress: Progress, processes: Processes) -> None:
        self._run, self.progress, self._processes = run, progress, processes
        self._sums = {name: torch.tensor(value, device=processes.device) for name, value in progress.loss_sums.items()}
        self._events = _events(run, progress) if run.writes else None

    def add(self, losses: Losses) -> None:
        """Take in the losses of a step; nothing is waited for."""
        for name, value in losses.items():
            self._sums[name] = self._sums[name] + value if name in self._sums else value.clone()
        self.progress.loss_steps += 1

    def put_sums(self, sums: Losses) -> None:
        """Losses added up elsewhere, over `progress.loss_steps` steps."""
        self._sums = dict(sums)

    def write_losses(self) -> None:
        """Write the mean losses since the last time."""
        steps = self.progress.loss_steps
        if not steps:
            return
        means = {name: float(self._processes.mean(total)) / steps for name, total in self._sums.items()}
        if not all(map(math.isfinite, means.values())):
            raise Diverged(
                f"the loss is no longer a number after step {self.progress.total_steps}:"
                " try a smaller training.learning_rate, or training.clip_norm=10"
            )
        self._sums, self.progress.loss_steps = {}, 0
        self._write("train", means)

    def write_validation(self, evaluation: Evaluation) -> None:
        recall = {f"recall_at_{k}": share.value for k, share in evaluation.recall_at.items()}
        self._write("valid", {"accuracy": evaluation.final.value, "extractor": evaluation.extractor.value, **recall})

    def kept(self) -> Progress:
        """The progress with what has not been written yet put into it, to be saved. All processes ask at once."""
        self.progress.loss_sums = {name: float(self._processes.mean(total)) for name, total in self._sums.items()}
        return self.progress

    def close(self) -> None:
        if self._events:
            self._events.close()

    def _write(self, kind: str, figures: dict[str, float]) -> None:
        progress = self.progress
        line = {"kind": kind, "epoch": progress.epoch, "step": progress.total_steps, **figures}
        self._run.write_metrics(progress, line)
        if self._events:
            for name, value in figures.items():
                self._events.add_scalar(f"{kind}/{name}", value, progress.total_steps)
            self._events.flush()


def _events(run: Run, progress: Progress) -> Any:
    if progress.finished or importlib.util.find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard.writer import SummaryWriter

    # What was written after the last save of a run that was killed is written again; what is of that step stays.
    return SummaryWriter(str(run.folder / "tensorboard"), purge_step=progress.total_steps + 1)
