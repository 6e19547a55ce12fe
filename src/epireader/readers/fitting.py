"""What the words around a place call for: a hypothesis can be asked how well it fits the blank.

That can be learnt from other words of a sentence too, not only from the one that was left out of it. To tell a word
from those that could stand in its place, the batch's other words are enough.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from epireader.data.batches import Batch
from epireader.data.vocabulary import BLANK_ID, PAD_ID

MOST_PLACES = 16
"""How many words of a question are learnt from at most: the blank, and others spread over it."""

OUT_OF_REACH = 1e4
"""Taken off the score of what does not count. It is finite: there must be something to differentiate where nothing counts."""


@dataclass(frozen=True)
class Places:
    """Places in the questions of a batch whose words are learnt, the blank first."""

    index: Int[Tensor, "batch place"]
    counted: Bool[Tensor, "batch place"]
    """Whether it is a place, and the first time that it is named."""


def places_to_learn(batch: Batch) -> Places:
    """The blank of each question, and words spread over it: all of them where they are few enough."""
    length = batch.question_mask.sum(dim=1, keepdim=True)
    others = MOST_PLACES - 1
    number = torch.arange(others, device=length.device)[None]
    spread = torch.where(length > others, number * length // others, number)
    blank = batch.blank[:, None]
    counted = (spread < length) & (spread != blank)
    index = torch.cat([blank, torch.where(counted, spread, blank)], dim=1)
    return Places(index, pad(counted, (1, 0), value=True))


def around(
    states: Float[Tensor, "batch n out"], mask: Bool[Tensor, "batch n"] | None, index: Int[Tensor, "batch place"]
) -> Float[Tensor, "batch place out"]:
    """What was read before the word at each place, and what behind it: the states of its neighbours on either side."""
    states = states if mask is None else states * mask[..., None]
    before, after = (pad(way, (0, 0, 1, 1)) for way in states.chunk(2, dim=-1))
    index = index[..., None].expand(*index.shape, before.shape[2])
    return torch.cat([before.gather(1, index), after.gather(1, index + 2)], dim=-1)


def mean_log_likelihood(
    wanted: Float[Tensor, "batch place emb"],
    places: Places,
    batch: Batch,
    question: Float[Tensor, "batch q emb"],
    candidates: Float[Tensor, "batch cand phrase emb"],
    vocabulary: int,
) -> Float[Tensor, " batch"]:
    """The mean log-probability of the words at those places of each question, the right answer put into the blank, given
    the vectors that are wanted there; 0 for a question that cannot be learnt from.

    The words each is told from are all of those and all that is offered in the batch, every one once.
    """
    learnt_from = (batch.answer >= 0)[:, None]
    number = batch.answer.clamp(min=0)[:, None, None]
    answer = batch.candidates.take_along_dim(number, dim=1)[:, 0]
    answer_vector = candidates.take_along_dim(number[..., None], dim=1)[:, 0, :1]
    words = batch.question.gather(1, places.index)
    vectors = question.gather(1, places.index[..., None].expand(*words.shape, question.shape[2]))
    is_blank = words == BLANK_ID
    words = torch.where(is_blank, answer[:, :1], words)
    vectors = torch.where(is_blank[..., None], answer_vector, vectors)
    is_phrase = (answer[:, 1:] != PAD_ID).any(dim=1, keepdim=True)
    counted = places.counted & learnt_from & ~(is_blank & is_phrase)

    told_from = torch.cat([words * counted, batch.candidates.flatten(1) * learnt_from], dim=1).flatten()
    scores = wanted.flatten(0, 1) @ torch.cat([vectors, candidates.flatten(1, 2)], dim=1).flatten(0, 1).T
    right = (wanted * vectors).sum(dim=-1)
    log_probs = right - (scores - log_places(told_from, vocabulary).to(scores.dtype)).logsumexp(dim=1).view(right.shape)
    return torch.where(counted, log_probs, 0.0).sum(dim=1) / counted.sum(dim=1).clamp(min=1)


def log_places(words: Int[Tensor, " n"], vocabulary: int) -> Float[Tensor, " n"]:
    """What to take off a word's score so that all its places together count as one; padding does not count at all."""
    places = words.new_zeros(vocabulary).scatter_add(0, words, torch.ones_like(words))
    return torch.where(words == PAD_ID, OUT_OF_REACH, places.gather(0, words).double().log())
