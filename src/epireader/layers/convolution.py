"""Convolutions over many short sequences at once, without padding each to the longest.

The sentences of a passage are laid out on one line with m - 1 empty slots before, between and after them. A window
of m slots then never touches two sentences nor falls between them: the windows of the line are just those of a wide
convolution over every sentence.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from epireader.data.vocabulary import PAD_ID
from epireader.layers.kernels import can_pool_fused
from epireader.layers.products import many_rows_linear


@dataclass(frozen=True)
class Line:
    """Sentences on one line. Empty slots hold `PAD_ID`."""

    words: Int[Tensor, "batch slot"]
    window_sentence: Int[Tensor, "batch window"]
    """The sentence a window belongs to; for a window that does not count, the number of sentences."""


def lay_on_line(
    passage: Int[Tensor, "batch doc"],
    sentence_of: Int[Tensor, "batch doc"],
    sentence_length: Int[Tensor, "batch sent"],
    *,
    width: int,
    wide: bool = True,
) -> Line:
    """A passage on a line for windows of `width` words."""
    gap, sentences = width - 1, sentence_length.shape[1]
    position = torch.arange(passage.shape[1], device=passage.device)
    slot = position + gap * (sentence_of + 1)
    words = passage.new_full((len(passage), passage.shape[1] + gap * (sentences + 1)), PAD_ID).scatter(1, slot, passage)

    end = (sentence_length + gap).cumsum(dim=1)
    window = torch.arange(words.shape[1] - gap, device=passage.device) + torch.zeros_like(end[:, :1])
    sentence = torch.searchsorted(end, window, right=True)
    clamped = sentence.clamp(max=sentences - 1)
    length = sentence_length.gather(1, clamped)
    counts = (sentence < sentences) & (length > 0)
    if not wide:
        # Whole windows only; a sentence shorter than the filter has one, begun at its first word.
        first = end.gather(1, clamped) - length
        counts = counts & (window >= first) & (window <= first + (length - width).clamp(min=0))
    return Line(words, torch.where(counts, sentence, sentences))


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


def word_products(
    words: Float[Tensor, "*rows slot emb"], weight: Float[Tensor, "emb width filt"]
) -> Float[Tensor, "*rows slot width filt"]:
    """Each word multiplied with the filters at every offset it can have in a window: once, for all its windows."""
    products = many_rows_linear(words, weight.flatten(1).mT)
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
    values: Float[Tensor, "batch window cand filt"], window_sentence: Int[Tensor, "#batch window"], sentences: int
) -> Float[Tensor, "batch sent cand filt"]:
    """ReLU, then the maximum over each sentence's windows."""
    batch, window, cand, filt = values.shape
    # A maximum begun at zero is the maximum of the ReLUs. The last row takes the windows that do not count.
    rows = window_sentence
    if batch > 1:
        rows = torch.arange(batch, device=values.device)[:, None] * (sentences + 1) + rows
    pooled = values.new_zeros(batch * (sentences + 1), cand * filt)
    index = rows.view(batch * window, 1).expand(-1, cand * filt)
    pooled = pooled.scatter_reduce(0, index, values.reshape(batch * window, cand * filt), reduce="amax")
    return pooled.view(batch, sentences + 1, cand, filt)[:, :sentences]


@dataclass(frozen=True)
class PassageLine:
    """The sentences of one passage on a line, and all that filters make of them before a question is known."""

    ids: Int[Tensor, " distinct"]
    """The distinct words in order, padding among them where slots are empty."""
    which: Int[Tensor, " doc"]
    """Which of them stands at each place of the passage."""
    compared: Float[Tensor, "row emb"]
    """What a question is compared with: the vectors of those words, padding's being zero, and under them the weights of
    the hypotheses' filters at every offset."""
    slots: Int[Tensor, " slot"]
    """Which of them stands in each slot."""
    sums: Float[Tensor, "1 window filt"]
    """The filters' values, bias and all, but for what the rows of M add."""
    match_weight: Float[Tensor, "two width filt"]
    """The filters' weights for those."""
    window_sentence: Int[Tensor, "1 window"]
    sentences: int
    told: Float[Tensor, "1 hid"] | None = None
    """Where a language model stands at the end of the passage, if the reader has one."""

    @property
    def words(self) -> Float[Tensor, "distinct emb"]:
        """The vectors of the distinct words."""
        return self.compared[: self.ids.shape[0]]


@dataclass(frozen=True)
class SentenceFeatures:
    """What the windows of sentences are computed from, for every word of a passage."""

    products: Float[Tensor, "batch doc width filt"]
    """The word multiplied with the filters at every offset."""
    to_answer: Float[Tensor, "batch doc hyp"]
    to_question: Float[Tensor, "batch doc"]
    """The two rows of the paper's matrix M."""


def sentence_maxima(
    features: SentenceFeatures,
    match_weight: Float[Tensor, "two width filt"],
    bias: Float[Tensor, " filt"],
    sentence_of: Int[Tensor, "batch doc"],
    sentence_length: Int[Tensor, "batch sent"],
    *,
    wide: bool = True,
) -> Float[Tensor, "batch sent hyp filt"]:
    """The largest value each filter has over the windows of each sentence, after the ReLU.

    `match_weight` are the filters' weights for the two rows of M.
    """
    if can_pool_fused(features.to_answer, bias):
        from epireader.layers.fused.sentences import fused_sentences  # Triton is there where a GPU is

        given = (features.products, features.to_answer, features.to_question, match_weight, bias, sentence_length)
        return fused_sentences(*(tensor[None] for tensor in given), wide=wide).squeeze(0)
    places = torch.arange(1, sentence_of.shape[1] + 1, device=bias.device).expand(sentence_of.shape)
    line = lay_on_line(places, sentence_of, sentence_length, width=match_weight.shape[1], wide=wide)
    laid = on_line(features, line)
    sums = window_sums(laid.products) + bias
    matches = laid.to_answer, laid.to_question
    return line_maxima(sums, *matches, match_weight, line.window_sentence, sentence_length.shape[1])


def line_maxima(
    sums: Float[Tensor, "#batch window filt"],
    to_answer: Float[Tensor, "batch slot hyp"],
    to_question: Float[Tensor, "batch slot"],
    match_weight: Float[Tensor, "two width filt"],
    window_sentence: Int[Tensor, "#batch window"],
    sentences: int,
) -> Float[Tensor, "batch sent hyp filt"]:
    """The same for sentences on a line, given the sums of what the filters make of the words alone."""
    of_answer, of_question = match_weight.unbind()
    width = match_weight.shape[1]
    shared = torch.baddbmm(sums, to_question.unfold(1, width, 1), of_question.expand(to_question.shape[0], -1, -1))
    own = to_answer.unfold(1, width, 1).contiguous() @ of_answer
    return pool_sentences(own.add_(shared[:, :, None]), window_sentence, sentences)


def on_line(features: SentenceFeatures, line: Line) -> SentenceFeatures:
    """The features in the slots of a line whose `words` are the places of words, from 1 on; those of empty slots are 0."""
    products = features.products.flatten(2)
    rows = torch.cat([products, features.to_answer, features.to_question[..., None]], dim=-1)
    table = nn.functional.pad(rows, (0, 0, 1, 0))
    first = torch.arange(len(table), device=table.device)[:, None] * table.shape[1]
    laid = nn.functional.embedding(first + line.words, table.flatten(0, 1))
    parts = laid.split([products.shape[-1], features.to_answer.shape[-1], 1], dim=-1)
    return SentenceFeatures(parts[0].unflatten(-1, features.products.shape[2:]), parts[1], parts[2][..., 0])
