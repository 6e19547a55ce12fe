"""What the question's words have to do with those of a passage, besides what their states say.

Words of the passage that stand in the question can be marked before they are read (`Extractor.mark`), or each word be read
with those of the question that it is like; but then a passage must be read anew for every question. What stands around a
word can also be looked at beside its state, and tells nearly as much.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad

from epireader.layers.masking import masked_log_softmax
from epireader.layers.products import many_rows_linear

WIDTH = 21
"""How many words a filter spans: ten on either side."""
SEEN_AS = 16
"""As how many numbers a filter sees each of the question's words."""


class MarksBeside(nn.Module):
    """Filters over the passage in which nothing but the question's words stands."""

    def __init__(self, *, embedding_dim: int, state_dim: int, filters: int) -> None:
        super().__init__()
        self.seen_as = nn.Linear(embedding_dim, SEEN_AS)
        self.filters = nn.Linear(SEEN_AS * WIDTH, filters)
        self.of_state = nn.Linear(state_dim, filters)
        self.of_question = nn.Linear(state_dim, filters, bias=False)

    def forward(
        self,
        passage: Float[Tensor, "batch doc emb"],
        marked: Bool[Tensor, "batch doc"],
        states: Float[Tensor, "batch doc out"],
        question: Float[Tensor, "batch out"],
    ) -> Float[Tensor, "batch doc"]:
        """What to add to the score of each word, given its state and g(Q), which say how much each filter counts."""
        seen = pad(of_many(self.seen_as, passage) * marked[..., None], (0, 0, WIDTH // 2, WIDTH // 2))
        near = of_many(self.filters, seen.unfold(1, WIDTH, 1).flatten(2)).relu()
        counts = of_many(self.of_state, states) + self.of_question(question)[:, None]
        more: Tensor = (near * counts).sum(dim=-1)
        return more


def of_many(layer: nn.Linear, words: Float[Tensor, "batch doc in"]) -> Float[Tensor, "batch doc out"]:
    return many_rows_linear(words, layer.weight, layer.bias)


class Alignment(nn.Module):
    """What to add to each word of the passage for those of the question that it is like (Lee et al. 2016).

    A mark says that a word stands in the question; this says which it is, and of words with like vectors too.
    """

    def __init__(self, embedding_dim: int) -> None:
        super().__init__()
        self.seen_as = nn.Linear(embedding_dim, embedding_dim, bias=False)
        nn.init.orthogonal_(self.seen_as.weight)  # at first two words are as like as their vectors
        self.of_found = nn.Linear(2 * embedding_dim, embedding_dim, bias=False)

    def forward(
        self,
        passage: Float[Tensor, "batch doc emb"],
        question: Float[Tensor, "batch q emb"],
        question_mask: Bool[Tensor, "batch q"],
    ) -> Float[Tensor, "batch doc emb"]:
        likeness = of_many(self.seen_as, passage) @ self.seen_as(question).mT / math.sqrt(passage.shape[2])
        shares = masked_log_softmax(likeness, question_mask[:, None].expand(likeness.shape)).exp()
        found = shares.to(question.dtype) @ question
        return of_many(self.of_found, torch.cat([found, found * passage], dim=-1))
