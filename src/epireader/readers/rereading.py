"""Reading again: a hypothesis is put into the question and marked wherever it stands in the passage, and both are read anew.

A reader that points reads the passage before it knows what it will point at. This one is told, and can follow an answer
through the whole of the passage. It begins where the first reading ended: each word comes with its state, and with that
state times what it attends to in the question.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.data.vocabulary import BLANK_ID
from epireader.layers.attention import gated, mentions
from epireader.layers.directions import Encoded
from epireader.layers.embedding import mean_vector, thinned
from epireader.layers.gru import BiGRU
from epireader.layers.masking import MINUS_INFINITY, logsumexp, masked_log_softmax, spread_log_probs
from epireader.layers.products import many_rows_linear
from epireader.readers.extractor import ExtractorConfig
from epireader.readers.fitting import around
from epireader.readers.hypotheses import of_chosen


@dataclass(frozen=True)
class FirstReading:
    """What the Extractor made of passages and their questions: a state for every word."""

    passage: Float[Tensor, "batch doc out"]
    question: Float[Tensor, "batch q out"]


@dataclass(frozen=True)
class Reread:
    """What was made of reading passages again for some of the candidates."""

    scores: Float[Tensor, "batch cand"]
    """What speaks for each more than for the mean of them; 0 for those it was not read for, or that stand nowhere in it."""
    log_probs: Float[Tensor, "batch cand"]
    """Which of them it is by this alone; -inf for the others."""


class Rereading(nn.Module):
    """Two biGRUs as the Extractor has, over the passage and the question as they are for each hypothesis."""

    def __init__(self, config: ExtractorConfig) -> None:
        super().__init__()
        words, states = config.embedding_dim, 2 * config.hidden_dim
        self.dropout = config.dropout
        self.passage_encoder = BiGRU(words, config.hidden_dim)
        self.question_encoder = BiGRU(words, config.hidden_dim)
        self.at_blank = nn.Linear(states, states, bias=False)
        self.of_states = nn.Linear(2 * states, words, bias=False)
        """What is added to a word for its state, plain and gated."""
        self.question_mark = nn.Parameter(torch.zeros(words))
        """Added to words of the passage that stand in the question."""
        self.answer_mark = nn.Parameter(torch.zeros(words))
        """Added to the words of a hypothesis, in the passage and in the blank."""

    def forward(
        self,
        passage: Float[Tensor, "batch doc emb"],
        question: Float[Tensor, "batch q emb"],
        answers: Float[Tensor, "batch hyp phrase emb"],
        first: FirstReading,
        batch: Batch,
        chosen: Int[Tensor, "batch hyp"],
    ) -> Reread:
        """Read the passages again for the candidates with these numbers, given the vectors of their words."""
        hypotheses = of_chosen(batch.candidates, chosen)
        shares = mentions(batch.passage, hypotheses)
        points = self._read_question(question, mean_vector(answers, hypotheses), batch)
        states = self._read_passage(passage + self._recalled(first, batch), shares > 0, batch)
        pointed = (states @ points[..., None]).squeeze(-1)
        found = logsumexp(pointed + shares.log())
        stands = found > MINUS_INFINITY
        mean = torch.where(stands, found, 0.0).sum(dim=1, keepdim=True) / stands.sum(dim=1, keepdim=True).clamp(min=1)
        scores = torch.where(stands, found - mean, 0.0)
        number = batch.candidates.shape[1]
        return Reread(
            scores=scores.new_zeros(len(batch), number).scatter(1, chosen, scores),
            log_probs=spread_log_probs(masked_log_softmax(found, stands), chosen, number),
        )

    def _recalled(self, first: FirstReading, batch: Batch) -> Float[Tensor, "batch doc emb"]:
        """What the first reading has to say of every word of the passage."""
        states = torch.cat([first.passage, gated(first.passage, first.question, batch.question_mask)], dim=-1)
        return many_rows_linear(thinned(states, self.dropout, training=self.training), self.of_states.weight)

    def _read_passage(
        self, passage: Float[Tensor, "batch doc emb"], stands: Bool[Tensor, "batch hyp doc"], batch: Batch
    ) -> Float[Tensor, "batch hyp doc out"]:
        """A state for every word of the passage, once for each hypothesis."""
        vectors = passage + batch.in_question[..., None] * self.question_mark
        vectors = vectors[:, None] + stands[..., None] * self.answer_mark
        mask = batch.passage_mask[:, None].expand(stands.shape)
        vectors = thinned(vectors.flatten(0, 1), self.dropout, training=self.training)
        read: Encoded = self.passage_encoder(vectors, mask.flatten(0, 1))
        return read.states.view(*stands.shape, -1)

    def _read_question(
        self, question: Float[Tensor, "batch q emb"], answers: Float[Tensor, "batch hyp emb"], batch: Batch
    ) -> Float[Tensor, "batch hyp out"]:
        """What the question with each hypothesis in its blank points by."""
        shape = answers.shape[:2]
        is_blank = (batch.question == BLANK_ID)[:, None, :, None]
        filled = torch.where(is_blank, (answers + self.answer_mark)[:, :, None], question[:, None]).flatten(0, 1)
        mask = batch.question_mask[:, None].expand(*shape, -1).flatten(0, 1)
        blank = batch.blank[:, None].expand(shape).reshape(-1, 1)
        read = self.question_encoder(thinned(filled, self.dropout, training=self.training), mask)
        at_blank = self.at_blank(around(read.states, mask, blank)).squeeze(1)
        points: Tensor = (read.final + at_blank).view(*shape, -1)
        return points
