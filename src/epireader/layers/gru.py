"""Gated recurrent units over padded sequences, in one direction or both."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from epireader.layers.streams import side_by_side


@dataclass(frozen=True)
class Encoded:
    """What an encoder made of a sequence: a state for every word, and one for the whole."""

    states: Float[Tensor, "batch n out"]
    final: Float[Tensor, "batch out"]


class GRU(nn.Module):
    """A GRU that reads from left to right; its final state is the one after the last real word.

    Padding stands at the end and comes after every real word, so it reaches no state that is used.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.recurrence = nn.GRU(input_dim, hidden_dim, batch_first=True)
        initialise_gru(self.recurrence)

    def forward(self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
        states, _ = self.recurrence(inputs)
        last = (mask.sum(dim=1) - 1).clamp(min=0)
        return Encoded(states, states[torch.arange(len(states), device=states.device), last])


class BiGRU(nn.Module):
    """Two GRUs with weights of their own, one reading forwards and one backwards (section 3.2).

    A word's state is both directions' states side by side. The final state is the last forward state beside the
    first backward one: each has read the whole sequence.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.forwards = GRU(input_dim, hidden_dim)
        self.backwards = GRU(input_dim, hidden_dim)

    def forward(self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
        forwards, (states, final) = side_by_side(
            lambda: self.forwards(inputs, mask), lambda: self._read_backwards(inputs, mask), [inputs, mask]
        )
        return Encoded(torch.cat([forwards.states, states], dim=-1), torch.cat([forwards.final, final], dim=-1))

    def _read_backwards(
        self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]
    ) -> tuple[Float[Tensor, "batch n hid"], Float[Tensor, "batch hid"]]:
        # Reversed within its length, not as a whole: padding must stay behind the words.
        length = mask.sum(dim=1, keepdim=True)
        position = torch.arange(inputs.shape[1], device=inputs.device)
        mirror = torch.where(position < length, length - 1 - position, position)
        read = self.backwards(_reorder(inputs, mirror), mask)
        return _reorder(read.states, mirror), read.final


def initialise_gru(gru: nn.GRU) -> None:
    """Recurrent weights orthogonal, input weights Glorot, gate by gate; biases zero."""
    for name, parameter in gru.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
            continue
        fill = nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_
        for gate in parameter.chunk(3):
            fill(gate)


def _reorder(values: Float[Tensor, "batch n dim"], order: Tensor) -> Float[Tensor, "batch n dim"]:
    return values.gather(1, order[..., None].expand(values.shape))
