"""GRUs: the recurrence itself, its two directions, and what padding must not do to them."""

import math
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.recurrence import bigru_final, bigru_states, gru_states
from reference.small import roughened
from reference.weights import part, weights_of
from torch import Tensor

from epireader.layers.directions import can_be_fused, has_room, step_by_step
from epireader.layers.embedding import word_embedding
from epireader.layers.gru import GRU, BiGRU
from epireader.layers.lockstep import FEW_SEQUENCES, only_reads, pays_in_lockstep
from epireader.layers.lstm import LSTM, BiLSTM

seeds = st.integers(0, 10_000)


def sequences(lengths: list[int], width: int, dim: int, seed: int) -> tuple[Tensor, Tensor]:
    """Random inputs of these lengths; padding holds garbage, which nothing may look at."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(len(lengths), width, dim, generator=generator, dtype=torch.float64)
    mask = torch.arange(width) < torch.tensor(lengths)[:, None]
    return torch.where(mask[..., None], inputs, 1e3), mask


def bigru(input_dim: int = 3, hidden_dim: int = 2, seed: int = 0) -> BiGRU:
    module = roughened(BiGRU(input_dim, hidden_dim), seed)
    assert isinstance(module, BiGRU)
    return module


@settings(max_examples=25)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    dim=st.integers(1, 4),
    hidden=st.integers(1, 3),
    extra=st.integers(0, 3),
    seed=seeds,
)
def test_both_directions_agree_with_the_definition_whatever_the_padding(
    lengths: list[int], dim: int, hidden: int, extra: int, seed: int
) -> None:
    module = bigru(dim, hidden, seed)
    inputs, mask = sequences(lengths, max(lengths) + extra, dim, seed)
    encoded, weights = module(inputs, mask), weights_of(module)
    for row, length in enumerate(lengths):
        words = inputs[row, :length].tolist()
        expected = torch.tensor(bigru_states(weights, words), dtype=torch.float64)
        torch.testing.assert_close(encoded.states[row, :length], expected)
        torch.testing.assert_close(encoded.final[row], torch.tensor(bigru_final(weights, words), dtype=torch.float64))


@pytest.mark.parametrize("learns", [True, False])
@settings(max_examples=15)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=3), seed=seeds)
def test_the_final_states_can_be_had_alone(learns: bool, lengths: list[int], seed: int) -> None:
    module = bigru(seed=seed)
    inputs, mask = sequences(lengths, max(lengths), 3, seed)
    with torch.set_grad_enabled(learns):
        final = module.final(inputs, None if mask.all() else mask)
    for row, length in enumerate(lengths):
        expected = bigru_final(weights_of(module), inputs[row, :length].tolist())
        torch.testing.assert_close(final[row].detach(), torch.tensor(expected, dtype=torch.float64))


@settings(max_examples=15)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4), extra=st.integers(0, 3), seed=seeds)
def test_one_direction_agrees_with_the_definition_and_ends_at_the_last_real_word(
    lengths: list[int], extra: int, seed: int
) -> None:
    module = roughened(GRU(3, 2), seed)
    inputs, mask = sequences(lengths, max(lengths) + extra, 3, seed)
    encoded, weights = module(inputs, mask), part(weights_of(module), "recurrence")
    for row, length in enumerate(lengths):
        states = torch.tensor(gru_states(weights, inputs[row, :length].tolist()), dtype=torch.float64)
        torch.testing.assert_close(encoded.states[row, :length], states)
        torch.testing.assert_close(encoded.final[row], states[-1])


def test_two_steps_worked_by_hand() -> None:
    gru = GRU(1, 1)
    with torch.no_grad():
        for parameter in gru.parameters():
            parameter.zero_()
        gru.recurrence.weight_ih_l0[2] = 1.0
        gru.recurrence.weight_hh_l0[2] = 2.0
        gru.recurrence.bias_hh_l0[2] = 0.5
    # Both gates stand at a half. Reset after the product: the recurrent bias is halved too.
    first = 0.5 * math.tanh(1 + 0.5 * 0.5)
    second = 0.5 * math.tanh(0 + 0.5 * (2 * first + 0.5)) + 0.5 * first
    encoded = gru(torch.tensor([[[1.0], [0.0]]]), torch.ones(1, 2, dtype=torch.bool))
    assert encoded.states.flatten().tolist() == pytest.approx([first, second])
    assert [first, second] == pytest.approx([0.4241418, 0.5059198], abs=1e-6)
    assert encoded.final.item() == pytest.approx(second)


@pytest.mark.parametrize("changed", range(5))
def test_each_direction_reads_its_way(changed: int) -> None:
    module = bigru()
    inputs, mask = sequences([5, 3], 6, 3, seed=1)
    other = inputs.clone()
    other[0, changed] += 1.0
    before, after = module(inputs, mask), module(other, mask)
    same = (before.states[0, :5] == after.states[0, :5]).view(5, 2, 2).all(dim=2)
    assert same[:, 0].tolist() == [place < changed for place in range(5)], "forwards: nothing before the change"
    assert same[:, 1].tolist() == [place > changed for place in range(5)], "backwards: nothing after the change"
    assert (before.final[0] != after.final[0]).all(), "both final states have read every word"
    assert torch.equal(before.states[1], after.states[1])


def test_each_direction_owns_its_weights() -> None:
    module = bigru()
    owned = [{parameter.data_ptr() for parameter in way.parameters()} for way in (module.forwards, module.backwards)]
    assert len(owned[0]) == len(owned[1]) == 4
    assert not owned[0] & owned[1]
    inputs, mask = sequences([4], 4, 3, seed=2)
    before = module(inputs, mask)
    with torch.no_grad():
        for parameter in module.backwards.parameters():
            parameter.mul_(-0.5)
    after = module(inputs, mask)
    assert torch.equal(before.states[..., :2], after.states[..., :2])
    assert (before.states[..., 2:] != after.states[..., 2:]).all()


def test_a_mirrored_sentence_read_by_swapped_directions_gives_mirrored_states() -> None:
    module = bigru()
    inputs, mask = sequences([4], 4, 3, seed=3)
    states = module(inputs, mask).states
    module.forwards, module.backwards = module.backwards, module.forwards
    mirrored = module(inputs.flip(1), mask).states.flip(1)
    torch.testing.assert_close(mirrored, torch.cat([states[..., 2:], states[..., :2]], dim=-1))


def test_padding_gets_no_gradient() -> None:
    module = bigru()
    inputs, mask = sequences([2, 5, 1], 6, 3, seed=4)
    inputs.requires_grad_()
    encoded = module(inputs, mask)
    (encoded.states[mask].square().sum() + encoded.final.square().sum()).backward()
    assert inputs.grad is not None
    assert (inputs.grad[~mask] == 0).all()
    assert (inputs.grad[mask] != 0).all()


def test_a_row_of_padding_is_harmless() -> None:
    encoded = bigru()(torch.zeros(2, 3, 3, dtype=torch.float64), torch.zeros(2, 3, dtype=torch.bool))
    assert encoded.states.isfinite().all()
    assert encoded.final.isfinite().all()


def test_input_weights_start_orthogonal_too_where_that_is_asked() -> None:
    for way in (BiGRU(5, 9, orthogonal=True).forwards, BiGRU(5, 9, orthogonal=True).backwards):
        for gate in way.recurrence.weight_ih_l0.detach().split(9):
            torch.testing.assert_close(gate.mT @ gate, torch.eye(5), atol=1e-5, rtol=0)


def test_weights_start_orthogonal_and_glorot_gate_by_gate_and_biases_at_zero() -> None:
    gru = GRU(6, 4).recurrence
    for gate in gru.weight_hh_l0.detach().chunk(3):
        torch.testing.assert_close(gate @ gate.T, torch.eye(4), atol=1e-5, rtol=0)
    bound = math.sqrt(6 / (6 + 4))
    assert 0.7 * bound < gru.weight_ih_l0.abs().max().item() <= bound
    assert not gru.bias_ih_l0.any()
    assert not gru.bias_hh_l0.any()


@pytest.mark.parametrize("make", [GRU, BiGRU, LSTM, BiLSTM])
def test_step_by_step_it_is_the_same_recurrence(make: type) -> None:
    torch.manual_seed(0)
    encoder = make(3, 4)
    inputs, mask = torch.randn(2, 5, 3), torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
    together = encoder(inputs, mask)
    with step_by_step():
        stepwise = encoder(inputs, mask)
    torch.testing.assert_close(stepwise.states[mask], together.states[mask])
    torch.testing.assert_close(stepwise.final, together.final)


def test_nothing_is_fused_on_a_cpu() -> None:
    assert not can_be_fused(torch.zeros(1, 1, 1), 128)


@pytest.mark.parametrize(
    ("generation", "hidden", "fits"), [(9, 256, True), (10, 128, True), (8, 64, True), (8, 128, False), (7, 16, False)]
)
def test_weights_must_fit_on_the_chip(
    generation: int, hidden: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(major=generation))
    assert has_room.__wrapped__(torch.device("cuda"), hidden) == fits


@pytest.mark.parametrize("make", [GRU, BiGRU])
@settings(max_examples=15)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=FEW_SEQUENCES), extra=st.integers(0, 2), seed=seeds)
def test_few_sequences_in_lockstep_are_read_as_many_are(
    make: Callable[[int, int], GRU | BiGRU], lengths: list[int], extra: int, seed: int
) -> None:
    module = roughened(make(3, 4), seed)
    inputs, mask = sequences(lengths, max(lengths) + extra, 3, seed)
    learning = module(inputs, mask)
    assert not pays_in_lockstep(inputs)
    with torch.no_grad():
        assert pays_in_lockstep(inputs)
        in_lockstep = module(inputs, mask)
    torch.testing.assert_close(in_lockstep.states[mask], learning.states[mask].detach())
    torch.testing.assert_close(in_lockstep.final, learning.final.detach())


@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(0, 6), min_size=FEW_SEQUENCES + 1, max_size=FEW_SEQUENCES + 5).filter(any),
    extra=st.integers(0, 2),
    seed=seeds,
)
def test_many_sequences_are_read_packed_as_where_something_is_learnt(lengths: list[int], extra: int, seed: int) -> None:
    module = bigru(seed=seed)
    inputs, mask = sequences(lengths, max(lengths) + extra, 3, seed)
    learning = module(inputs, mask)
    with torch.no_grad():
        assert only_reads(inputs)
        packed = module(inputs, mask)
    there = mask.any(dim=1)
    torch.testing.assert_close(packed.states[mask], learning.states[mask].detach())
    torch.testing.assert_close(packed.final[there], learning.final[there].detach())
    assert packed.states.isfinite().all()


@settings(max_examples=25)
@given(
    batch=st.integers(1, FEW_SEQUENCES + 2),
    steps=st.integers(1, 6),
    hidden=st.integers(1, 3),
    learns=st.booleans(),
    seed=seeds,
)
def test_sequences_without_padding_need_no_mask(batch: int, steps: int, hidden: int, learns: bool, seed: int) -> None:
    inputs, _ = sequences([steps] * batch, steps, 3, seed)
    both, one = bigru(3, hidden, seed), roughened(GRU(3, hidden), seed)
    assert isinstance(one, GRU)
    with torch.set_grad_enabled(learns):
        unmasked, by_step = both(inputs, None), one.read_steps(inputs.transpose(0, 1))
    for row, words in enumerate(inputs.tolist()):
        weights = weights_of(both)
        torch.testing.assert_close(unmasked.states[row].tolist(), bigru_states(weights, words))
        torch.testing.assert_close(unmasked.final[row].tolist(), bigru_final(weights, words))
        torch.testing.assert_close(by_step[:, row].tolist(), gru_states(part(weights_of(one), "recurrence"), words))


@settings(max_examples=15)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=3), extra=st.integers(0, 2), seed=seeds)
def test_words_are_read_as_their_vectors_are(lengths: list[int], extra: int, seed: int) -> None:
    module, embedding = bigru(seed=seed), roughened(word_embedding(4, 3), seed)
    mask = torch.arange(max(lengths) + extra) < torch.tensor(lengths)[:, None]
    drawn = torch.randint(1, 4, mask.shape, generator=torch.Generator().manual_seed(seed))
    words = torch.where(mask, drawn, 0)
    expected = module(embedding(words), mask)
    with torch.no_grad():
        read = module.read(embedding(words), words)
    torch.testing.assert_close(read.states[mask], expected.states[mask].detach())
    torch.testing.assert_close(read.final, expected.final.detach())
    assert torch.equal(module.read(embedding(words), words).states, expected.states)


def moved(module: BiGRU) -> None:
    """The weights elsewhere in memory, and others."""
    for parameter in module.parameters():
        parameter.data = parameter.data.clone() + 1


def filled(module: BiGRU) -> None:
    module.load_state_dict({name: weight + 1 for name, weight in module.state_dict().items()})


def added_to(module: BiGRU) -> None:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 1


def taught(module: BiGRU) -> None:
    """By an optimiser that does not count its changes."""
    inputs, mask = sequences([4, 2], 4, 3, 2)
    optimizer = torch.optim.Adam(module.parameters(), lr=1, fused=True)
    with torch.enable_grad():
        module(inputs, mask).states.sum().backward()
    optimizer.step()


@pytest.mark.parametrize("change", [moved, filled, added_to, taught])
def test_weights_prepared_for_steps_are_prepared_again_when_they_change(change: Callable[[BiGRU], None]) -> None:
    module = bigru(seed=1)
    inputs, mask = sequences([4, 2], 4, 3, 1)
    with torch.no_grad():
        before = module(inputs, mask)
        change(module)
        after = module(inputs, mask)
    expected = module(inputs, mask)
    assert not torch.allclose(before.final, after.final)
    torch.testing.assert_close(after.final, expected.final.detach())


def test_weights_whose_changes_are_not_counted_are_prepared_every_time() -> None:
    inputs, mask = sequences([4, 2], 4, 3, 1)
    with torch.inference_mode():
        module = bigru(seed=1)
        before = module(inputs, mask)
        added_to(module)
        after = module(inputs, mask)
    assert not torch.allclose(before.final, after.final)


def test_other_weights_put_in_their_place_are_used() -> None:
    module, other = bigru(seed=1), bigru(seed=2)
    inputs, mask = sequences([4, 2], 4, 3, 1)
    with torch.no_grad():
        module(inputs, mask)
        swapped = torch.func.functional_call(module, dict(other.named_parameters()), (inputs, mask))
        assert torch.equal(swapped.final, other(inputs, mask).final)
