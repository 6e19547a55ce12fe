"""Gated recurrent units over padded sequences, in one direction or both."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from epireader.data.vocabulary import PAD_ID
from epireader.layers.directions import (
    BothDirections,
    Encoded,
    can_be_fused,
    ended,
    initialise,
    is_step_by_step,
    weights_of,
)
from epireader.layers.embedding import each_once
from epireader.layers.lockstep import final_alone, forget, only_reads, pays_in_lockstep, read_in_lockstep, read_whole
from epireader.layers.products import many_rows_linear


class GRU(nn.Module):
    """A GRU that reads from left to right; its final state is the one after the last real word.

    Padding stands at the end and comes after every real word, so it reaches no state that is used.
    """

    def __init__(self, input_dim: int, hidden_dim: int, *, orthogonal: bool = False) -> None:
        super().__init__()
        self.recurrence = nn.GRU(input_dim, hidden_dim, batch_first=True)
        initialise(self.recurrence, orthogonal=orthogonal)

    def forward(self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
        if can_be_fused(inputs, self.recurrence.hidden_size):
            return read_fused([self.recurrence], inputs, mask)
        if pays_in_lockstep(inputs):
            return read_in_lockstep([self.recurrence], inputs.flatten(0, 1), inputs.shape[:2], mask)
        if torch.is_grad_enabled():
            forget(self.recurrence)
        states = read_stepwise(self.recurrence, inputs) if is_step_by_step() else self.recurrence(inputs)[0]
        return ended(states, mask)

    def read_steps(self, steps: Float[Tensor, "n batch in"]) -> Float[Tensor, "n batch hid"]:
        """The states of sequences without padding, given step by step and returned so."""
        sequences = steps.transpose(0, 1)
        if pays_in_lockstep(sequences):
            return read_whole([self.recurrence], steps.flatten(0, 1), steps.shape[1])[:, 0]
        return self.forward(sequences, _everything(sequences)).states.transpose(0, 1)

    def read_on(self, state: Float[Tensor, "1 hid"], words: Float[Tensor, "1 n in"]) -> Float[Tensor, "1 hid"]:
        """The state after some more words of one sequence, from which nothing is learnt; there may be none."""
        if not words.shape[1]:
            return state
        return read_whole([self.recurrence], words[0], start=state[None])[-1, 0]


class BiGRU(BothDirections[GRU]):
    """Two GRUs, one reading forwards and one backwards (section 3.2)."""

    def __init__(self, input_dim: int, hidden_dim: int, *, orthogonal: bool = False) -> None:
        ways = [GRU(input_dim, hidden_dim, orthogonal=orthogonal) for _ in range(2)]
        super().__init__(*ways)

    def forward(self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"] | None) -> Encoded:
        """Without a mask nothing is padding."""
        if pays_in_lockstep(inputs):
            return read_in_lockstep(self._ways, inputs.flatten(0, 1), inputs.shape[:2], mask)
        mask = _everything(inputs) if mask is None else mask
        if can_be_fused(inputs, self.forwards.recurrence.hidden_size):
            return read_fused(self._ways, inputs, mask)
        return read_packed(self._ways, inputs, mask) if only_reads(inputs) else super().forward(inputs, mask)

    def final(
        self, inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"] | None
    ) -> Float[Tensor, "batch out"]:
        """The final states alone."""
        if mask is None and len(inputs) == 1 and pays_in_lockstep(inputs):
            return final_alone(self._ways, inputs[0])
        return self.forward(inputs, mask).final

    def read(self, vectors: Float[Tensor, "batch n in"], words: Int[Tensor, "batch n"]) -> Encoded:
        """What it makes of the words' vectors; one that stands there twice may be multiplied with the weights once."""
        mask = words != PAD_ID
        if not pays_in_lockstep(vectors):
            return self.forward(vectors, mask)
        once = each_once(words.flatten())
        distinct = vectors.flatten(0, 1).index_select(0, once.stands)
        return read_in_lockstep(self._ways, distinct, words.shape, mask, once.which.view(words.shape))

    @property
    def _ways(self) -> list[nn.GRU]:
        return [self.forwards.recurrence, self.backwards.recurrence]


def _everything(inputs: Float[Tensor, "batch n in"]) -> Bool[Tensor, "batch n"]:
    return torch.ones(inputs.shape[:2], dtype=torch.bool, device=inputs.device)


def read_fused(ways: list[nn.GRU], inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
    """What one GRU makes of a sequence, or two that read it both ways."""
    from epireader.layers.fused.gru import fused_gru  # Triton is there where a GPU is

    input_weights, input_biases, state_weights, state_biases = zip(*(weights_of(way) for way in ways), strict=True)
    biases = [bias for pair in zip(input_biases, state_biases, strict=True) for bias in pair]
    input_weight, state_weight, bias = side_by_side(input_weights, state_weights, biases)
    gates = many_rows_linear(inputs, input_weight.flatten(0, 1)).unflatten(-1, (len(ways), -1))
    lengths = mask.sum(dim=1, dtype=torch.int32)
    states, final = fused_gru(gates[None], state_weight[None], bias.unflatten(0, (-1, 2))[None], lengths[None])
    return Encoded(states.squeeze(0).flatten(2), final.squeeze(0).flatten(1))


def read_packed(ways: list[nn.GRU], inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]) -> Encoded:
    """What two GRUs make of many sequences on a CPU: without the steps of padding, and with nothing to put in order."""
    packed = pack_padded_sequence(inputs, mask.sum(dim=1).clamp(min=1), batch_first=True, enforce_sorted=False)
    weights: list[Tensor] = [weight for way in ways for weight in way.parameters()]
    start = inputs.new_zeros(len(ways), len(inputs), ways[0].hidden_size)
    states, final = torch.gru(packed.data, packed.batch_sizes, start, weights, True, 1, 0.0, False, True)
    padded, _ = pad_packed_sequence(packed._replace(data=states), batch_first=True, total_length=inputs.shape[1])
    return Encoded(padded, final[:, packed.unsorted_indices].transpose(0, 1).flatten(1))


def side_by_side(*groups: Sequence[Tensor]) -> list[Tensor]:
    """The weights of each group as one tensor; all of them are copied at once."""
    flat = torch.cat([weight.flatten() for group in groups for weight in group])
    parts = flat.split([sum(weight.numel() for weight in group) for group in groups])
    return [part.view(len(group), *group[0].shape) for part, group in zip(parts, groups, strict=True)]


def read_stepwise(gru: nn.GRU, inputs: Float[Tensor, "batch n in"]) -> Float[Tensor, "batch n hid"]:
    """The states, from plain operations alone."""
    input_weight, input_bias, state_weight, state_bias = weights_of(gru)
    given = linear(inputs, input_weight, input_bias)
    state = torch.zeros_like(given[:, 0, : gru.hidden_size])
    states = []
    for at_word in given.unbind(dim=1):
        in_reset, in_update, in_new = at_word.chunk(3, dim=-1)
        from_reset, from_update, from_new = linear(state, state_weight, state_bias).chunk(3, dim=-1)
        update = torch.sigmoid(in_update + from_update)
        new = torch.tanh(in_new + torch.sigmoid(in_reset + from_reset) * from_new)
        state = new + update * (state - new)
        states.append(state)
    return torch.stack(states, dim=1)
