"""Softmaxes, sums and maxima that padding takes no part in. Nothing else in the package writes an infinity.

Masks are True on what is real. Where a whole row is padding, a probability is 0, a logarithm -inf, and the gradient 0,
never NaN. A real score that is NaN is not taken for padding where something is learnt: the loss must show it.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from epireader.layers.kernels import LONGEST_ROW, can_be_kernel

MINUS_INFINITY = float("-inf")


def masked_logsumexp(values: Float[Tensor, "*rows n"], mask: Bool[Tensor, "*rows n"]) -> Float[Tensor, "*rows"]:
    """log of the summed exponentials of the real values; -inf where there are none, or all of them are -inf."""
    return logsumexp(torch.where(mask, values, MINUS_INFINITY))


def logsumexp(values: Float[Tensor, "*rows n"]) -> Float[Tensor, "*rows"]:
    """log of the summed exponentials; where all values are -inf it is too, and their gradients are 0."""
    if not torch.is_grad_enabled():
        return values.logsumexp(dim=-1)
    log_sum: Tensor = LogSumExp.apply(values)[0]  # type: ignore[no-untyped-call]
    return log_sum


def grouped_logsumexp(values: Float[Tensor, " n"], group: Int[Tensor, " n"], groups: int) -> Float[Tensor, " {groups}"]:
    """log of the summed exponentials of each group's values; -inf where there are none, or all of them are -inf."""
    largest = values.new_full((groups,), torch.finfo(values.dtype).min)
    largest = largest.scatter_reduce_(0, group, values, reduce="amax")
    terms = (values - largest.index_select(0, group)).exp_()
    return torch.zeros_like(largest).index_add_(0, group, terms).log_().add_(largest)


class LogSumExp(torch.autograd.Function):
    """Also gives what the backward pass needs: that of `torch.logsumexp` is twice as many kernels, and NaN for rows of -inf."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        largest = values.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(values.dtype).min)
        terms = (values - largest).exp()
        total = terms.sum(dim=-1)
        return total.log() + largest[..., 0], terms, total

    @staticmethod
    def setup_context(ctx: Any, _inputs: tuple[Tensor], output: tuple[Tensor, Tensor, Tensor]) -> None:
        _, terms, total = output
        ctx.mark_non_differentiable(terms, total)
        ctx.save_for_backward(terms, total)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Any) -> Tensor:
        terms, total = ctx.saved_tensors
        to_values: Tensor = (grad / total.clamp(min=torch.finfo(total.dtype).tiny))[..., None] * terms
        return to_values


def masked_log_softmax(
    scores: Float[Tensor, "*rows n"], mask: Bool[Tensor, "*rows n"] | None
) -> Float[Tensor, "*rows n"]:
    """Log-probabilities over the real entries, in single precision or better; -inf for the others and for scores of -inf."""
    if mask is not None and can_be_kernel(scores) and scores.shape[-1] <= LONGEST_ROW:
        from epireader.layers.fused.attention import fused_log_softmax  # Triton is there where a GPU is

        return fused_log_softmax(scores, mask)
    scores = scores.float() if scores.dtype.itemsize < 4 else scores
    if scores.device.type == "cpu" and not torch.is_grad_enabled():
        scores = scores if mask is None else torch.where(mask, scores, MINUS_INFINITY)
        return scores.log_softmax(dim=-1).nan_to_num_(nan=MINUS_INFINITY, neginf=MINUS_INFINITY)
    possible = scores != MINUS_INFINITY
    mask = possible if mask is None else mask & possible
    scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    if scores.device.type != "cpu":  # there torch takes the largest off first, without which digits are lost beside it
        scores = scores - scores.detach().amax(dim=-1, keepdim=True)
    return torch.where(mask, scores.log_softmax(dim=-1), MINUS_INFINITY)


def masked_max(values: Float[Tensor, "*rows n"], mask: Bool[Tensor, "*#rows n"] | None) -> Float[Tensor, "*rows"]:
    """The largest real value; 0 where there is none. Without a mask all are real."""
    if mask is None:
        return values.amax(dim=-1) if values.shape[-1] else values.new_zeros(values.shape[:-1])
    if can_be_kernel(values) and values.shape[-1] <= LONGEST_ROW:
        from epireader.layers.fused.attention import fused_max  # Triton is there where a GPU is

        return fused_max(values, mask.expand(values.shape))
    least = torch.finfo(values.dtype).min
    largest = torch.where(mask, values, least).amax(dim=-1)
    return torch.where(largest > least, largest, 0.0)


def spread_log_probs(
    log_probs: Float[Tensor, "batch hyp"], index: Int[Tensor, "batch hyp"], size: int
) -> Float[Tensor, "batch {size}"]:
    """Log-probabilities of the chosen few put back among all; -inf for those not chosen."""
    everything = torch.full((len(index), size), MINUS_INFINITY, dtype=log_probs.dtype, device=log_probs.device)
    return everything.scatter(1, index, log_probs)
