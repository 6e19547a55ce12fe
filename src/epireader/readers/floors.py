"""Floors: what can be had without reading. They have no weights and are known by name wherever a model can be given.

Candidates are put in order and get probabilities that fall with their place, as 1, 1/2, 1/3 and so on. Candidates
whose keys are equal share a place, so that a tie is seen as one and never counted as right. One that stands nowhere in
the passage is ruled out.
"""

from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from epireader.data.batches import Batch, mixed
from epireader.data.vocabulary import Vocabulary
from epireader.layers.attention import mentions
from epireader.layers.masking import masked_log_softmax
from epireader.readers.reading import ReaderModule, Reading
from epireader.readers.saved import Model

DISTINCT = 2**32
"""More words than any passage has: no two words of one are the same stranger."""


class Floor(ReaderModule):
    """A rule that puts candidates in order."""

    def keys(self, batch: Batch) -> Int[Tensor, "batch cand"]:
        """The higher the better; 0 for a candidate that is ruled out."""
        raise NotImplementedError

    def forward(self, batch: Batch, passage_states: Float[Tensor, "batch doc out"] | None = None) -> Reading:
        del passage_states
        keys = self.keys(batch).masked_fill(~batch.candidate_mask, 0)
        places = torch.searchsorted((-keys).sort(dim=1).values, -keys)  # how many are better
        log_probs = masked_log_softmax(-(1.0 + places).log(), keys > 0)
        return Reading(log_probs=log_probs, first_log_probs=log_probs)


class MostFrequent(Floor):
    """The candidate that stands most often in the passage."""

    def keys(self, batch: Batch) -> Int[Tensor, "batch cand"]:
        return mentions(batch.passage, batch.candidates).sum(dim=2).round().long()


class LastMentioned(Floor):
    """The candidate whose last word stands nearest to the end of the passage."""

    def keys(self, batch: Batch) -> Int[Tensor, "batch cand"]:
        shares = mentions(batch.passage, batch.candidates)
        position = torch.arange(1, shares.shape[2] + 1, device=shares.device)
        return ((shares > 0) * position).amax(dim=2)


class Random(Floor):
    """Any candidate, drawn by a hash of the question's number and the candidate's: the same one every time."""

    def keys(self, batch: Batch) -> Int[Tensor, "batch cand"]:
        number = torch.arange(batch.candidates.shape[1], device=batch.row.device)
        return 1 + (mixed(mixed(batch.row.long())[:, None] + number) & (2**62 - 1))


FLOORS = {"most-frequent": MostFrequent, "last-mentioned": LastMentioned, "random": Random}


def is_floor(name: str) -> bool:
    """Whether a model's name is that of a floor (a folder of that name comes first)."""
    return name in FLOORS and not Path(name).is_dir()


def floor_model(name: str) -> Model:
    """A floor as a model. It knows no word, but tells any two apart."""
    return Model(name, None, Vocabulary((), strangers=DISTINCT), FLOORS[name]().eval())
