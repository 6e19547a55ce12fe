"""Equations 1 and 2."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cases import Extra, batch_of_cases
from reference.pointing import attention, probability
from reference.small import hard_cases

from epireader.layers.attention import (
    attention_sum,
    candidate_log_probs,
    known_log_probs,
    mentions,
    pointer_log_attention,
)

seeds = st.integers(0, 10_000)
THIRDS = torch.tensor([[1 / 6, 2 / 6, 3 / 6]])


def probabilities(passage: list[int], candidates: list[list[int]], pointed: torch.Tensor) -> list[float]:
    shares = mentions(torch.tensor([passage]), torch.tensor([candidates]))
    return attention_sum(pointed.log(), shares).exp()[0].tolist()


@settings(max_examples=40)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    extra=st.integers(0, 3),
    dim=st.integers(1, 4),
    seed=seeds,
)
def test_attention_agrees_with_equation_1(lengths: list[int], extra: int, dim: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    width = max(lengths) + extra
    states = torch.randn(len(lengths), width, dim, generator=generator, dtype=torch.float64)
    question = torch.randn(len(lengths), dim, generator=generator, dtype=torch.float64)
    mask = torch.arange(width) < torch.tensor(lengths)[:, None]
    pointed = pointer_log_attention(torch.where(mask[..., None], states, 1e3), question, mask).exp()
    for row, length in enumerate(lengths):
        expected = attention(states[row, :length].tolist(), question[row].tolist())
        assert pointed[row].tolist() == pytest.approx(expected + [0.0] * (width - length))


@settings(max_examples=60)
@given(
    seed=seeds,
    count=st.integers(1, 4),
    extra=st.builds(Extra, words=st.integers(0, 3), candidates=st.integers(0, 2), phrase=st.integers(0, 4)),
)
def test_a_candidate_gets_the_attention_of_all_its_mentions(seed: int, count: int, extra: Extra) -> None:
    cases = hard_cases(seed, count, words=4)
    batch = batch_of_cases(cases, extra)
    scores = torch.randn(batch.passage.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    pointed = torch.where(batch.passage_mask, scores.exp(), 0.0)
    probs = attention_sum(pointed.log(), mentions(batch.passage, batch.candidates)).exp()
    for row, case in enumerate(cases):
        words = pointed[row, : len(case.passage)].tolist()
        expected = [probability(candidate, case.passage, words) for candidate in case.candidates]
        expected += [0.0] * (probs.shape[1] - len(expected))
        assert probs[row].tolist() == pytest.approx(expected, rel=1e-6)


@settings(max_examples=40)
@given(
    seed=seeds, count=st.integers(1, 4), extra=st.builds(Extra, words=st.integers(0, 3), candidates=st.integers(0, 2))
)
def test_candidates_of_one_word_get_and_pass_on_what_phrases_would(seed: int, count: int, extra: Extra) -> None:
    cases = [replace(case, candidates=[[words[0]] for words in case.candidates]) for case in hard_cases(seed, count)]
    batch = batch_of_cases(cases, extra)
    scores = torch.randn(batch.passage.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    scores.requires_grad_()
    shares = mentions(batch.passage, batch.candidates)
    quick, plain = candidate_log_probs(scores, batch.passage, batch.candidates), attention_sum(scores, shares)
    assert torch.equal(quick, plain)
    with torch.inference_mode():  # where nothing is learnt only mentions are looked at
        torch.testing.assert_close(
            candidate_log_probs(scores.detach(), batch.passage, batch.candidates), plain.detach()
        )
    to_scores = [torch.autograd.grad(log_probs.exp().square().sum(), scores)[0] for log_probs in (quick, plain)]
    torch.testing.assert_close(*to_scores)


@settings(max_examples=60)
@given(
    passage=st.lists(st.integers(2, 7), min_size=1, max_size=9),
    candidates=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    questions=st.integers(1, 3),
    empty_slots=st.booleans(),
    seed=seeds,
)
def test_candidates_get_the_same_where_the_words_of_the_passage_are_known(
    passage: list[int], candidates: list[int], questions: int, empty_slots: bool, seed: int
) -> None:
    scores = torch.randn(questions, len(passage), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    scores[0, 0] -= 4000.0  # far below the others, and still no infinity
    asked = torch.tensor([candidates] * questions)[..., None]
    words = sorted({*passage, *([0] if empty_slots else [])})
    which = torch.tensor([words.index(word) for word in passage])
    quick = known_log_probs(scores, torch.tensor(words), which, asked)
    plain = attention_sum(scores, mentions(torch.tensor([passage] * questions), asked))
    torch.testing.assert_close(quick, plain)


def test_equations_1_and_2_worked_by_hand() -> None:
    states = torch.tensor([[[0.0, 1.0], [math.log(2), 5.0], [math.log(3), -2.0]]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    pointed = pointer_log_attention(states, torch.tensor([[1.0, 0.0]]), mask).exp()
    assert pointed.tolist()[0] == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert probabilities([7, 8, 7], [[7], [8], [9]], pointed) == pytest.approx([4 / 6, 2 / 6, 0.0])


def test_a_phrase_gets_the_mean_attention_of_its_words_at_every_place_it_stands() -> None:
    assert probabilities([7, 8, 7], [[7, 8], [8, 7]], THIRDS) == pytest.approx([1.5 / 6, 2.5 / 6])
    evenly = torch.full((1, 5), 0.2)
    assert probabilities([7, 8, 9, 7, 8], [[7, 8], [8, 9], [7, 9]], evenly) == pytest.approx([0.4, 0.2, 0.0])


def test_a_phrase_that_overlaps_itself_is_counted_at_every_place() -> None:
    assert probabilities([7, 7, 7], [[7, 7]], THIRDS) == pytest.approx([1.5 / 6 + 2.5 / 6])


def test_a_phrase_longer_than_the_passage_or_running_over_its_end_stands_nowhere() -> None:
    assert probabilities([7, 8, 7], [[8, 7, 8, 7, 8], [7, 8, 7, 8, 0], [7, 8, 9, 0, 0]], THIRDS) == [0.0, 0.0, 0.0]


def test_one_word_is_equation_2_to_the_last_bit_though_phrases_stand_beside_it() -> None:
    pointed = torch.tensor([[0.1, 0.7, 0.2]]).log()
    alone = attention_sum(pointed, mentions(torch.tensor([[7, 8, 7]]), torch.tensor([[[8]]])))
    beside = attention_sum(pointed, mentions(torch.tensor([[7, 8, 7]]), torch.tensor([[[8, 0, 0], [7, 8, 7]]])))
    assert alone[0, 0].item() == beside[0, 0].item() == pointed[0, 1].item()


def test_padding_mentions_nothing_and_is_no_mention() -> None:
    shares = mentions(torch.tensor([[7, 8, 0, 0]]), torch.tensor([[[7, 0], [8, 0], [0, 0]]]))
    assert shares.tolist() == [[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]]


def test_a_candidate_that_is_not_in_the_passage_has_no_probability_and_gets_no_gradient() -> None:
    scores = torch.tensor([[1.0, 2.0]], requires_grad=True)
    shares = mentions(torch.tensor([[7, 8]]), torch.tensor([[[9], [8]]]))
    log_probs = attention_sum(scores.log_softmax(dim=1), shares)
    assert log_probs[0, 0].item() == -math.inf
    log_probs.exp().sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


def test_scores_far_apart_keep_their_distance_and_become_no_infinity() -> None:
    states = torch.tensor([[[1.0], [-1.0]]])
    log_attention = pointer_log_attention(states, torch.tensor([[2000.0]]), torch.ones(1, 2, dtype=torch.bool))
    log_probs = attention_sum(log_attention, mentions(torch.tensor([[5, 6]]), torch.tensor([[[5], [6]]])))
    assert log_probs.tolist() == [[0.0, -4000.0]]
