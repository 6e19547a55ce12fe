"""Word vectors: the one matrix W of the paper."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float, Int, Shaped
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


def look_up(embedding: nn.Embedding, *texts: Int[Tensor, "..."]) -> list[Float[Tensor, "... emb"]]:
    """The vectors of the words of several texts. One lookup for all makes one gradient as large as the vocabulary."""
    vectors = embedding(torch.cat([text.flatten() for text in texts])).split([text.numel() for text in texts])
    return [part.view(*text.shape, embedding.embedding_dim) for part, text in zip(vectors, texts, strict=True)]


def mean_vector(
    words: Float[Tensor, "batch cand phrase emb"], mask: Bool[Tensor, "batch cand phrase"]
) -> Float[Tensor, "batch cand emb"]:
    """One vector for a candidate: the mean of its words' vectors."""
    if words.shape[2] == 1:
        return (words * mask[..., None]).squeeze(2)
    return (words * mask[..., None]).sum(dim=2) / mask.sum(dim=2).clamp(min=1)[..., None]


def each_word_once(
    of_words: Callable[[Float[Tensor, "batch n emb"]], Sequence[Shaped[Tensor, "batch n *out"]]],
    vectors: Float[Tensor, "batch n emb"],
    words: Int[Tensor, "batch n"],
) -> Sequence[Shaped[Tensor, "batch n *out"]]:
    """What a function makes of the vector of every word by itself.

    In one passage that is read on a CPU, half of the words or more have stood there before: of them it is taken over.
    """
    if len(words) > 1 or words.device.type != "cpu" or torch.is_grad_enabled():
        return of_words(vectors)
    distinct, which = words[0].unique(return_inverse=True)
    anywhere = which.new_empty(len(distinct)).scatter_(0, which, torch.arange(len(which)))
    return [part.index_select(1, which) for part in of_words(vectors[:, anywhere])]
