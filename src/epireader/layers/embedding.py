"""Word vectors: the one matrix W of the paper."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from epireader.data.vocabulary import PAD_ID

INITIAL_RANGE = 0.05


def word_embedding(words: int, dim: int) -> nn.Embedding:
    """W, drawn from U[-0.05, 0.05); padding is the zero vector and stays so."""
    embedding = nn.Embedding(words, dim, padding_idx=PAD_ID)
    with torch.no_grad():
        embedding.weight.uniform_(-INITIAL_RANGE, INITIAL_RANGE)
        embedding.weight[PAD_ID].zero_()
    return embedding


def mean_vector(
    words: Float[Tensor, "batch cand phrase emb"], mask: Bool[Tensor, "batch cand phrase"]
) -> Float[Tensor, "batch cand emb"]:
    """One vector for a candidate: the mean of its words' vectors."""
    return (words * mask[..., None]).sum(dim=2) / mask.sum(dim=2).clamp(min=1)[..., None]


def each_word_once(
    of_words: Callable[[Int[Tensor, "batch n"]], Float[Tensor, "batch n out"]], words: Int[Tensor, "batch n"]
) -> Float[Tensor, "batch n out"]:
    """What a function makes of every word by itself.

    In one passage that is read on a CPU, half of the words or more have stood there before: of them it is taken over.
    """
    if len(words) > 1 or words.device.type != "cpu" or torch.is_grad_enabled():
        return of_words(words)
    distinct, place = words.unique(return_inverse=True)
    return of_words(distinct[None]).index_select(1, place[0])
