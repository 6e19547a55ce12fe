"""Scores of answers for readers that do not point: an output vector for every word."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from epireader.layers.embedding import mean_vector, word_embedding


class AnswerScores(nn.Module):
    """W(a) · g: how well each candidate's output vector fits what was read; for a phrase, the mean of its words'."""

    def __init__(self, words: int, dim: int) -> None:
        super().__init__()
        self.embedding = word_embedding(words, dim)

    def forward(
        self, read: Float[Tensor, "batch out"], candidates: Int[Tensor, "batch cand phrase"]
    ) -> Float[Tensor, "batch cand"]:
        answers = mean_vector(self.embedding(candidates), candidates)
        return torch.einsum("bo,bco->bc", read, answers)
