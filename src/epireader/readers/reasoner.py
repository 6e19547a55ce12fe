"""The Reasoner (section 3.3): tests every hypothesis against every sentence of the passage, in order."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.data.vocabulary import BLANK_ID, PAD_ID
from epireader.layers.convolution import Filters, SentenceFeatures, sentence_maxima, window_sums, word_products
from epireader.layers.embedding import each_word_once, mean_vector
from epireader.layers.gru import GRU
from epireader.layers.kernels import can_pool_fused
from epireader.layers.masking import masked_max
from epireader.readers.hypotheses import fill_blank


@dataclass(frozen=True)
class Entailment:
    """How well the passage supports each hypothesis."""

    scores: Float[Tensor, "batch hyp"]
    by_sentence: Float[Tensor, "batch hyp sent"]
    """What was gathered after every sentence; how a hypothesis fits the blank is not among it."""
    fit: Float[Tensor, "batch hyp"] | None = None
    """How a hypothesis fits the blank, if that is asked; the scores have it in them."""


@dataclass(frozen=True)
class Vectors:
    """The vectors of the words that are read, padding's being zero, and the states of the question's."""

    passage: Float[Tensor, "batch doc emb"]
    question: Float[Tensor, "batch q emb"]
    hypotheses: Float[Tensor, "batch hyp phrase emb"]
    question_states: Float[Tensor, "batch q out"] | None = None
    """What the Extractor made of the question's words, for a Reasoner that asks how hypotheses fit the blank."""


class Reasoner(nn.Module):
    """Convolutions over sentences and hypotheses, their similarity, and a GRU that gathers it over the sentences."""

    def __init__(
        self,
        *,
        embedding_dim: int,
        filters: int,
        width: int,
        hidden_dim: int,
        wide: bool = True,
        state_dim: int = 0,
    ) -> None:
        """With the width of the question's states, it also asks whether a hypothesis fits the words around the blank."""
        super().__init__()
        self.wide = wide
        self.sentence_filters = Filters(embedding_dim + 2, width, filters)  # F^S
        self.hypothesis_filters = Filters(embedding_dim, width, filters)  # F^H
        self.similarity = nn.Parameter(torch.empty(filters, filters))  # R
        nn.init.xavier_uniform_(self.similarity)
        self.synthesis = GRU(1 + 2 * filters, hidden_dim)
        # Without a bias: the softmax over hypotheses would cancel it.
        self.evidence = nn.Linear(hidden_dim, 1, bias=False)
        self.wanted = nn.Linear(state_dim, embedding_dim) if state_dim else None

    def forward(self, words: Vectors, batch: Batch, hypotheses: Int[Tensor, "batch hyp phrase"]) -> Entailment:
        """Scores for hypotheses given as the words to put into the blank."""
        answers = mean_vector(words.hypotheses, hypotheses != PAD_ID)
        sentences = self._read_sentences(words, batch, answers)
        statements = self._read_hypotheses(words, batch, hypotheses)
        similarity = torch.einsum("bskf,bkf->bks", sentences, statements @ self.similarity.T)  # varsigma, eq. 3
        count = sentences.shape[1]
        steps = torch.cat(
            [similarity[..., None], sentences.transpose(1, 2), statements[:, :, None].expand(-1, -1, count, -1)], dim=-1
        )  # x_ik
        entailment = self._gather_evidence(steps, batch.sentence_mask)
        if self.wanted is None:
            return entailment
        fit = self._fit(words, batch, answers)
        return replace(entailment, scores=entailment.scores + fit, fit=fit)

    def _read_sentences(
        self, words: Vectors, batch: Batch, answers: Float[Tensor, "batch hyp emb"]
    ) -> Float[Tensor, "batch sent hyp filt"]:
        filters = self.sentence_filters
        of_words, of_matches = filters.weight.split([words.passage.shape[-1], 2])
        question_mask = asks(batch.question)

        def features(vectors: Float[Tensor, "batch n emb"]) -> tuple[Tensor, Tensor, Tensor]:
            # Only the first row of M depends on the hypothesis: the rest of the convolution is done once for all.
            return word_products(vectors, of_words), *match_features(vectors, answers, words.question, question_mask)

        products, to_answer, to_question = each_word_once(features, words.passage, batch.passage)
        return sentence_maxima(
            SentenceFeatures(products, to_answer, to_question),
            of_matches,
            filters.bias,
            batch.sentence_of,
            batch.sentence_length,
            wide=self.wide,
        )  # r_S

    def _read_hypotheses(
        self, words: Vectors, batch: Batch, hypotheses: Int[Tensor, "batch hyp phrase"]
    ) -> Float[Tensor, "batch hyp filt"]:
        filters = self.hypothesis_filters
        of_question = word_products(words.question, filters.weight)
        of_answer = word_products(words.hypotheses, filters.weight)
        if can_pool_fused(hypotheses[..., 0], filters.bias):
            from epireader.layers.fused.statements import fused_statements  # Triton is there where a GPU is

            given = (of_question, of_answer, filters.bias, batch.question, hypotheses)
            return fused_statements(*(tensor[None] for tensor in given), wide=self.wide).squeeze(0)
        source = fill_blank(batch.question, batch.blank, hypotheses)
        return statement_maxima(of_question, of_answer, source, filters.bias, wide=self.wide)  # r_H

    def _fit(self, words: Vectors, batch: Batch, answers: Float[Tensor, "batch hyp emb"]) -> Float[Tensor, "batch hyp"]:
        """How near each answer is to the vector that the words on both sides of the blank call for."""
        states = words.question_states
        assert self.wanted is not None
        assert states is not None
        around = states.gather(1, batch.blank[:, None, None].expand(-1, 1, states.shape[2]))
        fit: Tensor = (self.wanted(around) * answers).sum(dim=-1)
        return fit

    def _gather_evidence(
        self, steps: Float[Tensor, "batch hyp sent in"], sentence_mask: Bool[Tensor, "batch sent"]
    ) -> Entailment:
        batch, hyp, sent, _ = steps.shape
        mask = sentence_mask[:, None].expand(batch, hyp, sent)
        gathered = self.synthesis(steps.flatten(0, 1), mask.flatten(0, 1))
        scores = self.evidence(gathered.final).view(batch, hyp)  # y_k
        return Entailment(scores, self.evidence(gathered.states).view(batch, hyp, sent))


def asks(question: Int[Tensor, "batch q"]) -> Bool[Tensor, "batch q"]:
    """The words of the question proper: neither padding nor the blank."""
    return (question != PAD_ID) & (question != BLANK_ID)


def match_features(
    words: Float[Tensor, "batch slot emb"],
    answers: Float[Tensor, "batch hyp emb"],
    question: Float[Tensor, "batch q emb"],
    question_mask: Bool[Tensor, "batch q"],
) -> tuple[Float[Tensor, "batch slot hyp"], Float[Tensor, "batch slot"]]:
    """The two rows of the paper's matrix M, for every word of the passage.

    The first is its inner product with each answer, the second its largest inner product with a word of the question.
    """
    # One product, and the passage last: its words are many, and the maximum is then one of long rows.
    matches = (torch.cat([answers, question], dim=1) @ words.mT).mT
    to_answer, to_question = matches.tensor_split([answers.shape[1]], dim=-1)
    return to_answer, masked_max(to_question, question_mask[:, None])


def statement_maxima(
    of_question: Float[Tensor, "batch q width filt"],
    of_answer: Float[Tensor, "batch hyp phrase width filt"],
    source: Int[Tensor, "batch hyp word"],
    bias: Float[Tensor, " filt"],
    *,
    wide: bool,
) -> Float[Tensor, "batch hyp filt"]:
    """The largest value each filter has over the windows of each hypothesis, whose words `fill_blank` tells, after the ReLU."""
    gap = of_question.shape[2] - 1
    empty = of_answer.new_zeros(1).expand(*of_answer.shape[:2], 1, *of_answer.shape[3:])
    of_question = of_question[:, None].expand(-1, of_answer.shape[1], -1, -1, -1)
    products = torch.cat([empty, of_question, of_answer], dim=2)
    slots = nn.functional.pad(source, (gap, gap))
    products = products.gather(2, slots[..., None, None].expand(*slots.shape, *products.shape[3:]))
    values = torch.relu(window_sums(products) + bias)
    counts = window_counts((source > 0).sum(dim=2), values.shape[2], width=gap + 1, wide=wide)
    return (values * counts[..., None]).amax(dim=2)


def window_counts(
    length: Int[Tensor, "batch hyp"], windows: int, *, width: int, wide: bool
) -> Bool[Tensor, "batch hyp {windows}"]:
    """Which windows of a padded sequence belong to it: all that touch it, or (narrow) all that lie within it."""
    window = torch.arange(windows, device=length.device)
    length, gap = length[..., None], width - 1
    if wide:
        return window < length + gap
    return (window >= gap) & (window <= gap + (length - width).clamp(min=0))
