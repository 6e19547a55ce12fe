"""The memory network."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import memory as slow
from reference.cases import Case, Extra, batch_of_cases
from reference.small import hard_cases, memory_reader
from reference.weights import weights_of

from epireader.readers.memory import MemoryConfig, windows

extras = st.builds(Extra, *[st.integers(0, 2)] * 5)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 4), window=st.sampled_from([1, 3, 5]), extra=extras)
def test_the_memory_network_agrees_with_its_definition(seed: int, count: int, window: int, extra: Extra) -> None:
    module, cases = memory_reader(seed, window), hard_cases(seed, count)
    batch, weights = batch_of_cases(cases, extra), weights_of(module)
    reading = module(batch)
    for row, case in zip(reading.log_probs.exp().tolist(), cases, strict=True):
        expected = slow.probabilities(case, weights, window)
        assert row == pytest.approx(expected + [0.0] * (len(row) - len(expected)), rel=1e-6)
    losses = [slow.loss(case, weights, window) for case in cases]
    assert module.loss(reading, batch).total.item() == pytest.approx(sum(losses) / count, rel=1e-6, abs=1e-9)


def test_windows_worked_by_hand() -> None:
    assert windows(torch.tensor([[5, 6, 7]]), 5).tolist() == [[[0, 0, 5, 6, 7], [0, 5, 6, 7, 0], [5, 6, 7, 0, 0]]]


def test_a_word_to_the_left_is_another_feature_than_the_same_word_to_the_right() -> None:
    cases = [Case([words], [9, 1, 10], [[5], [6]], 0) for words in ([9, 5, 10, 6], [10, 5, 9, 6])]
    log_probs = memory_reader(1)(batch_of_cases(cases)).log_probs[:, 0]
    assert log_probs[0] != log_probs[1]


def test_what_stands_outside_a_window_does_not_matter() -> None:
    cases = [Case([[5, 9, 9, far, 9, 9, 6]], [8, 7, 7, 1], [[5], [6]], 0) for far in (10, 11)]
    log_probs = memory_reader(2)(batch_of_cases(cases)).log_probs
    assert torch.equal(log_probs[0], log_probs[1])


def test_only_the_best_memory_of_the_answer_is_pulled_and_its_others_are_let_be() -> None:
    module = memory_reader(3, window=3)
    batch = batch_of_cases([Case([[8, 5, 9], [10, 5, 11], [12, 6, 7]], [8, 1, 9], [[5], [6]], 0)])
    reading = module(batch)
    reading.log_attention.retain_grad()
    module.loss(reading, batch).total.backward()
    best, other = sorted((1, 4), key=lambda place: -reading.log_attention[0, place].item())
    assert reading.log_attention.grad[0, best] < 0 < reading.log_attention.grad[0, 7]
    assert reading.log_attention.grad[0, other] == 0


def test_a_window_without_a_centre_is_refused() -> None:
    with pytest.raises(ValueError, match=r"model\.window must be odd so that every window has a centre, got 4"):
        MemoryConfig(window=4)
