"""Masking: padding takes no part, and nothing turns into NaN."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.pointing import softmax
from torch import Tensor

from epireader.layers.masking import (
    grouped_logsumexp,
    masked_log_softmax,
    masked_logsumexp,
    masked_max,
    spread_log_probs,
)

MINUS_INFINITY = float("-inf")
GARBAGE = (0.0, 1e30, -1e30, float("inf"), MINUS_INFINITY, float("nan"))

rows = st.lists(st.tuples(st.floats(-30, 30), st.booleans()), min_size=1, max_size=7)


def masked(row: list[tuple[float, bool]], garbage: float = 0.0) -> tuple[Tensor, Tensor, list[float]]:
    """Values with garbage where the mask is False, the mask, and the real values."""
    values = torch.tensor([[value if real else garbage for value, real in row]], dtype=torch.float64)
    mask = torch.tensor([[real for _, real in row]])
    return values, mask, [value for value, real in row if real]


@settings(max_examples=60)
@given(row=rows, garbage=st.sampled_from(GARBAGE), learns=st.booleans())
def test_only_real_entries_share_a_softmax(row: list[tuple[float, bool]], garbage: float, learns: bool) -> None:
    values, mask, real = masked(row, garbage)
    with torch.set_grad_enabled(learns):
        probs = masked_log_softmax(values, mask).exp()
    assert probs[mask].tolist() == pytest.approx(softmax(real) if real else [], abs=1e-12)
    assert (probs[~mask] == 0).all()


@settings(max_examples=60)
@given(row=rows, garbage=st.sampled_from(GARBAGE))
def test_only_real_entries_are_summed_and_only_they_can_be_the_largest(
    row: list[tuple[float, bool]], garbage: float
) -> None:
    values, mask, real = masked(row, garbage)
    expected = math.log(sum(math.exp(value) for value in real)) if real else MINUS_INFINITY
    assert masked_logsumexp(values, mask).item() == pytest.approx(expected, abs=1e-12)
    assert masked_max(values, mask).item() == max(real, default=0.0)
    assert masked_max(torch.tensor([real], dtype=torch.float64), None).item() == max(real, default=0.0)


@settings(max_examples=60)
@given(
    entries=st.lists(st.tuples(st.floats(-900, 900) | st.just(MINUS_INFINITY), st.integers(0, 3)), max_size=9),
)
def test_each_group_is_summed_by_itself(entries: list[tuple[float, int]]) -> None:
    values = torch.tensor([value for value, _ in entries], dtype=torch.float64)
    group = torch.tensor([number for _, number in entries], dtype=torch.long)
    sums = grouped_logsumexp(values, group, 4)
    for number, log_sum in enumerate(sums.tolist()):
        own = [value for value, of in entries if of == number and value > MINUS_INFINITY]
        largest = max(own, default=0.0)
        expected = largest + math.log(sum(math.exp(value - largest) for value in own)) if own else MINUS_INFINITY
        assert log_sum == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("function", [masked_logsumexp, masked_log_softmax, masked_max])
@pytest.mark.parametrize("garbage", GARBAGE)
def test_the_gradient_is_finite_and_padding_gets_none(function, garbage: float) -> None:
    values = torch.tensor([[1.0, garbage, 2.0], [garbage, garbage, garbage], [3.0, MINUS_INFINITY, 1.0]])
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    values.requires_grad_()
    result = function(values, mask)
    with torch.autograd.set_detect_anomaly(True):  # refuses a NaN on the way, even one that is masked later
        result.masked_fill(result == MINUS_INFINITY, 0.0).square().sum().backward()
    assert values.grad is not None
    assert values.grad.isfinite().all()
    assert (values.grad[~mask] == 0).all()
    assert (values.grad[0, [0, 2]] != 0).any()


@pytest.mark.parametrize("learns", [True, False])
def test_a_row_of_padding_has_probability_zero_and_largest_value_zero(learns: bool) -> None:
    values, mask = torch.tensor([[5.0, 6.0]]), torch.tensor([[False, False]])
    with torch.set_grad_enabled(learns):
        assert masked_logsumexp(values, mask).tolist() == [MINUS_INFINITY]
        assert masked_log_softmax(values, mask).tolist() == [[MINUS_INFINITY, MINUS_INFINITY]]
        assert masked_max(values, mask).tolist() == [0.0]


@pytest.mark.parametrize("learns", [True, False])
def test_without_a_mask_all_is_real_but_scores_of_minus_infinity(learns: bool) -> None:
    scores = torch.tensor([[0.0, MINUS_INFINITY, math.log(3.0)], [MINUS_INFINITY] * 3])
    with torch.set_grad_enabled(learns):
        probs = masked_log_softmax(scores, None).exp()
    assert probs.flatten().tolist() == pytest.approx([0.25, 0.0, 0.75, 0.0, 0.0, 0.0])


def test_the_largest_real_value_may_be_negative() -> None:
    assert masked_max(torch.tensor([[-3.0, -5.0, 9.0]]), torch.tensor([[True, True, False]])).tolist() == [-3.0]


def test_a_score_of_minus_infinity_is_a_probability_of_zero() -> None:
    scores = torch.tensor([[0.0, MINUS_INFINITY, math.log(3.0)]])
    probs = masked_log_softmax(scores, torch.ones(1, 3, dtype=torch.bool)).exp()
    assert probs.tolist()[0] == pytest.approx([0.25, 0.0, 0.75])


def test_a_score_that_is_no_number_is_not_taken_for_padding_where_something_is_learnt() -> None:
    values = torch.tensor([[1.0, math.nan, 2.0]])
    assert masked_log_softmax(values, torch.tensor([[True, True, False]])).isnan().tolist() == [[True, True, False]]
    assert masked_log_softmax(values, None).isnan().all()


def test_scores_far_too_large_for_exp_still_give_probabilities() -> None:
    mask = torch.ones(1, 3, dtype=torch.bool)
    probs = masked_log_softmax(torch.tensor([[1e4, 1e4, -1e4]]), mask).exp()
    assert probs.tolist()[0] == pytest.approx([0.5, 0.5, 0.0])
    assert masked_logsumexp(torch.tensor([[-1e4, -1e4, -1e4]]), mask).item() == pytest.approx(-1e4 + math.log(3))


def test_a_softmax_of_half_precision_scores_is_taken_in_single_precision() -> None:
    scores = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.bfloat16)
    result = masked_log_softmax(scores, torch.ones(1, 3, dtype=torch.bool))
    assert result.dtype == torch.float32
    assert result.exp().sum().item() == pytest.approx(1.0, abs=1e-6)
    assert masked_log_softmax(scores.double(), torch.ones(1, 3, dtype=torch.bool)).dtype == torch.float64


def test_log_probabilities_of_the_chosen_go_back_to_their_places() -> None:
    spread = spread_log_probs(torch.tensor([[-1.0, -2.0], [-3.0, -4.0]]), torch.tensor([[2, 0], [1, 3]]), 4)
    assert spread.tolist() == [
        [-2.0, MINUS_INFINITY, -1.0, MINUS_INFINITY],
        [MINUS_INFINITY, -3.0, MINUS_INFINITY, -4.0],
    ]
