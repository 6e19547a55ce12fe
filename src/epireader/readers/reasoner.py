"""The Reasoner (section 3.3): tests every hypothesis against every sentence of the passage, in order."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.data.vocabulary import BLANK_ID, PAD_ID
from epireader.layers.convolution import Filters, lay_on_line, on_line, pool_sentences, window_sums, word_products
from epireader.layers.embedding import each_word_once, mean_vector
from epireader.layers.gru import GRU
from epireader.layers.masking import masked_max
from epireader.readers.hypotheses import fill_blank


@dataclass(frozen=True)
class Entailment:
    """How well the passage supports each hypothesis."""

    scores: Float[Tensor, "batch hyp"]
    by_sentence: Float[Tensor, "batch hyp sent"]


class Reasoner(nn.Module):
    """Convolutions over sentences and hypotheses, their similarity, and a GRU that gathers it over the sentences."""

    def __init__(self, *, embedding_dim: int, filters: int, width: int, hidden_dim: int, wide: bool = True) -> None:
        super().__init__()
        self.wide = wide
        self.sentence_filters = Filters(embedding_dim + 2, width, filters)  # F^S
        self.hypothesis_filters = Filters(embedding_dim, width, filters)  # F^H
        self.similarity = nn.Parameter(torch.empty(filters, filters))  # R
        nn.init.xavier_uniform_(self.similarity)
        self.synthesis = GRU(1 + 2 * filters, hidden_dim)
        # Without a bias: the softmax over hypotheses would cancel it.
        self.evidence = nn.Linear(hidden_dim, 1, bias=False)

    def forward(self, embedding: nn.Embedding, batch: Batch, hypotheses: Int[Tensor, "batch hyp phrase"]) -> Entailment:
        """Scores for hypotheses given as the words to put into the blank."""
        question = embedding(batch.question)
        answers = embedding(hypotheses)
        sentences = self._read_sentences(embedding, batch, question, mean_vector(answers, hypotheses != PAD_ID))
        statements = self._read_hypotheses(batch, question, hypotheses, answers)
        compared = nn.functional.linear(sentences, self.similarity.T) * statements[:, None]
        similarity = compared.sum(dim=-1).mT  # varsigma, eq. 3
        count = sentences.shape[1]
        steps = torch.cat(
            [similarity[..., None], sentences.transpose(1, 2), statements[:, :, None].expand(-1, -1, count, -1)], dim=-1
        )  # x_ik
        return self._gather_evidence(steps, batch.sentence_mask)

    def _read_sentences(
        self,
        embedding: nn.Embedding,
        batch: Batch,
        question: Float[Tensor, "batch q emb"],
        answers: Float[Tensor, "batch hyp emb"],
    ) -> Float[Tensor, "batch sent hyp filt"]:
        filters, width, question_mask = self.sentence_filters, self.sentence_filters.width, asks(batch.question)
        line = lay_on_line(batch.sentence_of, batch.sentence_length, width=width, wide=self.wide)
        of_words = each_word_once(
            lambda words: self._read_words(embedding(words), answers, question, question_mask), batch.passage
        )
        products, to_answer = on_line(of_words, line).split([width * filters.filters, answers.shape[1]], dim=-1)
        shared = window_sums(products.unflatten(-1, (width, -1))) + filters.bias
        own = to_answer.unfold(1, width, 1).contiguous() @ filters.weight[-2]
        return pool_sentences(shared[:, :, None] + own, line.window_sentence, batch.sentence_length.shape[1])  # r_S

    def _read_words(
        self,
        words: Float[Tensor, "batch n emb"],
        answers: Float[Tensor, "batch hyp emb"],
        question: Float[Tensor, "batch q emb"],
        question_mask: Bool[Tensor, "batch q"],
    ) -> Float[Tensor, "batch n features"]:
        """What the filters make of each word, side by side with its matches with the answers.

        Only the first row of M depends on the hypothesis: the rest of the convolution is done once for all.
        """
        to_answer, to_question = match_features(words, answers, question, question_mask)
        weight = self.sentence_filters.weight
        products = word_products(words, weight[:-2]) + to_question[..., None, None] * weight[-1]
        return torch.cat([products.flatten(2), to_answer], dim=-1)

    def _read_hypotheses(
        self,
        batch: Batch,
        question: Float[Tensor, "batch q emb"],
        hypotheses: Int[Tensor, "batch hyp phrase"],
        answers: Float[Tensor, "batch hyp phrase emb"],
    ) -> Float[Tensor, "batch hyp filt"]:
        filters, gap = self.hypothesis_filters, self.hypothesis_filters.width - 1
        source = fill_blank(batch.question, batch.blank, hypotheses)
        of_question = word_products(question, filters.weight)[:, None].expand(-1, hypotheses.shape[1], -1, -1, -1)
        of_answer = word_products(answers, filters.weight)
        empty = of_answer.new_zeros(1).expand(*of_answer.shape[:2], 1, *of_answer.shape[3:])
        products = torch.cat([empty, of_question, of_answer], dim=2)
        slots = nn.functional.pad(source, (gap, gap))
        products = products.gather(2, slots[..., None, None].expand(*slots.shape, *products.shape[3:]))
        values = torch.relu(window_sums(products) + filters.bias)
        counts = window_counts((source > 0).sum(dim=2), values.shape[2], width=gap + 1, wide=self.wide)
        return (values * counts[..., None]).amax(dim=2)  # r_H

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


def window_counts(
    length: Int[Tensor, "batch hyp"], windows: int, *, width: int, wide: bool
) -> Bool[Tensor, "batch hyp {windows}"]:
    """Which windows of a padded sequence belong to it: all that touch it, or (narrow) all that lie within it."""
    window = torch.arange(windows, device=length.device)
    length, gap = length[..., None], width - 1
    if wide:
        return window < length + gap
    return (window >= gap) & (window <= gap + (length - width).clamp(min=0))
