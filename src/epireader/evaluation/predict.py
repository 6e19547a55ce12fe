"""Asking readers a whole set of questions."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from epireader.data.batches import Batch, BatchCutter, in_order_of_length
from epireader.data.questions import Questions
from epireader.readers.reading import Reading
from epireader.readers.saved import Model

WORDS_AT_ONCE = 60_000
"""How many words of passages are read at once, so that memory does not grow with the length of a passage."""


@dataclass(frozen=True)
class Predictions:
    """Probabilities of every candidate of every question: those of question n are `[offsets[n]:offsets[n + 1]]`."""

    offsets: np.ndarray
    final: np.ndarray
    """pi; 0 for a candidate the reader ruled out."""
    first: np.ndarray
    """p, before reranking."""
    evidence: np.ndarray | None
    """e; 0 for a candidate that was not put to the test. None for readers that do not rerank, which have no part in it."""
    answers: np.ndarray

    def __len__(self) -> int:
        return len(self.answers)

    def of(self, number: int) -> slice:
        return slice(int(self.offsets[number]), int(self.offsets[number + 1]))


def predict(
    members: Sequence[Model],
    questions: Questions,
    *,
    batch_size: int = 128,
    device: torch.device | str = "cpu",
    on_questions: Callable[[int], None] | None = None,
) -> Predictions:
    """What a reader, or the average of several, says of every question."""
    offsets = questions.candidates.offsets.numpy()
    totals: dict[str, np.ndarray] = {}
    views: Counter[str] = Counter()
    for model in members:
        given: set[str] = set()
        for batch, reading in read_all(model, questions, batch_size=batch_size, device=device):
            for name, probs in _probabilities(reading).items():
                given.add(name)
                _add(totals.setdefault(name, np.zeros(offsets[-1], np.float32)), probs, batch, offsets)
            if on_questions:
                on_questions(len(batch))
        views.update(given)
    means = {name: total / views[name] for name, total in totals.items()}
    return Predictions(offsets, means["final"], means["first"], means.get("evidence"), questions.answers.numpy())


def read_all(
    model: Model, questions: Questions, *, batch_size: int, device: torch.device | str
) -> Iterator[tuple[Batch, Reading]]:
    """Every question read once, in batches of similar length."""
    was_training = model.module.training
    move_to(model.module, torch.device(device))
    model.module.eval()
    cutter = BatchCutter(questions, model.vocabulary, device)
    try:
        for block in in_order_of_length(cutter.sizes.words, batch_size):
            pieces = max(1, -(-int(cutter.sizes.words[block].max()) * len(block) // WORDS_AT_ONCE))
            for rows in np.array_split(block, min(pieces, len(block))):
                batch = cutter.cut(torch.from_numpy(rows), cutter.sizes.of(rows))
                with torch.no_grad():
                    reading = model.module(batch)
                yield batch, reading
    finally:
        model.module.train(was_training)


def move_to(module: nn.Module, device: torch.device) -> None:
    """Move a reader to a device, unless it is there: even an idle move gives a GRU's weights new addresses."""
    first = next(module.parameters(), None)
    if first is None:
        return
    here = first.device
    if here.type != device.type or device.index not in (None, here.index):
        module.to(device)


def _probabilities(reading: Reading) -> dict[str, torch.Tensor]:
    probs = {"final": reading.log_probs.exp(), "first": reading.first_log_probs.exp()}
    if reading.evidence is not None:
        e = torch.zeros_like(probs["final"])
        probs["evidence"] = e.scatter(1, reading.evidence.hypotheses, reading.evidence.log_probs.exp())
    return probs


def _add(total: np.ndarray, probs: torch.Tensor, batch: Batch, offsets: np.ndarray) -> None:
    rows, values = batch.row.cpu().numpy(), probs.float().cpu().numpy()
    columns = np.arange(values.shape[1])
    inside = columns < (offsets[rows + 1] - offsets[rows])[:, None]
    total[(offsets[rows][:, None] + columns)[inside]] += values[inside]
