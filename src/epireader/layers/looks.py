"""Looking at a passage again after every word of a question, knowing what was gathered before."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from epireader.layers.attention import TanhAttention, attended
from epireader.layers.directions import may_be_fused
from epireader.layers.masking import masked_log_softmax

FUSED_WIDTHS = (32, 64, 128, 256, 512)


@dataclass(frozen=True)
class Looker:
    """What decides where is looked next, and what stays of what was gathered."""

    attention: TanhAttention
    gathered_part: nn.Linear
    kept: nn.Linear
    nothing_gathered: Float[Tensor, " hid"]


@dataclass(frozen=True)
class Looked:
    """What was gathered in the end, and where the last look went."""

    gathered: Float[Tensor, "batch hid"]
    log_attention: Float[Tensor, "batch doc"]


@dataclass(frozen=True)
class Sought:
    """A passage and what is asked about it: states, and the products of states that attention compares."""

    states: Float[Tensor, "batch doc hid"]
    words: Float[Tensor, "batch doc hid"]
    passage_mask: Bool[Tensor, "batch doc"]
    questions: Float[Tensor, "batch q hid"]
    question_mask: Bool[Tensor, "batch q"]


def look_after_every_word(looker: Looker, sought: Sought) -> Looked:
    """Look once for every word of each question; padding, at the end of a question, changes nothing."""
    width = sought.states.shape[-1]
    if width in FUSED_WIDTHS and may_be_fused(sought.states):
        return look_fused(looker, sought)
    return look_by_look(looker, sought)


def look_by_look(looker: Looker, sought: Sought) -> Looked:
    """One look after the other, from plain operations."""
    gathered = looker.nothing_gathered.expand(len(sought.states), -1)
    log_attention = torch.zeros_like(sought.passage_mask, dtype=torch.float32)
    for place, asked in enumerate(sought.question_mask.T):  # i
        wanted = looker.gathered_part(gathered) + sought.questions[:, place]
        looked = looker.attention(sought.words, wanted, sought.passage_mask)  # log s(i, t)
        following = attended(sought.states, looked) + torch.tanh(looker.kept(gathered))  # r(i)
        gathered = torch.where(asked[:, None], following, gathered)
        log_attention = torch.where(asked[:, None], looked, log_attention)
    return Looked(gathered, log_attention)


def look_fused(looker: Looker, sought: Sought) -> Looked:
    """All looks as one kernel."""
    from epireader.layers.fused.looks import fused_looks  # Triton is there where a GPU is

    lengths = torch.stack([sought.passage_mask.sum(dim=1), sought.question_mask.sum(dim=1)], dim=1)
    weights = torch.stack([looker.gathered_part.weight, looker.kept.weight])
    given = sought.words, sought.states, sought.questions, weights, looker.attention.score.weight[0]
    gathered, scores = fused_looks(*(part[None] for part in (*given, looker.nothing_gathered, lengths)))
    looked = masked_log_softmax(scores[0], sought.passage_mask)
    return Looked(gathered[0], torch.where(sought.question_mask.any(dim=1, keepdim=True), looked, 0.0))
