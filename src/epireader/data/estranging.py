"""Names made strangers at random while a reader is taught, so that it must read about them rather than remember them."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from epireader.data.batches import NO_WORD, Batch, first_appearance_ranks, keys_of, mixed, places_among
from epireader.data.vocabulary import FIRST_STRANGER_ID, PAD_ID, Vocabulary

STRANGER_DRAW = -1
"""What is added to a question's key to draw its strangers; whatever else is drawn from that key adds another number."""

FINE = 2**53
"""A share is drawn in parts of this size: as many as a float tells apart below 1."""


def names_in(vocabulary: Vocabulary) -> Bool[Tensor, " ids"]:
    """Whether each id is a name's: a word with a capital, or any word where the vocabulary has none with capitals."""
    has_capital = [word[:1].isupper() for word in vocabulary.words]
    known = torch.tensor(has_capital if any(has_capital) else [True] * len(has_capital), dtype=torch.bool)
    return torch.cat([torch.zeros(vocabulary.first_word_id, dtype=torch.bool), known])


def estranged(
    batch: Batch, shuffle: int | Int[Tensor, "*batch"], share: float, names: Bool[Tensor, " ids"], strangers: int
) -> Batch:
    """The batch with about this share of the names among its candidates turned into strangers, wherever in their
    question they stand. There are vectors for so many `strangers`.

    A candidate of several words is left as it is. Which words are turned depends on the question's row, on `shuffle`
    and on the word alone. Old and new strangers are numbered together, by first appearance.
    """
    parts = [batch.passage, batch.question, batch.candidates.flatten(1)]
    words = torch.cat(parts, dim=1)
    drawn = _drawn(batch, keys_of(batch.row, shuffle), share, names)
    turned = places_among(words, drawn) < drawn.shape[1]
    strange = turned | ((words >= FIRST_STRANGER_ID) & (words < FIRST_STRANGER_ID + strangers))
    rank = first_appearance_ranks(words, strange)
    words = torch.where(strange, FIRST_STRANGER_ID + rank % strangers, words)
    passage, question, candidates = words.split([part.shape[1] for part in parts], dim=1)
    return replace(batch, passage=passage, question=question, candidates=candidates.view(batch.candidates.shape))


def _drawn(
    batch: Batch, key: Int[Tensor, " batch"], share: float, names: Bool[Tensor, " ids"]
) -> Int[Tensor, "batch cand"]:
    """The candidates to turn; `NO_WORD` in place of every other."""
    word = batch.candidates[:, :, 0]
    is_one_name = names[word] & (batch.candidates[:, :, 1:] == PAD_ID).all(dim=2)
    draw = mixed(mixed(key + STRANGER_DRAW)[:, None] + word) & (FINE - 1)
    return torch.where(is_one_name & (draw < round(share * FINE)), word, NO_WORD)
