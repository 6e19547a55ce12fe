"""Pointing at words, and adding up what is pointed at: equations 1 and 2, and the attention of other readers."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from epireader.data.vocabulary import PAD_ID
from epireader.layers.kernels import LONGEST_ROW, can_be_kernel
from epireader.layers.masking import grouped_logsumexp, logsumexp, masked_log_softmax, masked_logsumexp


def pointer_log_attention(
    states: Float[Tensor, "batch doc out"],
    question: Float[Tensor, "batch out"],
    passage_mask: Bool[Tensor, "batch doc"] | None,
    more: Float[Tensor, "batch doc"] | None = None,
) -> Float[Tensor, "batch doc"]:
    """log of the probability that each word of the passage answers the question; `more` may speak for it beside its state."""
    scores = states.bmm(question[:, :, None]).squeeze(2)
    scores = scores if more is None else scores + more
    return masked_log_softmax(scores, passage_mask)  # log s_i, eq. 1


def gated(
    states: Float[Tensor, "batch doc out"],
    question_states: Float[Tensor, "batch q out"],
    question_mask: Bool[Tensor, "batch q"],
) -> Float[Tensor, "batch doc out"]:
    """Each word's state times what it attends to among the question's, entry by entry (Dhingra et al. 2017)."""
    scores = states @ question_states.mT
    attention = masked_log_softmax(scores, question_mask[:, None].expand(scores.shape)).exp()
    return states * (attention.to(question_states.dtype) @ question_states)


def candidate_log_probs(
    log_attention: Float[Tensor, "batch doc"],
    passage: Int[Tensor, "batch doc"],
    candidates: Int[Tensor, "batch cand phrase"],
) -> Float[Tensor, "batch cand"]:
    """log of the attention each candidate gets over all its mentions; -inf for one that is not in the passage."""
    if candidates.shape[2] > 1:
        return attention_sum(log_attention, mentions(passage, candidates))
    if can_be_kernel(log_attention) and passage.shape[1] <= LONGEST_ROW:
        from epireader.layers.fused.attention import fused_attention_sum  # Triton is there where a GPU is

        return fused_attention_sum(log_attention, passage, candidates.squeeze(2))
    stands = (passage[:, None] == candidates) & (candidates != PAD_ID)  # a mention is a word: there are no shares
    if torch.is_grad_enabled() or stands.device.type != "cpu":
        return masked_logsumexp(log_attention[:, None].expand(stands.shape), stands)
    row, candidate, place = stands.nonzero(as_tuple=True)  # few words are mentions
    found = log_attention.take(row * passage.shape[1] + place)
    candidate = row * candidates.shape[1] + candidate
    return grouped_logsumexp(found, candidate, candidates.shape[:2].numel()).view(stands.shape[:2])


def known_log_probs(
    log_attention: Float[Tensor, "batch doc"],
    words: Int[Tensor, " distinct"],
    which: Int[Tensor, " doc"],
    candidates: Int[Tensor, "batch cand 1"],
) -> Float[Tensor, "batch cand"]:
    """The same for candidates of one word each, given the words of the one passage in order, and which stands where."""
    batch, nowhere = log_attention.shape[0], words.shape[0]
    group = which if batch == 1 else which + torch.arange(batch)[:, None] * (nowhere + 1)
    of_words = grouped_logsumexp(log_attention.flatten(), group.flatten(), batch * (nowhere + 1))
    asked = candidates.squeeze(2)
    place = torch.searchsorted(words[:-1], asked)  # without the last, which is where larger ones are looked for too
    place.masked_fill_(words.take(place) != asked, nowhere)
    return of_words.view(batch, nowhere + 1).gather(1, place)


def mentions(
    passage: Int[Tensor, "batch doc"], candidates: Int[Tensor, "batch cand phrase"]
) -> Float[Tensor, "batch cand doc"]:
    """Each word's share in each candidate: 1/n at each of the n words of every place where the candidate stands.

    For a candidate of one word that is 1 wherever the word stands and 0 elsewhere.
    """
    phrase = candidates.shape[2]
    length = (candidates != PAD_ID).sum(dim=2)
    starts = (length > 0)[:, :, None] & torch.ones_like(passage, dtype=torch.bool)[:, None, :]
    for offset in range(phrase):
        shifted = torch.nn.functional.pad(passage[:, offset:], (0, min(offset, passage.shape[1])), value=PAD_ID)
        same = shifted[:, None, :] == candidates[:, :, None, offset]
        starts = starts & (same | (offset >= length)[:, :, None])
    counts = starts.float()
    for offset in range(1, phrase):
        continues = starts & (offset < length)[:, :, None]
        counts[:, :, offset:] += continues[:, :, : passage.shape[1] - offset] if offset < passage.shape[1] else 0
    return counts / length.clamp(min=1)[:, :, None]


def attention_sum(
    log_attention: Float[Tensor, "batch doc"], shares: Float[Tensor, "batch cand doc"]
) -> Float[Tensor, "batch cand"]:
    """log of the attention each candidate gets over all its mentions; -inf for one that is not in the passage."""
    return logsumexp(log_attention[:, None, :] + shares.log())  # log P(w | T, Q), eq. 2


class TanhAttention(nn.Module):
    """The attention of Hermann et al. (2015): a word's score is w · tanh(its part + the part of what is looked for)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.score = nn.Linear(dim, 1, bias=False)  # w_ms

    def forward(
        self,
        words: Float[Tensor, "batch doc hid"],
        wanted: Float[Tensor, "batch hid"],
        passage_mask: Bool[Tensor, "batch doc"],
    ) -> Float[Tensor, "batch doc"]:
        """log s(t); both parts are given as the products with their matrices."""
        matches = torch.tanh(words + wanted[:, None])  # m(t)
        return masked_log_softmax(self.score(matches)[..., 0], passage_mask)


def attended(
    states: Float[Tensor, "batch doc out"], log_attention: Float[Tensor, "batch doc"]
) -> Float[Tensor, "batch out"]:
    """The mean of the states of a passage, each word weighed by the attention it gets."""
    return torch.einsum("bno,bn->bo", states, log_attention.exp().to(states.dtype))
