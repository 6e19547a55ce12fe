"""Convolutions over many short sequences at once, without padding each to the longest.

The sentences of a passage are laid out on one line with m - 1 empty slots before, between and after them. A window
of m slots then never touches two sentences nor falls between them: the windows of the line are just those of a wide
convolution over every sentence.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


@dataclass(frozen=True)
class Line:
    """Sentences on one line."""

    slot: Int[Tensor, "batch doc"]
    """Where each word of the passage stands; padding stands behind all of them."""
    slots: int
    window_sentence: Int[Tensor, "batch window"]
    """The sentence a window belongs to; for a window that does not count, the number of sentences."""


def lay_on_line(
    sentence_of: Int[Tensor, "batch doc"], sentence_length: Int[Tensor, "batch sent"], *, width: int, wide: bool = True
) -> Line:
    """A passage on a line for windows of `width` words."""
    gap, sentences, words = width - 1, sentence_length.shape[1], sentence_of.shape[1]
    slot = torch.arange(words, device=sentence_of.device) + gap * (sentence_of + 1)
    slots = words + gap * (sentences + 1)

    end = (sentence_length + gap).cumsum(dim=1)
    window = torch.arange(slots - gap, device=sentence_of.device) + torch.zeros_like(end[:, :1])
    sentence = torch.searchsorted(end, window, right=True)
    clamped = sentence.clamp(max=sentences - 1)
    length = sentence_length.gather(1, clamped)
    counts = (sentence < sentences) & (length > 0)
    if not wide:
        # Whole windows only; a sentence shorter than the filter has one, begun at its first word.
        first = end.gather(1, clamped) - length
        counts = counts & (window >= first) & (window <= first + (length - width).clamp(min=0))
    return Line(slot, slots, torch.where(counts, sentence, sentences))


def on_line(values: Float[Tensor, "batch doc dim"], line: Line) -> Float[Tensor, "batch slot dim"]:
    """What there is of every word, in its slot; zeros in the empty ones."""
    rows = torch.arange(len(values), device=values.device)[:, None]
    return values.new_zeros(len(values), line.slots, values.shape[2]).index_put((rows, line.slot), values)


class Filters(nn.Module):
    """A bank of convolution filters with bias: `weight[c, o, f]` is filter f's weight for channel c at offset o."""

    def __init__(self, channels: int, width: int, filters: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels, width, filters))
        self.bias = nn.Parameter(torch.zeros(filters))
        nn.init.xavier_uniform_(self.weight.view(channels * width, filters))

    @property
    def width(self) -> int:
        return self.weight.shape[1]

    @property
    def filters(self) -> int:
        return self.weight.shape[2]


def word_products(
    words: Float[Tensor, "*rows slot emb"], weight: Float[Tensor, "emb width filt"]
) -> Float[Tensor, "*rows slot width filt"]:
    """Each word multiplied with the filters at every offset it can have in a window: once, for all its windows."""
    products = words @ weight.flatten(1)
    return products.view(*products.shape[:-1], *weight.shape[1:])


def window_sums(products: Float[Tensor, "*rows slot width filt"]) -> Float[Tensor, "*rows window filt"]:
    """The filters' values for every window: the products of its slots added up."""
    width = products.shape[-2]
    windows = products.shape[-3] - width + 1
    total = products[..., :windows, 0, :]
    for offset in range(1, width):
        total = total + products[..., offset : offset + windows, offset, :]
    return total


def pool_sentences(
    values: Float[Tensor, "batch window cand filt"], window_sentence: Int[Tensor, "batch window"], sentences: int
) -> Float[Tensor, "batch sent cand filt"]:
    """ReLU, then the maximum over each sentence's windows."""
    batch, window, cand, filt = values.shape
    # A maximum begun at zero is the maximum of the ReLUs. The last row takes the windows that do not count.
    rows = torch.arange(batch, device=values.device)[:, None] * (sentences + 1) + window_sentence
    pooled = values.new_zeros(batch * (sentences + 1), cand * filt)
    index = rows.view(batch * window, 1).expand(-1, cand * filt)
    pooled = pooled.scatter_reduce(0, index, values.reshape(batch * window, cand * filt), reduce="amax")
    return pooled.view(batch, sentences + 1, cand, filt)[:, :sentences]
