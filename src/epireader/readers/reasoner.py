"""The Reasoner (section 3.3): tests every hypothesis against every sentence of the passage, in order."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.data.vocabulary import PAD_ID
from epireader.layers.convolution import (
    Filters,
    PassageLine,
    SentenceFeatures,
    lay_on_line,
    line_maxima,
    sentence_maxima,
    window_sums,
    word_products,
)
from epireader.layers.embedding import mean_vector
from epireader.layers.gru import GRU
from epireader.layers.kernels import can_pool_fused
from epireader.layers.masking import masked_log_softmax, masked_max
from epireader.readers.alone import compare_alone, whole_maxima
from epireader.readers.fitting import Places, around
from epireader.readers.reading import Evidence, Masks
from epireader.readers.statements import fill_in, fill_in_word, statement_maxima


@dataclass(frozen=True)
class Entailment:
    """How well the passage supports each hypothesis."""

    scores: Float[Tensor, "batch hyp"]
    by_sentence: Float[Tensor, "batch hyp sent"]
    """What was gathered after every sentence; how a hypothesis fits the blank is not among it."""
    fit: Float[Tensor, "batch hyp"] | None = None
    """How a hypothesis fits the blank, if that is asked; the scores have it in them."""
    again: Float[Tensor, "batch hyp"] | None = None
    """What reading the passage again says of it, where that is done; the scores have it in them."""

    def with_fit(self, fit: Float[Tensor, "batch hyp"]) -> "Entailment":
        return replace(self, scores=self.scores + fit, fit=fit)

    def with_rereading(self, again: Float[Tensor, "batch hyp"]) -> "Entailment":
        return replace(self, scores=self.scores + again, again=again)


def weigh(
    entailment: Entailment,
    chosen: Int[Tensor, "batch hyp"],
    log_probs: Float[Tensor, "batch hyp"],
    mask: Bool[Tensor, "batch hyp"] | None,
) -> Evidence:
    """What the passage says for the hypotheses, with what the Extractor does."""
    evidence = masked_log_softmax(entailment.scores, mask)  # log e_k
    return Evidence(
        hypotheses=chosen,
        log_probs=evidence,
        combined_log_probs=masked_log_softmax(evidence + log_probs, mask),  # log pi_k, eq. 4
        by_sentence=entailment.by_sentence,
        fit=entailment.fit,
        again=entailment.again,
    )


@dataclass(frozen=True)
class Vectors:
    """The vectors of the words that are read, padding's being zero, and the states of the question's."""

    passage: Float[Tensor, "batch doc emb"] | None
    """None where the passage lies on a line already."""
    question: Float[Tensor, "batch q emb"]
    hypotheses: Float[Tensor, "batch hyp phrase emb"]
    wanted: Float[Tensor, "batch place emb"] | None = None
    """What the words around some places of the question call for, the blank first, where hypotheses are to fit it."""


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
        fits_blank: bool = False,
        knows_words: bool = False,
    ) -> None:
        """With the width of the question's states, it says what the words around a place call for, and by one that
        `fits_blank` hypotheses are judged by that too.

        What is called for is told by the place's own states or, by one that `knows_words`, by its neighbours'.
        """
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
        self.trust = nn.Parameter(torch.ones(1)) if fits_blank and knows_words else None
        self.knows_words = knows_words

    def wanted_at(
        self,
        places: Places | None,
        states: Float[Tensor, "batch q out"],
        batch: Batch,
        question_mask: Bool[Tensor, "batch q"] | None,
    ) -> Float[Tensor, "batch place emb"]:
        """The vectors that the words around places of the questions, or around the blank alone, call for."""
        assert self.wanted is not None
        index = batch.blank[:, None] if places is None else places.index
        if not self.knows_words:
            read = states.gather(1, index[..., None].expand(*index.shape, states.shape[2]))
        else:
            read = around(states, question_mask, index)
        wanted: Tensor = self.wanted(read)
        return wanted

    def lay_out(self, embedding: nn.Embedding, batch: Batch) -> PassageLine:
        """What the sentence filters make of the only passage of a batch, whatever is asked about it."""
        filters = self.sentence_filters
        line = lay_on_line(batch.passage, batch.sentence_of, batch.sentence_length, width=filters.width, wide=self.wide)
        ids, slots = line.words[0].unique(return_inverse=True)
        vectors = embedding(ids) * (ids != PAD_ID)[:, None]  # empty slots are zero, whatever padding's vector is
        products = word_products(vectors, filters.weight[:-2])
        return PassageLine(
            ids=ids,
            which=slots[line.words[0] != PAD_ID],
            compared=torch.cat([vectors, self.hypothesis_filters.weight.flatten(1).mT]),
            slots=slots,
            sums=window_sums(products[None, slots]) + filters.bias,
            match_weight=filters.weight[-2:],
            window_sentence=line.window_sentence,
            sentences=batch.sentence_length.shape[1],
        )

    def forward(
        self,
        words: Vectors,
        batch: Batch,
        hypotheses: Int[Tensor, "batch hyp phrase"],
        masks: Masks,
        line: PassageLine | None = None,
    ) -> Entailment:
        """Scores for hypotheses given as the words to put into the blank."""
        answers = mean_vector(words.hypotheses, hypotheses)
        if line is not None and masks.question is None and hypotheses.shape[2] == 1:
            sentences, statements = self._read_alone(line, words.question, batch, answers)
        else:
            sentences = self._read_sentences(words, batch, answers, line)
            statements = self._read_hypotheses(words, batch, hypotheses)
        likened = nn.functional.linear(statements, self.similarity)  # R r_H
        similarity = (sentences * likened[:, None]).sum(dim=-1, keepdim=True)  # varsigma, eq. 3
        steps = torch.cat([similarity, sentences, statements[:, None].expand_as(sentences)], dim=-1)  # x_ik
        entailment = self._gather_evidence(steps, masks.sentences)
        if words.wanted is None:
            return entailment
        fit = (words.wanted[:, :1] * answers).sum(dim=-1)  # the blank is the first place
        fit = fit if self.trust is None else self.trust * fit
        return entailment.with_fit(fit)

    def _read_sentences(
        self, words: Vectors, batch: Batch, answers: Float[Tensor, "batch hyp emb"], line: PassageLine | None
    ) -> Float[Tensor, "batch sent hyp filt"]:
        if line is not None:
            return maxima_on_line(line, *match_features(line.words, answers, words.question, batch.words_asked))
        filters = self.sentence_filters
        assert words.passage is not None
        # Only the first row of M depends on the hypothesis: the rest of the convolution is done once for all.
        products = word_products(words.passage, filters.weight[:-2])
        matches = match_features(words.passage, answers, words.question, batch.words_asked)
        return sentence_maxima(
            SentenceFeatures(products, *matches),
            filters.weight[-2:],
            filters.bias,
            batch.sentence_of,
            batch.sentence_length,
            wide=self.wide,
        )  # r_S

    def _read_alone(
        self,
        line: PassageLine,
        question: Float[Tensor, "1 q emb"],
        batch: Batch,
        answers: Float[Tensor, "1 hyp emb"],
    ) -> tuple[Float[Tensor, "1 sent hyp filt"], Float[Tensor, "1 hyp filt"]]:
        """The sentences and the hypotheses of one question without padding, whose answers have one word each."""
        filters = self.hypothesis_filters
        compared = compare_alone(line, question[0], batch.question[0], answers[0], filters.weight.shape[1:])
        sentences = maxima_on_line(line, compared.to_answer[None], compared.to_question[None])
        return sentences, whole_maxima(compared.statements, filters.bias, wide=self.wide)[None]

    def _read_hypotheses(
        self, words: Vectors, batch: Batch, hypotheses: Int[Tensor, "batch hyp phrase"]
    ) -> Float[Tensor, "batch hyp filt"]:
        weight, bias = self.hypothesis_filters.weight, self.hypothesis_filters.bias
        of_question, of_answer = word_products(words.question, weight), word_products(words.hypotheses, weight)
        if can_pool_fused(hypotheses[..., 0], bias):
            from epireader.layers.fused.statements import fused_statements  # Triton is there where a GPU is

            given = (of_question, of_answer, bias, batch.question, hypotheses)
            return fused_statements(*(tensor[None] for tensor in given), wide=self.wide).squeeze(0)
        if hypotheses.shape[2] == 1:
            products = fill_in_word(of_question, of_answer, batch.question)
            length = batch.question_mask.sum(dim=1, keepdim=True)
        else:
            products, length = fill_in(of_question, of_answer, batch.question, hypotheses)
        return statement_maxima(products, length, bias, wide=self.wide)  # r_H

    def _gather_evidence(
        self, steps: Float[Tensor, "batch sent hyp in"], sentence_mask: Bool[Tensor, "batch sent"] | None
    ) -> Entailment:
        batch, sent, hyp, _ = steps.shape
        if sentence_mask is None:
            states = self.synthesis.read_steps(steps.transpose(0, 1).flatten(1, 2))
            by_sentence = self.evidence(states).view(sent, batch, hyp).permute(1, 2, 0)
            return Entailment(by_sentence[:, :, -1], by_sentence)
        mask = sentence_mask[:, None].expand(batch, hyp, sent)
        gathered = self.synthesis(steps.transpose(1, 2).flatten(0, 1), mask.flatten(0, 1))
        scores = self.evidence(gathered.final).view(batch, hyp)  # y_k
        return Entailment(scores, self.evidence(gathered.states).view(batch, hyp, sent))


def maxima_on_line(
    line: PassageLine, to_answer: Float[Tensor, "batch distinct hyp"], to_question: Float[Tensor, "batch distinct"]
) -> Float[Tensor, "batch sent hyp filt"]:
    """What the sentences of a line are, given the rows of M for each of its distinct words."""
    to_answer, to_question = (match.index_select(1, line.slots) for match in (to_answer, to_question))
    return line_maxima(line.sums, to_answer, to_question, line.match_weight, line.window_sentence, line.sentences)


def match_features(
    words: Float[Tensor, "*batch slot emb"],
    answers: Float[Tensor, "batch hyp emb"],
    question: Float[Tensor, "batch q emb"],
    question_mask: Bool[Tensor, "batch q"] | None,
) -> tuple[Float[Tensor, "batch slot hyp"], Float[Tensor, "batch slot"]]:
    """The two rows of the paper's matrix M, for every word of the passages, or of the one passage that all ask about.

    The first is its inner product with each answer, the second its largest inner product with a word of the question.
    """
    # One product, and the passage last: its words are many, and the maximum is then one of long rows.
    matches = (torch.cat([answers, question], dim=1) @ words.mT).mT
    to_answer, to_question = matches.tensor_split([answers.shape[1]], dim=-1)
    return to_answer, masked_max(to_question, None if question_mask is None else question_mask[:, None])
