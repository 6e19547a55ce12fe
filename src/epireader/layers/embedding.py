"""Word vectors: the one matrix W of the paper."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from epireader.data.vocabulary import PAD_ID

INITIAL_RANGE = 0.05


def word_embedding(words: int, dim: int, initial_range: float = INITIAL_RANGE) -> nn.Embedding:
    """W, drawn from U[-initial_range, initial_range); padding is the zero vector and stays so."""
    embedding = nn.Embedding(words, dim, padding_idx=PAD_ID)
    with torch.no_grad():
        embedding.weight.uniform_(-initial_range, initial_range)
        embedding.weight[PAD_ID].zero_()
    return embedding


def look_up(embedding: nn.Embedding, *texts: Int[Tensor, "..."]) -> list[Float[Tensor, "... emb"]]:
    """The vectors of the words of several texts. One lookup for all makes one gradient as large as the vocabulary."""
    vectors = embedding(torch.cat([text.flatten() for text in texts])).split([text.numel() for text in texts])
    return [part.view(*text.shape, embedding.embedding_dim) for part, text in zip(vectors, texts, strict=True)]


def vectors_of(embedding: nn.Embedding, words: Int[Tensor, "..."]) -> Float[Tensor, "... emb"]:
    """The vectors of few words, without the embedding's own call, which takes as long as looking them up."""
    return torch.embedding(embedding.weight, words, PAD_ID)


def thinned(vectors: Float[Tensor, "*words emb"], share: float, *, training: bool) -> Float[Tensor, "*words emb"]:
    """Word vectors as they are, or in training without a share of their entries."""
    return nn.functional.dropout(vectors, share) if training and share else vectors


def mean_vector(
    words: Float[Tensor, "batch cand phrase emb"], ids: Int[Tensor, "batch cand phrase"]
) -> Float[Tensor, "batch cand emb"]:
    """One vector for a candidate: the mean of its words' vectors, padding's being zero."""
    if words.shape[2] == 1:
        return words.squeeze(2)
    mask = ids != PAD_ID
    return (words * mask[..., None]).sum(dim=2) / mask.sum(dim=2).clamp(min=1)[..., None]


@dataclass(frozen=True)
class EachOnce:
    """The distinct words of a text, of whose words half or more may have stood there before."""

    stands: Int[Tensor, " distinct"]
    """A place where each of them stands."""
    which: Int[Tensor, " n"]
    """Which of them stands at every place."""


def each_once(words: Int[Tensor, " n"]) -> EachOnce:
    distinct, which = words.unique(return_inverse=True)
    stands = torch.empty_like(distinct).scatter_(0, which, torch.arange(len(which), device=words.device))
    return EachOnce(stands, which)
