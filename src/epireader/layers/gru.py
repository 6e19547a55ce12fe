"""Gated recurrent units over padded sequences, in one direction or both."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from epireader.layers.directions import BothDirections, Encoded, ended, initialise


class GRU(nn.Module):
    """A GRU that reads from left to right; its final state is the one after the last real word.

    Padding stands at the end and comes after every real word, so it reaches no state that is used.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.recurrence = nn.GRU(input_dim, hidden_dim, batch_first=True)
        initialise(self.recurrence)

    def forward(self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
        states, _ = self.recurrence(inputs)
        return ended(states, mask)


class BiGRU(BothDirections):
    """Two GRUs, one reading forwards and one backwards (section 3.2)."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(GRU(input_dim, hidden_dim), GRU(input_dim, hidden_dim))
