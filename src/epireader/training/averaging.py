"""The mean of a reader's weights over the steps of its training, which is steadier than the weights of any one step.

It is kept with the optimizer's other memories of each weight, so that it is saved, restored and recorded with them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

MEAN = "mean"


def keep_means(optimizer: torch.optim.Optimizer, decay: float) -> None:
    """From now on, after every step, each weight's mean moves towards it: what it was counts `decay` times as much."""

    @torch.no_grad()
    def follow(*_: Any) -> None:
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        for weight in weights:
            if MEAN not in optimizer.state[weight]:
                optimizer.state[weight][MEAN] = weight.detach().clone()
        torch._foreach_lerp_([optimizer.state[weight][MEAN] for weight in weights], weights, 1.0 - decay)

    optimizer.register_step_post_hook(follow)


@contextmanager
def mean_weights(optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Here the reader has its mean weights, where they are kept; afterwards its own again, in the same places."""
    pairs = [(weight, state[MEAN]) for weight, state in optimizer.state.items() if MEAN in state]
    _swap(pairs)
    try:
        yield
    finally:
        _swap(pairs)


@torch.no_grad()
def _swap(pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    for one, other in pairs:
        kept = one.clone()
        one.copy_(other)
        other.copy_(kept)
