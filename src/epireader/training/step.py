"""One step of training, taken plainly or replayed as a CUDA graph.

At batch 32 a step is some three hundred small kernels, and a GPU waits for most of them to be launched. Recorded as a
graph they are launched at once. What is computed is the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from epireader.data.batches import Batch
from epireader.data.questions import Shape
from epireader.readers.reading import Loss
from epireader.readers.saved import Model
from epireader.training.batches import TrainingBatches
from epireader.training.config import TrainingConfig
from epireader.training.optimizer import add_l2_gradient, l2_penalty, regularised
from epireader.training.processes import Processes

Losses = dict[str, Tensor]
TakeStep = Callable[[Int[Tensor, " batch"], Shape, Int[Tensor, "*batch"]], Losses]


def make_step(
    model: Model,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: TrainingBatches,
    settings: TrainingConfig,
    processes: Processes,
) -> "Step":
    """A step on the questions of given rows. `module` is the model's own, or what shares it between processes."""

    def take(rows: Int[Tensor, " batch"], shape: Shape, shuffle: Int[Tensor, "*batch"]) -> Losses:
        loss = loss_of(module, model, batches.cut(rows, shape, shuffle), settings)
        loss.total.backward()
        if settings.l2:
            add_l2_gradient(regularised(model.module).values(), settings.l2)
        if settings.clip_norm:
            clip_grad_norm_(model.module.parameters(), settings.clip_norm)
        optimizer.step()
        optimizer.zero_grad()
        return {"loss": loss.total.detach(), **loss.parts}

    graphs = processes.device.type == "cuda" and processes.world == 1
    return Step(
        GraphReplay(take, list(model.module.parameters()), batches.size, processes.device) if graphs else take, batches
    )


class Step:
    """Takes a step; nothing on the device is waited for."""

    def __init__(self, take: TakeStep, batches: TrainingBatches) -> None:
        self._take, self._batches = take, batches
        self._epoch, self._shuffle = -1, batches.shuffle(-1)

    def __call__(self, rows: np.ndarray, epoch: int) -> Losses:
        if epoch != self._epoch:
            self._epoch, self._shuffle = epoch, self._batches.shuffle(epoch)
        return self._take(torch.from_numpy(rows), self._batches.shape(rows), self._shuffle)


def loss_of(module: nn.Module, model: Model, batch: Batch, settings: TrainingConfig) -> Loss:
    """The loss of a batch, l2 included; the gradient of l2 is not, it needs no graph (`add_l2_gradient`)."""
    with torch.autocast(batch.passage.device.type, dtype=torch.bfloat16, enabled=settings.precision == "bf16"):
        reading = module(batch)
    loss = model.module.loss(reading, batch)
    if not settings.l2:
        return loss
    penalty = settings.l2 * l2_penalty(model.module)
    return Loss(loss.total + penalty, {**loss.parts, "l2": penalty})


@dataclass(frozen=True)
class Recording:
    """A recorded step, and the tensors it reads and writes."""

    graph: torch.cuda.CUDAGraph
    rows: Int[Tensor, " batch"]
    shuffle: Int[Tensor, "*batch"]
    losses: Losses


class GraphReplay:
    """Steps as CUDA graphs, one for each shape of batch.

    The first batch of a shape is an ordinary step, which also sets up what cannot be set up while recording. The second
    is recorded, and replayed from then on. Shapes are rounded up so that there are few of them.
    """

    def __init__(self, take: TakeStep, weights: Sequence[Tensor], batch_size: int, device: torch.device) -> None:
        self._take, self._batch_size, self._device = take, batch_size, device
        self._weights, self._places = weights, places(weights)
        self._recordings: dict[Shape, Recording | None] = {}
        self._stream = torch.cuda.Stream(device)
        # Plain steps and recorded ones are on different streams, and so are their gradients. That is meant.
        torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)

    def __call__(self, rows: Int[Tensor, " batch"], shape: Shape, shuffle: Int[Tensor, "*batch"]) -> Losses:
        if places(self._weights) != self._places:
            # A recording holds addresses: once the weights have moved it would go on training memory nobody reads.
            self._recordings, self._places = {}, places(self._weights)
        shape = rounded_up(shape)
        rows = rows.to(self._device, non_blocking=True)
        if len(rows) != self._batch_size or shape not in self._recordings:
            if len(rows) == self._batch_size:
                self._recordings[shape] = None
            return self._take_beside(rows, shape, shuffle)
        recording = self._recordings[shape] or self._record(shape, rows, shuffle)
        recording.rows.copy_(rows)
        recording.shuffle.copy_(shuffle)
        recording.graph.replay()
        return recording.losses

    def _record(self, shape: Shape, rows: Int[Tensor, " batch"], shuffle: Int[Tensor, "*batch"]) -> Recording:
        rows, shuffle = rows.clone(), shuffle.clone()
        earlier = next((recording for recording in self._recordings.values() if recording), None)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=earlier.graph.pool() if earlier else None):
            losses = self._take(rows, shape, shuffle)
        recording = self._recordings[shape] = Recording(graph, rows, shuffle, losses)
        return recording

    def _take_beside(self, rows: Int[Tensor, " batch"], shape: Shape, shuffle: Int[Tensor, "*batch"]) -> Losses:
        current = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            losses = self._take(rows, shape, shuffle)
        current.wait_stream(self._stream)
        return losses


def places(weights: Sequence[Tensor]) -> tuple[int, ...]:
    """Where the weights lie in memory."""
    return tuple(weight.data_ptr() for weight in weights)


LEAST = Shape(words=64, sentences=24, question=32, candidates=10, phrase=1)


def rounded_up(shape: Shape) -> Shape:
    """The shape rounded up: words to a quarter of the power of two below, every other size to its least or a double of it.

    A recurrence ends where its rows end, so that padding costs little; a recording costs as much as dozens of steps.
    """
    doubled = {field.name: _doubled(getattr(shape, field.name), getattr(LEAST, field.name)) for field in fields(Shape)}
    step = max(LEAST.words, (1 << max(shape.words.bit_length() - 1, 0)) // 4)
    return Shape(**{**doubled, "words": -(-shape.words // step) * step})


def _doubled(size: int, least: int) -> int:
    return least << max(-(-size // least) - 1, 0).bit_length()
