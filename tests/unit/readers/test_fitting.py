"""Learning words by those around them: from which places, told from which others."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference.cases import Case, Extra, batch_of_cases
from reference.fitting import learnt_places

from epireader.data.batches import Batch
from epireader.readers.fitting import MOST_PLACES, around, log_places, mean_log_likelihood, places_to_learn

VOCABULARY = 20


def questions(*blanks_and_lengths: tuple[int, int]) -> list[Case]:
    return [
        Case([[5, 6]], [1 if place == blank else 7 + place % 9 for place in range(length)], [[5], [6]], 0)
        for blank, length in blanks_and_lengths
    ]


@given(
    st.lists(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n - 1), st.just(n))), min_size=1, max_size=5)
)
def test_the_places_are_the_blank_and_others_spread_over_the_question(given: list[tuple[int, int]]) -> None:
    cases = questions(*given)
    places = places_to_learn(batch_of_cases(cases))
    for case, index, counted in zip(cases, places.index, places.counted, strict=True):
        expected = learnt_places(case, MOST_PLACES)
        assert index[counted].tolist() == expected
        assert len(expected) == len(set(expected)) <= MOST_PLACES
        assert len(expected) == len(case.question) or len(expected) >= MOST_PLACES - 1


def test_a_word_is_known_by_its_neighbours_and_not_by_itself() -> None:
    states = torch.arange(12.0).view(1, 3, 4) + 1
    mask = torch.tensor([[True, True, False]])
    read = around(states, mask, torch.tensor([[0, 1]]))
    assert read.tolist() == [[[0.0, 0.0, 7.0, 8.0], [1.0, 2.0, 0.0, 0.0]]]


def test_a_word_counts_once_however_often_it_stands_there() -> None:
    off = log_places(torch.tensor([3, 0, 4, 3, 3]), VOCABULARY)
    assert off[[0, 2, 3, 4]].tolist() == pytest.approx([math.log(3), 0.0, math.log(3), math.log(3)])
    assert math.exp(-off[1]) == 0.0


def likelihood(batch: Batch, *, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(VOCABULARY, 6, generator=generator, requires_grad=True)
    wanted = torch.randn(VOCABULARY, 6, generator=generator)
    places = places_to_learn(batch)
    called_for = wanted[batch.question.gather(1, places.index)]
    known = mean_log_likelihood(called_for, places, batch, table[batch.question], table[batch.candidates], VOCABULARY)
    known.sum().backward()
    assert table.grad is not None
    assert table.grad.isfinite().all()
    return known.detach()


def test_a_question_without_an_answer_counts_nothing_and_its_words_are_not_there() -> None:
    cases = questions((0, 4), (2, 3))
    strange = Case([[5, 6]], [17, 1, 18], [[16], [19]], None)
    alone, beside = (likelihood(batch_of_cases(some)) for some in (cases, [*cases, strange]))
    assert torch.equal(beside, torch.cat([alone, torch.zeros(1)]))
    assert likelihood(batch_of_cases([strange])).tolist() == [0.0], "where nothing counts nothing is learnt"


def test_an_answer_of_several_words_is_not_learnt_but_the_words_around_it_are() -> None:
    phrase = Case([[5, 6]], [7, 1, 8], [[5, 6], [9]], 0)
    only_the_blank = Case([[5, 6]], [1], [[5, 6], [9]], 0)
    known = likelihood(batch_of_cases([phrase, only_the_blank]))
    assert known[0] < 0
    assert known[1] == 0


def test_padding_changes_nothing() -> None:
    cases = questions((0, 4), (2, 30), (0, 1))
    wide = Extra(question=5, candidates=2, phrase=1)
    torch.testing.assert_close(likelihood(batch_of_cases(cases)), likelihood(batch_of_cases(cases, wide)))
