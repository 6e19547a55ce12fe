"""LSTMs. What they share with GRUs (directions, padding, ends) is tested there."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.recurrence import bilstm_final, bilstm_states, lstm_states
from reference.small import roughened
from reference.weights import part, weights_of

from epireader.layers.lstm import LSTM, BiLSTM

lengths = st.lists(st.integers(1, 5), min_size=1, max_size=3)


def sequences(lengths: list[int], width: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random inputs of these lengths; padding holds garbage, which nothing may look at."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(len(lengths), width, 3, generator=generator, dtype=torch.float64)
    mask = torch.arange(width) < torch.tensor(lengths)[:, None]
    return torch.where(mask[..., None], inputs, 1e3), mask


@settings(max_examples=15)
@given(lengths=lengths, hidden=st.integers(1, 3), extra=st.integers(0, 2), seed=st.integers(0, 10_000))
def test_both_directions_agree_with_the_definition_whatever_the_padding(
    lengths: list[int], hidden: int, extra: int, seed: int
) -> None:
    module = roughened(BiLSTM(3, hidden), seed)
    inputs, mask = sequences(lengths, max(lengths) + extra, seed)
    encoded, weights = module(inputs, mask), weights_of(module)
    for row, length in enumerate(lengths):
        words = inputs[row, :length].tolist()
        expected = torch.tensor(bilstm_states(weights, words), dtype=torch.float64)
        torch.testing.assert_close(encoded.states[row, :length], expected)
        torch.testing.assert_close(encoded.final[row], torch.tensor(bilstm_final(weights, words), dtype=torch.float64))


def test_one_direction_ends_at_the_last_real_word() -> None:
    module = roughened(LSTM(3, 2), 0)
    inputs, mask = sequences([2, 4], 5, 1)
    encoded, weights = module(inputs, mask), part(weights_of(module), "recurrence")
    for row, length in enumerate([2, 4]):
        states = torch.tensor(lstm_states(weights, inputs[row, :length].tolist()), dtype=torch.float64)
        torch.testing.assert_close(encoded.final[row], states[-1])


def test_two_steps_worked_by_hand() -> None:
    lstm = LSTM(1, 1)
    with torch.no_grad():
        for parameter in lstm.parameters():
            parameter.zero_()
        lstm.recurrence.weight_ih_l0[2] = 1.0
    # All gates stand at a half: the cell takes in half of tanh(x), keeps half of itself, and shows half of its tanh.
    first = 0.5 * math.tanh(1)
    second = 0.5 * first + 0.5 * math.tanh(-2)
    encoded = lstm(torch.tensor([[[1.0], [-2.0]]]), torch.ones(1, 2, dtype=torch.bool))
    expected = [0.5 * math.tanh(first), 0.5 * math.tanh(second)]
    assert encoded.states.flatten().tolist() == pytest.approx(expected)


def test_weights_start_orthogonal_and_glorot_gate_by_gate_and_biases_at_zero_but_that_of_forgetting_at_one() -> None:
    lstm = LSTM(6, 4).recurrence
    for gate in lstm.weight_hh_l0.detach().chunk(4):
        torch.testing.assert_close(gate @ gate.T, torch.eye(4), atol=1e-5, rtol=0)
    bound = math.sqrt(6 / (6 + 4))
    assert 0.7 * bound < lstm.weight_ih_l0.abs().max().item() <= bound
    assert lstm.bias_ih_l0.tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 8
    assert not lstm.bias_hh_l0.any()
