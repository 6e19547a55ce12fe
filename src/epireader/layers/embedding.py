"""Word vectors: the one matrix W of the paper."""

import torch
from torch import nn

from epireader.data.vocabulary import PAD_ID

INITIAL_RANGE = 0.05


def word_embedding(words: int, dim: int) -> nn.Embedding:
    """W, drawn from U[-0.05, 0.05); padding is the zero vector and stays so."""
    embedding = nn.Embedding(words, dim, padding_idx=PAD_ID)
    with torch.no_grad():
        embedding.weight.uniform_(-INITIAL_RANGE, INITIAL_RANGE)
        embedding.weight[PAD_ID].zero_()
    return embedding
