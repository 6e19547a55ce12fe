"""Words made strangers at random, so that a reader must read about them."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from builders import batch_of, example, random_example, vocabulary
from hypothesis import given
from hypothesis import strategies as st
from reference.cases import Extra, batch_of_cases
from reference.estranging import estranged_by_hand
from reference.small import KNOWN, hard_cases

from epireader.data.batches import Batch
from epireader.data.estranging import estranged, names_in
from epireader.data.vocabulary import FIRST_STRANGER_ID, PAD_ID, Vocabulary

seeds = st.integers(0, 2**32 - 1)
WORDS = vocabulary(40, strangers=64)
ANY = names_in(WORDS)  # none of them has a capital, so all are names


def same(one: Batch, other: Batch) -> bool:
    return all(torch.equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(Batch))


def stories(count: int, words: int = 60) -> Batch:
    """A third of the words are strangers from the first."""
    random = np.random.default_rng(count)
    return batch_of([random_example(random, words=words, candidates=10) for _ in range(count)], WORDS)


def words_of(batch: Batch, row: int) -> list[int]:
    parts = (batch.passage, batch.question, batch.candidates)
    return [word for part in parts for word in part[row].flatten().tolist()]


def is_stranger(words: torch.Tensor) -> torch.Tensor:
    return (words >= FIRST_STRANGER_ID) & (words < WORDS.first_word_id)


@given(
    seed=seeds, count=st.integers(1, 4), share=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    shuffle=st.integers(0, 2**40), extra=st.builds(Extra, *[st.integers(0, 2)] * 5),
)  # fmt: skip
def test_the_words_turned_are_those_turned_by_hand(
    seed: int, count: int, share: float, shuffle: int, extra: Extra
) -> None:
    cases, words = hard_cases(seed, count, words=16), Vocabulary(KNOWN, strangers=3)
    turned = estranged(batch_of_cases(cases, extra), shuffle, share, names_in(words), words.strangers)
    wanted = [estranged_by_hand(case, row, shuffle, share, 3) for row, case in enumerate(cases)]
    assert same(turned, batch_of_cases(wanted, extra))


@given(seed=seeds, strangers=st.integers(1, 5))
def test_a_share_of_nothing_changes_nothing(seed: int, strangers: int) -> None:
    words = vocabulary(6, strangers=strangers)
    batch = batch_of([random_example(np.random.default_rng(seed), words=20, phrase=2)], words)
    assert same(estranged(batch, seed, 0.0, names_in(words), strangers), batch)


def test_with_a_share_of_one_every_candidate_is_a_stranger() -> None:
    batch = stories(30)
    turned = estranged(batch, 3, 1.0, ANY, 64)
    assert bool((is_stranger(turned.candidates) == (batch.candidates != PAD_ID)).all())
    candidates = {row: {*batch.candidates[row].flatten().tolist()} for row in range(30)}
    for row in range(30):
        for old, new in zip(words_of(batch, row), words_of(turned, row), strict=True):
            assert (new == old) or old in candidates[row] or old < WORDS.first_word_id


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_a_word_is_one_stranger_wherever_it_stands_and_no_two_words_are_the_same(share: float) -> None:
    batch = stories(30)
    turned = estranged(batch, 7, share, ANY, 64)
    for row in range(30):
        became: dict[int, int] = {}
        for old, new in zip(words_of(batch, row), words_of(turned, row), strict=True):
            assert became.setdefault(old, new) == new
        assert len({*became.values()}) == len(became), "two words became one"
    for name in ("answer", "row", "sentence_of", "sentence_length"):
        assert torch.equal(getattr(turned, name), getattr(batch, name))


def test_the_share_drawn_is_the_share_asked_for() -> None:
    batch = stories(600, words=40)
    known = batch.candidates >= WORDS.first_word_id
    for share in (0.05, 0.3, 0.8):
        turned = is_stranger(estranged(batch, 1, share, ANY, 64).candidates)
        count = int(known.sum())
        assert float(turned[known].float().mean()) == pytest.approx(share, abs=4 * (share * (1 - share) / count) ** 0.5)


def test_the_same_numbers_turn_the_same_words_and_others_others() -> None:
    batch = stories(20)
    once, again, later = (estranged(batch, shuffle, 0.5, ANY, 64) for shuffle in (4, 4, 5))
    assert same(once, again)
    assert not torch.equal(once.passage, later.passage)
    alike = replace(batch, **{name: getattr(batch, name)[:1].expand_as(getattr(batch, name)) for name in PARTS})
    passages = estranged(alike, 4, 0.5, ANY, 64).candidates.flatten(1).tolist()
    assert len({tuple(row) for row in passages}) > 5, "questions are drawn apart from one another"


PARTS = ("passage", "question", "candidates")


def test_what_is_drawn_depends_on_the_question_and_not_on_the_batch() -> None:
    batch = stories(12)
    part = replace(batch, **{field.name: getattr(batch, field.name)[[7, 2]] for field in fields(Batch)})
    whole, alone = estranged(batch, 9, 0.5, ANY, 64), estranged(part, 9, 0.5, ANY, 64)
    for name in PARTS:
        assert torch.equal(getattr(alone, name), getattr(whole, name)[[7, 2]])
    shuffles = torch.tensor([9] * 6 + [10] * 6)
    both = estranged(batch, shuffles, 0.5, ANY, 64)
    for shuffle, rows in ((9, slice(0, 6)), (10, slice(6, 12))):
        assert torch.equal(both.passage[rows], estranged(batch, shuffle, 0.5, ANY, 64).passage[rows])


def test_worked_by_hand_old_and_new_strangers_are_numbered_together_and_phrases_are_left() -> None:
    one = example(["elk w1 w2", "w3 w1 owl"], "w1 XXXXX w0 ape", ["w1", "w3 w2", "w0"], "w1")
    words = vocabulary(4, strangers=8)
    batch = estranged(batch_of([one], words), 0, 1.0, names_in(words), words.strangers)
    # elk 2, w1 3, owl 4, w0 5, ape 6; w2 and w3 stay known: 12 and 13.
    assert batch.passage.tolist() == [[2, 3, 12, 13, 3, 4]]
    assert batch.question.tolist() == [[3, 1, 5, 6]]
    assert batch.candidates.tolist() == [[[3, 0], [13, 12], [5, 0]]]


def test_only_words_with_capitals_are_names_where_there_are_any() -> None:
    words = Vocabulary(("Ann", "cat", "Éva", "42"), strangers=3)
    assert names_in(words).tolist() == [False] * 5 + [True, False, True, False]
    one = example(["Ann has a cat"], "XXXXX has a cat", ["Ann", "cat"], "Ann")
    batch = batch_of([one], words)
    turned = estranged(batch, 0, 1.0, names_in(words), words.strangers)
    assert turned.candidates.tolist() == [[[FIRST_STRANGER_ID], [words.first_word_id + 1]]]
