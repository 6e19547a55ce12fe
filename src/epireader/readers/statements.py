"""What the Reasoner's filters make of the hypotheses: the question with each answer in its blank."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from epireader.data.vocabulary import BLANK_ID
from epireader.layers.convolution import window_sums
from epireader.readers.hypotheses import fill_blank


def fill_in(
    of_question: Float[Tensor, "batch q width filt"],
    of_answer: Float[Tensor, "batch hyp phrase width filt"],
    question: Int[Tensor, "batch q"],
    answers: Int[Tensor, "batch hyp phrase"],
) -> tuple[Float[Tensor, "batch hyp word width filt"], Int[Tensor, "batch hyp"]]:
    """What the filters make of every word of every hypothesis, zeros behind them, and how many words it has."""
    source = fill_blank(question, (question == BLANK_ID).int().argmax(dim=1), answers)
    empty = of_answer.new_zeros(1).expand(*of_answer.shape[:2], 1, *of_answer.shape[3:])
    of_question = of_question[:, None].expand(-1, of_answer.shape[1], -1, -1, -1)
    products = torch.cat([empty, of_question, of_answer], dim=2)
    products = products.gather(2, source[..., None, None].expand(*source.shape, *products.shape[3:]))
    return products, (source > 0).sum(dim=2)


def fill_in_word(
    of_question: Float[Tensor, "batch q width filt"],
    of_answer: Float[Tensor, "batch hyp 1 width filt"],
    question: Int[Tensor, "batch q"],
) -> Float[Tensor, "batch hyp q width filt"]:
    """The same for answers of one word: it takes the place of the blank, and all others stay where they are."""
    is_blank = (question == BLANK_ID)[:, None, :, None, None]
    return torch.where(is_blank, of_answer, of_question[:, None])


def statement_maxima(
    products: Float[Tensor, "batch hyp word width filt"],
    length: Int[Tensor, "batch #hyp"],
    bias: Float[Tensor, " filt"],
    *,
    wide: bool,
) -> Float[Tensor, "batch hyp filt"]:
    """The largest value each filter has over the windows of each hypothesis, after the ReLU."""
    width = products.shape[3]
    values = window_sums(pad(products, (0, 0, 0, 0, width - 1, width - 1)))
    counts = window_counts(length, values.shape[2], width=width, wide=wide)
    # A maximum that takes a zero for what does not count is that of the ReLUs.
    return (torch.relu_(values + bias) * counts[..., None]).amax(dim=2)


def window_counts(
    length: Int[Tensor, "batch hyp"], windows: int, *, width: int, wide: bool
) -> Bool[Tensor, "batch hyp {windows}"]:
    """Which windows of a padded sequence belong to it: all that touch it, or (narrow) all that lie within it."""
    window = torch.arange(windows, device=length.device)
    length, gap = length[..., None], width - 1
    if wide:
        return window < length + gap
    return (window >= gap) & (window <= gap + (length - width).clamp(min=0))
