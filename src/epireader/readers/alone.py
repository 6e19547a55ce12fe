"""What the Reasoner compares where one question is asked about a passage that is known, with answers of one word each.

Nothing is padding then, and one product holds all that the question's words and the answers are multiplied with.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from epireader.data.vocabulary import BLANK_ID
from epireader.layers.convolution import PassageLine, window_sums
from epireader.layers.masking import masked_max


@dataclass(frozen=True)
class Compared:
    """One question and its answers, compared with the passage and with the filters of hypotheses."""

    to_answer: Float[Tensor, "distinct hyp"]
    to_question: Float[Tensor, " distinct"]
    """The two rows of the paper's matrix M, for every distinct word of the passage."""
    statements: Float[Tensor, "hyp slot width filt"]
    """What the filters make of every word of every hypothesis, with slots before and behind that are empty."""


def compare_alone(
    line: PassageLine,
    question: Float[Tensor, "q emb"],
    words: Int[Tensor, " q"],
    answers: Float[Tensor, "hyp emb"],
    filters: torch.Size,
) -> Compared:
    """Compare a question without padding, given as vectors and as words; `filters` says how wide they are, and how many."""
    blank, hyp = words.tolist().index(BLANK_ID), answers.shape[0]
    # Nobody asks for the blank's own vector: answers take its place, and it is no word that others could match.
    products = torch.cat([answers, question[:blank], question[blank + 1 :]]) @ line.compared.mT
    matches, filtered = products.tensor_split([line.ids.shape[0]], dim=1)
    of_answer, before, after = filtered.view(-1, *filters).tensor_split([hyp, hyp + blank])
    empty = products.new_zeros(()).expand(filters[0] - 1, *filters)
    empty, before, after = (part.expand(hyp, *part.shape) for part in (empty, before, after))
    statements = torch.cat([empty, before, of_answer[:, None], after, empty], dim=1)
    return Compared(matches[:hyp].mT, masked_max(matches[hyp:].mT, None), statements)


def whole_maxima(
    statements: Float[Tensor, "hyp slot width filt"], bias: Float[Tensor, " filt"], *, wide: bool
) -> Float[Tensor, "hyp filt"]:
    """The largest value each filter has over the windows of each of those hypotheses, after the ReLU."""
    values, gap = window_sums(statements), statements.shape[2] - 1
    if not wide:  # whole windows only, or the one begun at the first word where there is none
        values = values[:, gap : max(values.shape[1] - gap, gap + 1)]
    return torch.relu_(values.amax(dim=1) + bias)
