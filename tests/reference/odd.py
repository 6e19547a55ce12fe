"""Questions that are odd but can come up, and what must be true of a reader that meets one."""

import torch
from torch import nn

from epireader.data.batches import Batch
from reference.cases import Case

PLAIN = Case([[5, 6], [7, 8, 5]], [9, 1, 6], [[5], [6, 7], [8]], 2)
ODD = {
    "a passage of one word": Case([[5]], [9, 1, 6], [[5]], 0),
    "one candidate among many asked for": Case([[5, 6, 7]], [9, 1], [[6]], 0),
    "an answer that is not in the passage": Case([[5, 6, 7]], [9, 1], [[5], [10], [6]], 1),
    "no candidate in the passage": Case([[5, 6, 7]], [9, 1], [[9], [10]], 1),
    "an answer that is not known": Case([[5, 6, 7]], [9, 1], [[5], [6]], None),
    "a question that is only the blank": Case([[5, 6, 7], [8]], [1], [[5], [6]], 0),
    "a phrase longer than the passage": Case([[5]], [1, 6], [[5, 6, 7, 8], [5]], 1),
    "two candidates read as the same words": Case([[5, 6]], [1, 6], [[5], [5]], 1),
}


def assert_sound(module: nn.Module, batch: Batch) -> None:
    """Probabilities are probabilities, and loss and gradients are finite."""
    module.zero_grad()
    reading = module(batch)
    loss = module.loss(reading, batch).total
    assert loss.isfinite()
    for log_probs in (reading.log_probs, reading.first_log_probs):
        assert not log_probs.isnan().any()
        assert (log_probs < 1e-4).all()
    if loss.requires_grad:
        with torch.autograd.set_detect_anomaly(True):  # refuses a NaN on the way, even one that is masked later
            loss.backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name
