"""The memory network with windows and self-supervision (Hill et al. 2016, "The Goldilocks Principle").

Every place where a candidate stands is a memory: the window of b words around it. The question is the window around its
blank. Each slot of a window has a matrix of word vectors of its own, as in the paper (b |V| features), so that a word
to the left is another feature than the same word to the right. Memories are scored by their inner product with the
question.

Windows run on over the ends of sentences; beyond the passage there is nothing. They are summed up at every word of
the passage and not only where candidates stand: the number of mentions would have to be waited for.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.layers.attention import attention_sum, mentions, pointer_log_attention
from epireader.layers.embedding import word_embedding
from epireader.layers.masking import masked_logsumexp, masked_max
from epireader.readers.reading import Loss, ReaderModule, Reading
from epireader.settings import refuse_below_one


@dataclass(frozen=True, kw_only=True)
class MemoryConfig:
    """Sizes of the memory network."""

    embedding_dim: int = 300
    """p, the width of a word vector."""
    window: int = 5
    """b, how many words a window spans; odd, so that it has a centre."""

    def __post_init__(self) -> None:
        refuse_below_one(self, "model", "embedding_dim", "window")
        if self.window % 2 == 0:
            raise ValueError(f"model.window must be odd so that every window has a centre, got {self.window}")


class MemoryReader(ReaderModule):
    """Windows around candidates, compared with the window around the blank."""

    def __init__(self, config: MemoryConfig, words: int) -> None:
        super().__init__()
        self.slots = nn.ModuleList(word_embedding(words, config.embedding_dim) for _ in range(config.window))

    def read_passage(self, batch: Batch) -> Float[Tensor, "batch doc emb"]:
        """c_i: the window around every word."""
        return self._embed(windows(batch.passage, len(self.slots)))

    def forward(self, batch: Batch, passage_states: Float[Tensor, "batch doc emb"] | None = None) -> Reading:
        memories = self.read_passage(batch) if passage_states is None else passage_states
        shares = mentions(batch.passage, batch.candidates)
        rows = torch.arange(len(batch), device=batch.row.device)
        around_blank = windows(batch.question, len(self.slots))[rows, batch.blank]
        question = self._embed(around_blank)  # q
        log_attention = pointer_log_attention(memories, question, (shares > 0).any(dim=1))  # log alpha_i
        log_probs = attention_sum(log_attention, shares)
        return Reading(log_probs=log_probs, first_log_probs=log_probs, log_attention=log_attention)

    def _embed(self, words: Int[Tensor, "*rows slot"]) -> Float[Tensor, "*rows emb"]:
        return torch.stack([table(words[..., n]) for n, table in enumerate(self.slots)]).sum(dim=0)

    def loss(self, reading: Reading, batch: Batch) -> Loss:
        assert reading.log_attention is not None
        shares = mentions(batch.passage, batch.candidates) > 0
        answer = batch.answer.clamp(min=0)[:, None, None].expand(-1, 1, shares.shape[2])
        holds_answer = shares.gather(1, answer)[:, 0] & batch.answer_mask[:, None]
        return Loss(support_loss(reading.log_attention, holds_answer, shares.any(dim=1)))


def windows(words: Int[Tensor, "batch n"], size: int) -> Int[Tensor, "batch n {size}"]:
    """The words around every word, itself in the middle; padding beyond the ends."""
    return nn.functional.pad(words, (size // 2, size // 2)).unfold(1, size, 1)


def support_loss(
    scores: Float[Tensor, "batch doc"], holds_answer: Bool[Tensor, "batch doc"], is_memory: Bool[Tensor, "batch doc"]
) -> Float[Tensor, ""]:
    """Self-supervision: of the memories that hold the answer the best one supports it, and must beat all that do not.

    -log of its share in a softmax over itself and the memories of other candidates. Scores may be off by a constant.
    """
    support = masked_max(scores, holds_answer)  # the supporting memory's
    rivals = torch.cat([support[:, None], scores], dim=1)
    counted = torch.cat([torch.ones_like(holds_answer[:, :1]), is_memory & ~holds_answer], dim=1)
    losses = masked_logsumexp(rivals, counted) - support
    return losses.masked_fill(~holds_answer.any(dim=1), 0.0).sum() / len(losses)
