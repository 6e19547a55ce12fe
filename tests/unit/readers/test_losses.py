"""Equations 4 to 7 and the l2 term."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import losses as slow
from reference.small import as_reader, epireader
from reference.weights import weights_of

from epireader.layers.masking import masked_log_softmax
from epireader.readers.losses import margin_loss, negative_log_likelihood
from epireader.training.optimizer import add_l2_gradient, l2_penalty, regularised

probabilities = st.one_of(st.just(0.0), st.floats(1e-6, 1.0))
rows = st.lists(st.lists(probabilities, min_size=1, max_size=5), min_size=1, max_size=4)


def padded(values: list[list[float]], extra: int) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(len(row) for row in values) + extra
    probs = torch.tensor([row + [0.0] * (width - len(row)) for row in values], dtype=torch.float64)
    return probs.log(), torch.arange(width) < torch.tensor([len(row) for row in values])[:, None]


@settings(max_examples=60)
@given(values=rows, extra=st.integers(0, 2), answers=st.lists(st.integers(-2, 4), min_size=4, max_size=4))
def test_both_losses_agree_with_equations_5_and_6(values: list[list[float]], extra: int, answers: list[int]) -> None:
    log_probs, mask = padded(values, extra)
    answers = [answer if answer < len(row) else -1 for answer, row in zip(answers, values, strict=False)]
    right = [None if answer < 0 else row[answer] for answer, row in zip(answers, values, strict=True)]
    fast = negative_log_likelihood(log_probs, torch.tensor(answers))
    assert fast.item() == pytest.approx(slow.extractor_loss(right))
    is_answer = torch.arange(log_probs.shape[1]) == torch.tensor(answers)[:, None]
    places = [None if answer < 0 else answer for answer in answers]
    for margin in (0.0, 0.04, 0.5):
        fast = margin_loss(log_probs, is_answer, mask, margin)
        assert fast.item() == pytest.approx(slow.reasoner_loss(values, places, margin))


def test_the_losses_worked_by_hand() -> None:
    log_probs = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]]).log()
    # -(log 0.5 + log 0.3) / 2
    assert negative_log_likelihood(log_probs, torch.tensor([0, 2])).item() == pytest.approx(-math.log(0.15) / 2)
    # First: 0.3 and 0.2 stay clear of 0.5. Second: 0.6 oversteps by 0.34, 0.1 does not.
    is_answer = torch.tensor([[True, False, False], [False, False, True]])
    everything = torch.ones(2, 3, dtype=torch.bool)
    assert margin_loss(log_probs, is_answer, everything, 0.04).item() == pytest.approx(0.34 / 2)
    # With a margin of 0.25: 0.3 oversteps by 0.05, 0.6 by 0.55, 0.1 by 0.05.
    assert margin_loss(log_probs, is_answer, everything, 0.25).item() == pytest.approx(0.65 / 2)


def test_a_probability_that_is_not_a_number_is_a_loss_that_is_none() -> None:
    log_probs, everything = torch.tensor([[math.nan, 0.0]]), torch.ones(1, 2, dtype=torch.bool)
    assert negative_log_likelihood(log_probs, torch.tensor([0])).isnan()
    assert margin_loss(log_probs, torch.tensor([[True, False]]), everything, 0.04).isnan()


def test_equation_4_worked_by_hand() -> None:
    evidence, extracted = torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[0.2, 0.4, 0.1]])
    combined = masked_log_softmax(evidence.log() + extracted.log(), torch.ones(1, 3, dtype=torch.bool)).exp()
    assert combined.tolist()[0] == pytest.approx([4 / 9, 4 / 9, 1 / 9])
    assert slow.combine([0.5, 0.25, 0.25], [0.2, 0.4, 0.1]) == pytest.approx([4 / 9, 4 / 9, 1 / 9])


def test_the_answer_is_not_its_own_rival() -> None:
    log_probs = torch.tensor([[0.0, float("-inf")]])
    is_answer = torch.tensor([[True, False]])
    assert margin_loss(log_probs, is_answer, torch.ones(1, 2, dtype=torch.bool), 0.9).item() == 0.0


def test_padding_is_no_rival() -> None:
    log_probs = torch.tensor([[0.5, 0.5, 0.0]]).log()
    is_answer, mask = torch.tensor([[True, False, False]]), torch.tensor([[True, False, False]])
    assert margin_loss(log_probs, is_answer, mask, 0.6).item() == 0.0


def test_nothing_is_asked_of_a_question_whose_answer_is_unknown_or_cannot_be_pointed_at() -> None:
    log_probs = torch.tensor([[0.7, 0.3, 0.0]] * 4).log().requires_grad_()
    loss = negative_log_likelihood(log_probs, torch.tensor([-1, -2, 2, 1]))
    assert loss.item() == pytest.approx(-math.log(0.3) / 4)
    loss.backward()
    assert log_probs.grad is not None
    assert log_probs.grad.isfinite().all()
    assert not log_probs.grad[:3].any()


def test_a_ruled_out_answer_has_no_margin_loss_and_a_finite_gradient() -> None:
    scores = torch.tensor([[1.0, 2.0, float("-inf")]], requires_grad=True)
    log_probs = masked_log_softmax(scores, torch.ones(1, 3, dtype=torch.bool))
    loss = margin_loss(log_probs, torch.tensor([[False, False, True]]), torch.ones(1, 3, dtype=torch.bool), 0.04)
    loss.backward()
    assert loss.item() == 0.0
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


def test_the_l2_term_is_the_squares_of_all_matrices_without_biases_and_word_vectors() -> None:
    for module in (epireader(1), as_reader(2)):
        assert l2_penalty(module).item() == pytest.approx(slow.l2(weights_of(module)))


def test_the_l2_term_pulls_at_every_matrix_and_at_nothing_else() -> None:
    module = epireader(3)
    add_l2_gradient(regularised(module).values(), 1.0)
    for name, parameter in module.named_parameters():
        pulled = parameter.grad is not None
        assert pulled == (name != "embedding.weight" and "bias" not in name), name
        if pulled:
            torch.testing.assert_close(parameter.grad, 2 * parameter.detach())
