"""The Reasoner (section 3.3): tests every hypothesis against every sentence of the passage, in order."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.data.vocabulary import BLANK_ID, PAD_ID
from epireader.layers.convolution import Filters, lay_on_line, on_line, pool_sentences, window_sums, word_products
from epireader.layers.embedding import mean_vector
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

    def read_words(self, words: Float[Tensor, "batch doc emb"]) -> Float[Tensor, "batch doc width_filt"]:
        """What the filters of sentences make of each word, whatever is asked."""
        return word_products(words, self.sentence_filters.weight[: words.shape[-1]]).flatten(2)

    def forward(
        self,
        embedding: nn.Embedding,
        batch: Batch,
        hypotheses: Int[Tensor, "batch hyp phrase"],
        read_words: Float[Tensor, "batch doc width_filt"] | None = None,
    ) -> Entailment:
        """Scores for hypotheses given as the words to put into the blank."""
        question = embedding(batch.question)
        answers = embedding(hypotheses)
        words = embedding(batch.passage)
        matches = match_features(words, mean_vector(answers, hypotheses != PAD_ID), question, asks(batch.question))
        sentences = self._read_sentences(batch, self.read_words(words) if read_words is None else read_words, *matches)
        statements = self._read_hypotheses(batch, question, hypotheses, answers)
        similarity = torch.einsum("bskf,fg,bkg->bks", sentences, self.similarity, statements)  # varsigma, eq. 3
        count = sentences.shape[1]
        steps = torch.cat(
            [similarity[..., None], sentences.transpose(1, 2), statements[:, :, None].expand(-1, -1, count, -1)], dim=-1
        )  # x_ik
        return self._gather_evidence(steps, batch.sentence_mask)

    def _read_sentences(
        self,
        batch: Batch,
        products: Float[Tensor, "batch doc width_filt"],
        to_answer: Float[Tensor, "batch doc hyp"],
        to_question: Float[Tensor, "batch doc"],
    ) -> Float[Tensor, "batch sent hyp filt"]:
        filters, width = self.sentence_filters, self.sentence_filters.width
        of_answer, of_question = filters.weight[-2:]
        line = lay_on_line(batch.sentence_of, batch.sentence_length, width=width, wide=self.wide)
        # Only the first row of M depends on the hypothesis: the rest of the convolution is done once for all.
        products = products + to_question[..., None] * of_question.flatten()
        products, to_answer = on_line(torch.cat([products, to_answer], dim=-1), line).tensor_split(
            [products.shape[-1]], dim=-1
        )
        shared = window_sums(products.unflatten(-1, (width, -1))) + filters.bias
        own = to_answer.unfold(1, width, 1).contiguous() @ of_answer
        return pool_sentences(shared[:, :, None] + own, line.window_sentence, batch.sentence_length.shape[1])  # r_S

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
    # The passage comes last: its words are many, and the maximum is then one of long rows.
    to_answer, to_question = answers @ words.mT, question @ words.mT
    return to_answer.mT, masked_max(to_question.mT, question_mask[:, None])


def window_counts(
    length: Int[Tensor, "batch hyp"], windows: int, *, width: int, wide: bool
) -> Bool[Tensor, "batch hyp {windows}"]:
    """Which windows of a padded sequence belong to it: all that touch it, or (narrow) all that lie within it."""
    window = torch.arange(windows, device=length.device)
    length, gap = length[..., None], width - 1
    if wide:
        return window < length + gap
    return (window >= gap) & (window <= gap + (length - width).clamp(min=0))
