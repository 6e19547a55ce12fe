"""Long short-term memory over padded sequences, in one direction or both.

As `torch.nn.LSTM` has it: the gates do not see the cell ("peepholes", which Hermann et al. write down). Biases begin at
zero, but the forget gate's at 1: at 0 a cell loses half of what it holds with every word, and passages are long.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import linear

from epireader.layers.directions import (
    BothDirections,
    Encoded,
    can_be_fused,
    ended,
    initialise,
    is_step_by_step,
    stacked,
    weights_of,
)
from epireader.layers.products import many_rows_linear

FORGET_GATE = 1
"""Its place among the four gates of `nn.LSTM`."""


class LSTM(nn.Module):
    """An LSTM that reads from left to right; its final state is the one after the last real word."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.recurrence = nn.LSTM(input_dim, hidden_dim, batch_first=True)
        initialise(self.recurrence)
        _, input_bias, _, _ = weights_of(self.recurrence)
        nn.init.ones_(input_bias.detach().chunk(4)[FORGET_GATE])

    def forward(self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
        if can_be_fused(inputs, self.recurrence.hidden_size):
            return read_fused([self.recurrence], inputs, mask)
        if is_step_by_step():
            return ended(read_stepwise(self.recurrence, inputs), mask)
        # In half precision on a GPU only: many CPUs have no such LSTM and refuse it.
        half = torch.is_autocast_enabled(inputs.device.type) and inputs.device.type != "cpu"
        with torch.autocast(inputs.device.type, enabled=half):
            states, _ = self.recurrence(inputs if half else inputs.to(next(self.parameters()).dtype))
        return ended(states, mask)


class BiLSTM(BothDirections[LSTM]):
    """Two LSTMs, one reading forwards and one backwards."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(LSTM(input_dim, hidden_dim), LSTM(input_dim, hidden_dim))

    def forward(self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
        if can_be_fused(inputs, self.forwards.recurrence.hidden_size):
            return read_fused([self.forwards.recurrence, self.backwards.recurrence], inputs, mask)
        return super().forward(inputs, mask)


def read_fused(ways: list[nn.LSTM], inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
    """What one LSTM makes of a sequence, or two that read it both ways."""
    from epireader.layers.fused.lstm import fused_lstm  # Triton is there where a GPU is

    bias = stacked(ways, "bias_ih_l0") + stacked(ways, "bias_hh_l0")
    weight = stacked(ways, "weight_ih_l0").flatten(0, 1)
    gates = many_rows_linear(inputs, weight, bias.flatten()).unflatten(-1, (len(ways), -1))
    lengths = mask.sum(dim=1, dtype=torch.int32)
    states, final = fused_lstm(gates[None], stacked(ways, "weight_hh_l0")[None], lengths[None])
    return Encoded(states.squeeze(0).flatten(2), final.squeeze(0).flatten(1))


def read_stepwise(lstm: nn.LSTM, inputs: Float[Tensor, "batch n in"]) -> Float[Tensor, "batch n hid"]:
    """The states, from plain operations alone."""
    input_weight, input_bias, state_weight, state_bias = weights_of(lstm)
    given = linear(inputs, input_weight, input_bias)
    state = cell = torch.zeros_like(given[:, 0, : lstm.hidden_size])
    states = []
    for at_word in given.unbind(dim=1):
        gates = at_word + linear(state, state_weight, state_bias)
        input_gate, forget, new, output = gates.chunk(4, dim=-1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(input_gate) * torch.tanh(new)
        state = torch.sigmoid(output) * torch.tanh(cell)
        states.append(state)
    return torch.stack(states, dim=1)
