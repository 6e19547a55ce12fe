"""The fused softmax and attention sum must give what the plain ones do, and the same gradients.

They run on a GPU, or anywhere in Triton's interpreter (`TRITON_INTERPRET=1`).
"""

from collections.abc import Callable

import pytest
import torch
from kernels import DEVICE, somewhere_to_run
from torch import Tensor

from epireader.layers.attention import attention_sum, mentions
from epireader.layers.masking import masked_log_softmax, masked_max

pytestmark = somewhere_to_run
MINUS_INFINITY = float("-inf")
SIZES = [(1, 1, 1), (4, 7, 3), (3, 130, 10)]


def fused_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    from epireader.layers.fused.attention import fused_log_softmax

    return fused_log_softmax(scores, mask)


def fused_sum(log_attention: Tensor, passage: Tensor, candidates: Tensor) -> Tensor:
    from epireader.layers.fused.attention import fused_attention_sum

    return fused_attention_sum(log_attention, passage, candidates)


def plain_sum(log_attention: Tensor, passage: Tensor, candidates: Tensor) -> Tensor:
    return attention_sum(log_attention, mentions(passage, candidates[..., None]))


def scored(batch: int, doc: int, _: int) -> tuple[Tensor, Tensor]:
    """Scores, some of them -inf, with a row of padding; the larger ones would overflow."""
    scores = torch.randn(batch, doc) * 30 + 100
    scores[:, 3::5] = MINUS_INFINITY
    mask = torch.rand(batch, doc) < 0.7
    mask[0] = True
    mask[1:2] = False
    return scores.to(DEVICE), mask.to(DEVICE)


def pointed(batch: int, doc: int, cand: int) -> tuple[Tensor, Tensor, Tensor]:
    """Attention to the words of a passage, most of which are candidates; some of these are not there or only pad."""
    passage = torch.randint(2, cand + 2, (batch, doc))
    passage[:, doc - doc // 4 :] = 0
    candidates = torch.arange(2, cand + 2).expand(batch, cand).clone()
    candidates[1:, -1:] = 0
    candidates[2:, 0] = 99
    scores = torch.randn(batch, doc).masked_fill(passage == 0, MINUS_INFINITY).log_softmax(dim=1)
    return scores.to(DEVICE), passage.to(DEVICE), candidates.to(DEVICE)


KINDS = [(scored, masked_log_softmax, fused_softmax), (pointed, plain_sum, fused_sum)]


@pytest.mark.parametrize(("precision", "within"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize(("make", "plain", "fused"), KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_fused_log_probs_agree_with_the_plain_ones(
    size: tuple[int, int, int],
    make: Callable[..., tuple[Tensor, ...]],
    plain: Callable,
    fused: Callable,
    precision: torch.dtype,
    within: float,
) -> None:
    torch.manual_seed(0)
    given, *texts = make(*size)
    given = given.to(precision)
    results = []
    for function, dtype in ((plain, torch.float64), (fused, precision)):
        leaf = given.to(dtype).requires_grad_()
        log_probs = function(leaf, *texts)
        torch.manual_seed(1)
        weights = torch.randn(log_probs.shape).to(log_probs)
        total = (log_probs.masked_fill(log_probs == MINUS_INFINITY, 0.0) * weights).sum()
        results.append([log_probs.float(), *(grad.float() for grad in torch.autograd.grad(total, leaf))])
    assert results[0][0].isfinite().any()
    assert results[1][1].isfinite().all()
    torch.testing.assert_close(results[1], results[0], rtol=within, atol=max(within, 1e-4))


@pytest.mark.parametrize(("make", "_plain", "fused"), KINDS)
def test_readers_are_taken_together_as_each_alone(
    make: Callable[..., tuple[Tensor, ...]], _plain: Callable, fused: Callable
) -> None:
    torch.manual_seed(0)
    given, *texts = make(*SIZES[1])
    leaves = torch.stack([given, given * 0.5]).requires_grad_()
    together = torch.func.vmap(lambda scores: fused(scores, *texts))(leaves)
    for reader, alone in enumerate(leaves.detach()):
        torch.testing.assert_close(together[reader], fused(alone, *texts))
    grads = torch.autograd.grad(together.exp().square().sum(), leaves)[0]
    for reader, alone in enumerate(leaves.detach()):
        leaf = alone.clone().requires_grad_()
        torch.testing.assert_close(
            torch.autograd.grad(fused(leaf, *texts).exp().square().sum(), leaf)[0], grads[reader]
        )


def test_a_score_that_is_no_number_is_not_taken_for_padding() -> None:
    scores = torch.tensor([[1.0, torch.nan, 2.0], [1.0, 2.0, 3.0]], device=DEVICE)
    mask = torch.tensor([[True, True, False], [True, True, True]], device=DEVICE)
    assert fused_softmax(scores, mask).isnan().tolist() == [[True, True, False], [False, False, False]]


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (2, 3, 130)])
@pytest.mark.parametrize("shared", [True, False])
def test_the_fused_maximum_agrees_with_the_plain_one(shape: tuple[int, int, int], shared: bool) -> None:
    from epireader.layers.fused.attention import fused_max

    torch.manual_seed(0)
    values = torch.randn(shape, device=DEVICE) - 5
    mask = torch.rand((shape[0], 1, shape[2]) if shared else shape, device=DEVICE) < 0.6
    mask[0], mask[1:2] = True, False
    mask = mask.expand(shape)
    weights = torch.randn(shape[:2], device=DEVICE)
    results = []
    for function, dtype in ((masked_max, torch.float64), (fused_max, torch.float32)):
        leaf = values.to(dtype).requires_grad_()
        largest = function(leaf, mask)
        results.append([largest.float(), torch.autograd.grad((largest * weights).sum(), leaf)[0].float()])
    torch.testing.assert_close(results[1], results[0])
    together = torch.func.vmap(lambda each: fused_max(each, mask))(torch.stack([values, -values]))
    torch.testing.assert_close(together[0], results[1][0])
    torch.testing.assert_close(together[1], fused_max(-values, mask))
