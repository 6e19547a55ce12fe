"""The Deep LSTM Reader (Hermann et al. 2015, section 3.1): question and passage as one long sequence.

The question comes first: `question ||| passage` is the order (`qca`) of the model they report. Each layer is given the
words as well as the states of the layer below, and the last states of all layers make up what was read. Their linear
output y' = W h + b of each layer is left out: both places it goes to begin with a product that can do the same.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.layers.directions import reordered
from epireader.layers.embedding import INITIAL_RANGE, word_embedding
from epireader.layers.lstm import LSTM
from epireader.layers.masking import masked_log_softmax
from epireader.layers.output import AnswerScores
from epireader.readers.losses import negative_log_likelihood
from epireader.readers.reading import Loss, ReaderModule, Reading
from epireader.settings import refuse_below_one


@dataclass(frozen=True, kw_only=True)
class DeepLSTMConfig:
    """Sizes of the Deep LSTM Reader."""

    embedding_dim: int = 256
    """The width of a word vector."""
    hidden_dim: int = 256
    """The width of a layer."""
    layers: int = 2
    """K, how many LSTMs stand on top of each other."""

    def __post_init__(self) -> None:
        refuse_below_one(self, "model", "embedding_dim", "hidden_dim", "layers")


class DeepLSTMReader(ReaderModule):
    """Nothing but memory: no attention, and nothing of the passage can be read before the question is known."""

    def __init__(self, config: DeepLSTMConfig, words: int) -> None:
        super().__init__()
        self.embedding = word_embedding(words, config.embedding_dim)
        self.delimiter = nn.Parameter(torch.empty(config.embedding_dim))  # |||
        nn.init.uniform_(self.delimiter, -INITIAL_RANGE, INITIAL_RANGE)
        below = [0] + [config.hidden_dim] * (config.layers - 1)
        self.layers = nn.ModuleList(LSTM(config.embedding_dim + width, config.hidden_dim) for width in below)
        self.answer = AnswerScores(words, config.layers * config.hidden_dim)

    def forward(self, batch: Batch, passage_states: Float[Tensor, "batch doc out"] | None = None) -> Reading:
        del passage_states
        words, mask = self._one_sequence(batch)  # x(t)
        inputs, finals = words, []
        for layer in self.layers:
            encoded = layer(inputs, mask)
            inputs = torch.cat([words, encoded.states], dim=-1)  # x'(t, k + 1) = x(t) || y'(t, k)
            finals.append(encoded.final)
        read = torch.cat(finals, dim=-1)  # y(|q| + |d|) = y'(., 1) || ... || y'(., K)
        log_probs = masked_log_softmax(self.answer(read, batch.candidates), batch.candidate_mask)  # log p(a | d, q)
        return Reading(log_probs=log_probs, first_log_probs=log_probs)

    def _one_sequence(self, batch: Batch) -> tuple[Float[Tensor, "batch n emb"], Bool[Tensor, "batch n"]]:
        """The vectors of question, delimiter and passage, with no padding between them."""
        between = batch.question_mask.new_ones(len(batch), 1)
        mask = torch.cat([batch.question_mask, between, batch.passage_mask], dim=1)
        delimiter = self.delimiter.expand(len(batch), 1, -1)
        words = torch.cat([self.embedding(batch.question), delimiter, self.embedding(batch.passage)], dim=1)
        order = mask.int().argsort(dim=1, descending=True, stable=True)
        return reordered(words, order), mask.gather(1, order)

    def loss(self, reading: Reading, batch: Batch) -> Loss:
        return Loss(negative_log_likelihood(reading.log_probs, batch.answer))
