"""What all recurrences over padded sequences share: where they end, how they are read backwards, how they begin."""

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


@dataclass(frozen=True)
class Encoded:
    """What an encoder made of a sequence: a state for every word, and one for the whole."""

    states: Float[Tensor, "batch n out"]
    final: Float[Tensor, "batch out"]


Recurrence = TypeVar("Recurrence", bound=nn.Module)


class BothDirections(nn.Module, Generic[Recurrence]):
    """Two recurrences with weights of their own, one reading forwards and one backwards.

    A word's state is both directions' states side by side. The final state is the last forward state beside the
    first backward one: each has read the whole sequence.
    """

    def __init__(self, forwards: Recurrence, backwards: Recurrence) -> None:
        super().__init__()
        self.forwards = forwards
        self.backwards = backwards

    def forward(self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
        forwards: Encoded = self.forwards(inputs, mask)
        backwards = self._read_backwards(inputs, mask)
        return Encoded(
            torch.cat([forwards.states, backwards.states], dim=-1), torch.cat([forwards.final, backwards.final], dim=-1)
        )

    def _read_backwards(self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
        mirror = reversed_within_length(mask)
        read: Encoded = self.backwards(reordered(inputs, mirror), mask)
        return Encoded(reordered(read.states, mirror), read.final)


def reversed_within_length(mask: Bool[Tensor, "batch n"]) -> Int[Tensor, "batch n"]:
    """The order in which a sequence is read backwards: padding stays behind the words."""
    length = mask.sum(dim=1, keepdim=True)
    position = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(position < length, length - 1 - position, position)


def ended(states: Float[Tensor, "batch n hid"], mask: Bool[Tensor, "batch n"]) -> Encoded:
    """The states of a recurrence from left to right; the final one is that after the last real word."""
    last = (mask.sum(dim=1) - 1).clamp(min=0)
    return Encoded(states, states[torch.arange(len(states), device=states.device), last])


def reordered(values: Float[Tensor, "batch n dim"], order: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n dim"]:
    """The entries of each row in the given order."""
    return values.gather(1, order[..., None].expand(values.shape))


def initialise(recurrence: nn.RNNBase, *, orthogonal: bool = False) -> None:
    """Recurrent weights orthogonal, input weights Glorot or, where so told, orthogonal too, gate by gate; biases zero."""
    for name, parameter in recurrence.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
            continue
        fill = nn.init.orthogonal_ if orthogonal or "weight_hh" in name else nn.init.xavier_uniform_
        for gate in parameter.split(recurrence.hidden_size):
            fill(gate)


FUSED_SIZES = (16, 32, 64, 128, 256)


def can_be_fused(inputs: Tensor, hidden_dim: int) -> bool:
    """Whether all steps can be one kernel, which holds the weights on the chip."""
    return hidden_dim in FUSED_SIZES and may_be_fused(inputs, hidden_dim)


def may_be_fused(inputs: Tensor, held: int = 0) -> bool:
    """Whether a kernel of our own may be used: on a GPU that has room for the weights of as many units as it holds, where
    products may be rounded as TF32 does."""
    if inputs.device.type != "cuda":
        return False
    rounded = torch.get_float32_matmul_precision() != "highest" or torch.is_autocast_enabled("cuda")
    return rounded and has_room(inputs.device, held)


@cache
def has_room(device: torch.device, hidden_dim: int) -> bool:
    """Whether a GPU can hold the weights of a step on the chip: from 128 units on that takes a Hopper or its successor."""
    if torch.version.cuda is None or importlib.util.find_spec("triton") is None:
        return False
    generation = torch.cuda.get_device_properties(device).major
    return generation in (9, 10) if hidden_dim >= 128 else generation >= 8


def stacked(ways: Sequence[nn.Module], name: str) -> Float[Tensor, "way *weight"]:
    """One weight of each direction."""
    return torch.stack([getattr(way, name) for way in ways])


def weights_of(recurrence: nn.RNNBase) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Weight and bias of the input, weight and bias of the state."""
    known: Any = recurrence
    return known.weight_ih_l0, known.bias_ih_l0, known.weight_hh_l0, known.bias_hh_l0


_plainly = ContextVar("_plainly", default=False)


@contextmanager
def step_by_step() -> Iterator[None]:
    """Here, recurrences that are not fused are computed with plain operations, a step at a time: slow, but with them
    `torch.func.vmap` can read with several readers at once, which it cannot with `torch.nn.GRU`."""
    token = _plainly.set(True)
    try:
        yield
    finally:
        _plainly.reset(token)


def is_step_by_step() -> bool:
    return _plainly.get()
