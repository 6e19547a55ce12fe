"""Losses (equations 5 and 6). Each is a mean over the whole batch; a question that cannot be learnt from counts 0."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from epireader.layers.masking import MINUS_INFINITY
from epireader.readers.reading import Loss


def negative_log_likelihood(log_probs: Float[Tensor, "batch cand"], answer: Int[Tensor, " batch"]) -> Float[Tensor, ""]:
    """-log P(a*); nothing is asked of a question with no answer, or whose answer has no way to be pointed at."""
    found = log_probs.gather(1, answer.clamp(min=0)[:, None]).squeeze(1)
    learnable = (answer >= 0) & (found != MINUS_INFINITY)
    return torch.where(learnable, found, 0.0).sum() / -len(answer)  # L_E, eq. 5


def margin_loss(
    log_probs: Float[Tensor, "batch hyp"],
    is_answer: Bool[Tensor, "batch hyp"],
    hypothesis_mask: Bool[Tensor, "batch hyp"],
    margin: float,
) -> Float[Tensor, ""]:
    """How far each wrong hypothesis comes within `margin` of the right one's probability, added up."""
    is_answer = is_answer & (log_probs != MINUS_INFINITY)
    probs = log_probs.exp()
    right = (probs * is_answer).sum(dim=1, keepdim=True)  # pi*
    shortfall = torch.relu(margin - right + probs)
    counted = hypothesis_mask & ~is_answer & is_answer.any(dim=1, keepdim=True)
    return (shortfall * counted).sum() / len(probs)  # L_R, eq. 6


def with_language(loss: Loss, log_likelihood: Float[Tensor, " batch"] | None, weight: float) -> Loss:
    """The loss, and so much of that for knowing words by those around them, where that is learnt."""
    return loss if log_likelihood is None else loss.with_part("language", -log_likelihood.mean(), weight)
