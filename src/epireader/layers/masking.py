"""Softmaxes, sums and maxima that padding takes no part in. Nothing else in the package writes an infinity.

Masks are True on what is real. Where a whole row is padding, a probability is 0, a logarithm -inf, and the gradient 0,
never NaN.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

MINUS_INFINITY = float("-inf")


def masked_logsumexp(values: Float[Tensor, "*rows n"], mask: Bool[Tensor, "*rows n"]) -> Float[Tensor, "*rows"]:
    """log of the summed exponentials of the real values; -inf where there are none, or all of them are -inf."""
    mask = mask & (values > MINUS_INFINITY)
    largest = values.detach().masked_fill(~mask, MINUS_INFINITY).amax(dim=-1, keepdim=True)
    largest = largest.masked_fill(largest == MINUS_INFINITY, 0.0)
    total = (values.masked_fill(~mask, 0.0) - largest).exp().masked_fill(~mask, 0.0).sum(dim=-1)
    empty = ~mask.any(dim=-1)
    return (total.masked_fill(empty, 1.0).log() + largest[..., 0]).masked_fill(empty, MINUS_INFINITY)


def masked_log_softmax(scores: Float[Tensor, "*rows n"], mask: Bool[Tensor, "*rows n"]) -> Float[Tensor, "*rows n"]:
    """Log-probabilities over the real entries, in single precision or better; -inf for the others and for scores of -inf."""
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    mask = mask & (scores > MINUS_INFINITY)
    # The largest is taken off first: beside a large score the logarithm of the sum would lose its digits.
    scores = scores.masked_fill(~mask, 0.0) - masked_max(scores.detach(), mask)[..., None]
    total = masked_logsumexp(scores, mask)
    safe_total = total.masked_fill(total == MINUS_INFINITY, 0.0)
    return (scores - safe_total[..., None]).masked_fill(~mask, MINUS_INFINITY)


def masked_max(values: Float[Tensor, "*rows n"], mask: Bool[Tensor, "*rows n"]) -> Float[Tensor, "*rows"]:
    """The largest real value; 0 where there is none."""
    largest = values.masked_fill(~mask, MINUS_INFINITY).amax(dim=-1)
    return largest.masked_fill(~mask.any(dim=-1), 0.0)


def spread_log_probs(
    log_probs: Float[Tensor, "batch hyp"], index: Int[Tensor, "batch hyp"], size: int
) -> Float[Tensor, "batch {size}"]:
    """Log-probabilities of the chosen few put back among all; -inf for those not chosen."""
    everything = torch.full((len(index), size), MINUS_INFINITY, dtype=log_probs.dtype, device=log_probs.device)
    return everything.scatter(1, index, log_probs)
