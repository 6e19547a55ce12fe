"""The LSTM language model, context + query (Hill et al. 2016, "The Goldilocks Principle").

It reads the passage and then the question, and learns to predict every next word of both, with the answer in the
blank. A candidate's score is the log-probability of the question with it filled in, after the passage. The softmax runs
over the whole vocabulary; neither padding nor the blank is a word that could be said.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from epireader.data.batches import Batch
from epireader.data.vocabulary import FIRST_STRANGER_ID, PAD_ID
from epireader.layers.embedding import word_embedding
from epireader.layers.lstm import FORGET_GATE
from epireader.layers.masking import masked_log_softmax, spread_log_probs
from epireader.readers.hypotheses import fill_blank
from epireader.readers.reading import Loss, ReaderModule, Reading
from epireader.settings import refuse_below_one

WORDS_AT_ONCE = 4096
"""For how many words the whole vocabulary is scored at once; in training it is scored again rather than kept."""


@dataclass(frozen=True, kw_only=True)
class LanguageModelConfig:
    """Sizes of the language model."""

    embedding_dim: int = 512
    """Width of a word vector."""
    hidden_dim: int = 512
    """Width of the LSTM."""
    learns_from: int = 0
    """How many words up to the end of the question it learns from at most; 0: all of them. It answers from all."""

    def __post_init__(self) -> None:
        refuse_below_one(self, "model", "embedding_dim", "hidden_dim")
        if self.learns_from < 0 or self.learns_from == 1:
            raise ValueError(f"model.learns_from must be 0, for all words, or at least 2, got {self.learns_from}")


class LanguageModelReader(ReaderModule):
    """The candidate that makes the question most likely is the answer."""

    trains_at_once = False

    def __init__(self, config: LanguageModelConfig, words: int) -> None:
        super().__init__()
        self.learns_from = config.learns_from
        self.embedding = word_embedding(words, config.embedding_dim)
        # Biases come in as the weights of an input that is 1 for a word and 0 for padding. So padding before the
        # first word leaves the state at zero, and all passages of a batch can end at the same step when they are asked.
        self.recurrence = nn.LSTM(config.embedding_dim + 1, config.hidden_dim, bias=False, batch_first=True)
        self.next_word = nn.Linear(config.hidden_dim, words - FIRST_STRANGER_ID)
        initialise_lstm(self.recurrence)
        nn.init.zeros_(self.next_word.bias)

    def read_passage(self, batch: Batch) -> Float[Tensor, "batch 1 two_hid"]:
        """The LSTM's output and its cell after the last word."""
        _, (output, cell) = self._recur(right_aligned(batch.passage))
        return torch.cat([output, cell], dim=-1).transpose(0, 1)

    def forward(self, batch: Batch, passage_states: Float[Tensor, "batch 1 two_hid"] | None = None) -> Reading:
        """Read a batch. While training only the right answer is filled in: the others would take as long again."""
        learns = passage_states is None and torch.is_grad_enabled()
        likelihood = self._likelihood(batch) if learns else None
        log_probs = _certainly(batch) if self.training else self._compare(batch, passage_states)
        return Reading(log_probs=log_probs, first_log_probs=log_probs, log_likelihood=likelihood)

    def _compare(
        self, batch: Batch, passage_states: Float[Tensor, "batch 1 two_hid"] | None
    ) -> Float[Tensor, "batch cand"]:
        every = torch.arange(batch.candidates.shape[1], device=batch.row.device).expand(len(batch), -1)
        states = self.read_passage(batch) if passage_states is None else passage_states
        of_words = self._continue(states, filled_in(batch, every))
        return masked_log_softmax(of_words.sum(dim=2), batch.candidate_mask)

    def loss(self, reading: Reading, batch: Batch) -> Loss:
        if reading.log_likelihood is None:
            raise ValueError("a language model's loss needs a reading made with gradients and without passage states")
        return Loss(-reading.log_likelihood.masked_fill(~batch.answer_mask, 0.0).sum() / len(batch))

    def _continue(
        self, passage_states: Float[Tensor, "batch 1 two_hid"], statements: Int[Tensor, "batch hyp word"]
    ) -> Float[Tensor, "batch hyp word"]:
        """The log-probability of every word that follows the passage; 0 for padding."""
        rows = statements.flatten(0, 1)
        whole = passage_states.repeat_interleave(statements.shape[1], dim=0)
        output, cell = (part.transpose(0, 1).contiguous() for part in whole.chunk(2, dim=-1))
        states, _ = self._recur(rows, (output, cell))
        before = torch.cat([output.transpose(0, 1), states[:, :-1]], dim=1)
        return self._log_probs(before, rows, rows != PAD_ID).view(statements.shape)

    def _likelihood(self, batch: Batch) -> Float[Tensor, " batch"]:
        """The mean log-probability of a word of the passage and the question with the right answer in it.

        Both are read as one text that begins at the first step: gradients that ran on through hundreds of steps of
        padding before the first word would grow beyond all bounds. The first word follows nothing.
        """
        text = torch.cat([right_aligned(batch.passage), filled_in(batch, batch.answer.clamp(min=0)[:, None])[:, 0]], 1)
        text = left_aligned(right_aligned(left_aligned(text))[:, -self.learns_from :])
        states, _ = self._recur(text)
        mask = text[:, 1:] != PAD_ID
        return self._log_probs(states[:, :-1], text[:, 1:], mask).sum(dim=1) / mask.sum(dim=1)

    def _recur(
        self, words: Int[Tensor, "batch n"], start: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Float[Tensor, "batch n hid"], tuple[Tensor, Tensor]]:
        """The state after every word, and the last output and cell; in full precision, which every device has."""
        vectors = self.embedding(words)
        inputs = torch.cat([vectors, (words != PAD_ID)[..., None].to(vectors.dtype)], dim=-1)
        with torch.autocast(words.device.type, enabled=False):
            states, last = self.recurrence(inputs, start)
        return states, last

    def _log_probs(
        self, states: Float[Tensor, "batch n hid"], words: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch n"]
    ) -> Float[Tensor, "batch n"]:
        """log P(word | the state before it), a few thousand words at a time; 0 where the mask is False."""
        weight, bias = self.next_word.weight, self.next_word.bias
        parts = [
            checkpoint(word_log_probs, few, wanted, weight, bias, use_reentrant=False, preserve_rng_state=False)
            for few, wanted in zip(
                states.flatten(0, 1).split(WORDS_AT_ONCE), words.flatten().split(WORDS_AT_ONCE), strict=True
            )
        ]
        return torch.cat(parts).view(words.shape).masked_fill(~mask, 0.0)


def word_log_probs(
    states: Float[Tensor, "n hid"],
    words: Int[Tensor, " n"],
    weight: Float[Tensor, "vocabulary hid"],
    bias: Float[Tensor, " vocabulary"],
) -> Float[Tensor, " n"]:
    """The log-probability of each word after its state; any number for padding and the blank, which have none."""
    scores = nn.functional.linear(states, weight, bias)
    log_probs = scores.log_softmax(dim=1, dtype=torch.promote_types(scores.dtype, torch.float32))
    return log_probs.gather(1, (words - FIRST_STRANGER_ID).clamp(min=0)[:, None])[:, 0]


def _certainly(batch: Batch) -> Float[Tensor, "batch cand"]:
    """The right answer and nothing else."""
    answer = batch.answer.clamp(min=0)[:, None]
    alone = masked_log_softmax(torch.zeros_like(answer, dtype=torch.float32), batch.candidate_mask.gather(1, answer))
    return spread_log_probs(alone, answer, batch.candidates.shape[1])


def right_aligned(words: Int[Tensor, "batch n"]) -> Int[Tensor, "batch n"]:
    """The rows with their padding moved to the front."""
    count = words.shape[1]
    place = torch.arange(count, device=words.device) - count + (words != PAD_ID).sum(dim=1, keepdim=True)
    return torch.where(place >= 0, words.gather(1, place.clamp(min=0)), PAD_ID)


def left_aligned(words: Int[Tensor, "batch n"]) -> Int[Tensor, "batch n"]:
    """The rows with the padding before their first word moved behind the last."""
    start = (words != PAD_ID).int().argmax(dim=1, keepdim=True)
    place = torch.arange(words.shape[1], device=words.device) + start
    return torch.where(place < words.shape[1], words.gather(1, place.clamp(max=words.shape[1] - 1)), PAD_ID)


def filled_in(batch: Batch, chosen: Int[Tensor, "batch hyp"]) -> Int[Tensor, "batch hyp word"]:
    """The words of the question with each chosen candidate in place of the blank."""
    candidates = batch.candidates.gather(1, chosen[..., None].expand(-1, -1, batch.candidates.shape[2]))
    question = batch.question[:, None].expand(-1, chosen.shape[1], -1)
    words = torch.cat([torch.full_like(chosen, PAD_ID)[..., None], question, candidates], dim=2)
    return words.gather(2, fill_blank(batch.question, batch.blank, candidates))


def initialise_lstm(lstm: nn.LSTM) -> None:
    """Recurrent weights orthogonal, input weights Glorot, gate by gate; biases 0, but 1 for the forget gate."""
    with torch.no_grad():
        for name, parameter in lstm.named_parameters():
            fill = nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_
            for number, gate in enumerate(parameter.chunk(4)):
                fill(gate)
                if "weight_ih" in name:
                    gate[:, -1] = 1.0 if number == FORGET_GATE else 0.0
