"""Choosing hypotheses, and putting them into the question."""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from epireader.data.vocabulary import PAD_ID

LEAST_LOG_PROB = -1e30
"""Stands for log 0 where candidates are ranked: less than any other, but more than padding's."""


def choose_hypotheses(
    log_probs: Float[Tensor, "batch cand"],
    candidate_mask: Bool[Tensor, "batch cand"] | None,
    count: int,
    keep: Int[Tensor, " batch"] | None = None,
) -> Int[Tensor, "batch hyp"]:
    """The `count` most probable candidates, best first and equals in their order; all of them where there are fewer.

    In training the right answer is passed as `keep`: where it was missed it takes the last place.
    """
    ranked = log_probs
    if candidate_mask is not None:
        ranked = torch.where(candidate_mask, log_probs.clamp(min=LEAST_LOG_PROB), 2 * LEAST_LOG_PROB)
    # Not topk: which of several equals it takes depends on the padding beside them.
    chosen = ranked.sort(dim=1, descending=True, stable=True).indices[:, :count]
    if keep is None:
        return chosen
    missed = (keep >= 0) & ~(chosen == keep[:, None]).any(dim=1)
    last = torch.where(missed, keep, chosen[:, -1])
    return torch.cat([chosen[:, :-1], last[:, None]], dim=1)


def of_chosen(
    values: Shaped[Tensor, "batch cand ..."], chosen: Int[Tensor, "batch hyp"]
) -> Shaped[Tensor, "batch hyp ..."]:
    """What belongs to the candidates that were chosen."""
    index = chosen.view(*chosen.shape, *[1] * (values.dim() - 2))
    return values.gather(1, index.expand(*chosen.shape, *values.shape[2:]))


def fill_blank(
    question: Int[Tensor, "batch q"], blank: Int[Tensor, " batch"], candidates: Int[Tensor, "batch hyp phrase"]
) -> Int[Tensor, "batch hyp word"]:
    """Where the words of every hypothesis come from: the question with a candidate in place of its blank.

    Entries are places in the row [padding, words of the question, words of the candidate]; 0 pads.
    """
    question_length = (question != PAD_ID).sum(dim=1)[:, None, None]
    phrase_length = (candidates != PAD_ID).sum(dim=2)[:, :, None]
    blank = blank[:, None, None]
    places, words = question.shape[1], question.shape[1] - 1 + candidates.shape[2]
    position = torch.arange(words, device=question.device)
    after = position - phrase_length + 1
    source = torch.where(
        position < blank, position, torch.where(position < blank + phrase_length, places + position - blank, after)
    )
    return torch.where(position < question_length - 1 + phrase_length, source + 1, 0)
