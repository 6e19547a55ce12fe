"""Long short-term memory over padded sequences, in one direction or both.

As `torch.nn.LSTM` has it: the gates do not see the cell ("peepholes", which Hermann et al. write down). Biases begin at
zero, but the forget gate's at 1: at 0 a cell loses half of what it holds with every word, and passages are long.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from epireader.layers.directions import BothDirections, Encoded, ended, initialise

FORGET_GATE = 1
"""Its place among the four gates of `nn.LSTM`."""


class LSTM(nn.Module):
    """An LSTM that reads from left to right; its final state is the one after the last real word."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.recurrence = nn.LSTM(input_dim, hidden_dim, batch_first=True)
        initialise(self.recurrence)
        bias = dict(self.recurrence.named_parameters())["bias_ih_l0"]
        nn.init.ones_(bias.detach().chunk(4)[FORGET_GATE])

    def forward(self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
        # In half precision on a GPU only: many CPUs have no such LSTM and refuse it.
        half = torch.is_autocast_enabled(inputs.device.type) and inputs.device.type != "cpu"
        with torch.autocast(inputs.device.type, enabled=half):
            states, _ = self.recurrence(inputs if half else inputs.to(next(self.parameters()).dtype))
        return ended(states, mask)


class BiLSTM(BothDirections):
    """Two LSTMs, one reading forwards and one backwards."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(LSTM(input_dim, hidden_dim), LSTM(input_dim, hidden_dim))
