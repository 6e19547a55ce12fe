"""The mean of a reader's weights over the steps of its training, which is steadier than the weights of any one step.

It is kept with the optimizer's other memories of each weight, so that it is saved, restored and recorded with them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

MEAN = "mean"
STEPS = "steps_in_mean"
"""How many steps the means are of; it is kept with the first of the weights."""

LAST_PART = 10
"""However slow a mean is, it lags no more than about a tenth of the steps behind: earlier weights know too little."""


def keep_means(optimizer: torch.optim.Optimizer, decay: float) -> None:
    """From now on, after every step, each weight's mean moves towards it: what it was counts `decay` times as much.

    While there are fewer steps than that needs, it counts less (`LAST_PART`).
    """

    @torch.no_grad()
    def follow(*_: Any) -> None:
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        memories = [optimizer.state[weight] for weight in weights]
        if STEPS not in memories[0]:
            memories[0][STEPS] = weights[0].new_zeros(())
            for memory, weight in zip(memories, weights, strict=True):
                memory[MEAN] = torch.zeros_like(weight)
        means, steps = [memory[MEAN] for memory in memories], memories[0][STEPS]
        steps += 1
        moves = torch._foreach_sub(weights, means)
        torch._foreach_mul_(moves, (LAST_PART / (LAST_PART - 1 + steps)).clamp(min=1.0 - decay))
        torch._foreach_add_(means, moves)

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
