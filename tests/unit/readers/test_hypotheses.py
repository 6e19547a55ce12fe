"""Which candidates become hypotheses, and how they are put into the question."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cases import PLACEHOLDER, Case, Extra, batch_of_cases
from reference.pointing import best
from reference.reasoning import hypothesis

from epireader.readers.hypotheses import choose_hypotheses, fill_blank

IMPOSSIBLE = float("-inf")

# Few distinct values, so that many are equal; None stands for a probability of zero.
log_probabilities = st.lists(st.sampled_from([None, -1.0, -2.0, -3.0, -300.0]), min_size=1, max_size=8)
words = st.integers(2, 9)


@settings(max_examples=80)
@given(
    rows=st.lists(log_probabilities, min_size=1, max_size=4),
    count=st.integers(1, 6),
    extra=st.integers(0, 9),
    forced=st.lists(st.integers(-2, 7), min_size=4, max_size=4),
)
def test_the_best_are_chosen_in_order_and_the_answer_is_forced_in(
    rows: list[list[float | None]], count: int, extra: int, forced: list[int]
) -> None:
    width = max(len(row) for row in rows) + extra
    log_probs = torch.full((len(rows), width), IMPOSSIBLE)
    for number, row in enumerate(rows):
        log_probs[number, : len(row)] = torch.tensor([IMPOSSIBLE if value is None else value for value in row])
    mask = torch.arange(width) < torch.tensor([len(row) for row in rows])[:, None]
    answers = [answer if answer < len(row) else -1 for answer, row in zip(forced, rows, strict=False)]
    free = choose_hypotheses(log_probs, mask, count)
    if mask.all():
        assert choose_hypotheses(log_probs, None, count).tolist() == free.tolist()
    kept = choose_hypotheses(log_probs, mask, count, torch.tensor(answers))
    for number, row in enumerate(rows):
        ranks = [-1e9 if value is None else value for value in row]
        real = min(count, len(row))
        assert free[number].tolist()[:real] == best(ranks, count)
        assert kept[number].tolist()[:real] == best(ranks, count, answers[number] if answers[number] >= 0 else None)
        assert len(set(kept[number].tolist())) == kept.shape[1], "no candidate is chosen twice"
        assert not mask[number, kept[number, real:]].any(), "padding fills what is left"


def test_a_missed_answer_takes_the_last_place_and_one_that_was_found_keeps_its_own() -> None:
    log_probs = torch.tensor([[-1.0, -4.0, -2.0, -3.0]] * 4)
    mask = torch.ones(4, 4, dtype=torch.bool)
    chosen = choose_hypotheses(log_probs, mask, 2, torch.tensor([1, 2, 0, -1]))
    assert chosen.tolist() == [[0, 1], [0, 2], [0, 2], [0, 2]]


def test_a_candidate_with_no_probability_comes_before_padding() -> None:
    log_probs = torch.tensor([[IMPOSSIBLE, IMPOSSIBLE, IMPOSSIBLE, -1.0]])
    mask = torch.tensor([[False, True, False, True]])
    assert choose_hypotheses(log_probs, mask, 2).tolist() == [[3, 1]]


def test_there_are_no_more_hypotheses_than_candidates() -> None:
    assert choose_hypotheses(torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.bool), 9).shape == (2, 3)


@pytest.mark.parametrize("padding", [0, 1, 7, 30])
def test_which_of_several_equals_is_chosen_does_not_depend_on_the_padding(padding: int) -> None:
    log_probs = torch.full((1, 6 + padding), IMPOSSIBLE)
    log_probs[0, 2] = -1.0
    mask = torch.arange(6 + padding)[None] < 6
    assert choose_hypotheses(log_probs, mask, 3).tolist() == [[2, 0, 1]]


@settings(max_examples=60)
@given(
    questions=st.lists(st.tuples(st.lists(words, max_size=5), st.lists(words, max_size=5)), min_size=1, max_size=4),
    candidates=st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=3),
    extra=st.builds(Extra, question=st.integers(0, 3), phrase=st.integers(0, 3), candidates=st.integers(0, 1)),
)
def test_a_hypothesis_is_the_question_with_all_words_of_the_candidate_put_in(
    questions: list[tuple[list[int], list[int]]], candidates: list[list[int]], extra: Extra
) -> None:
    cases = [Case([[2]], [*before, PLACEHOLDER, *after], candidates, None) for before, after in questions]
    batch = batch_of_cases(cases, extra)
    source = fill_blank(batch.question, batch.blank, batch.candidates)
    for row, case in enumerate(cases):
        for number, candidate in enumerate(candidates):
            places = [0, *batch.question[row].tolist(), *batch.candidates[row, number].tolist()]
            found = [places[place] for place in source[row, number].tolist()]
            expected = hypothesis(case.question, PLACEHOLDER, candidate)
            assert found == expected + [0] * (len(found) - len(expected))


def test_blanks_at_different_places_of_one_batch_are_each_filled_where_they_are() -> None:
    question = torch.tensor([[1, 5, 6], [5, 1, 6], [5, 6, 1], [1, 0, 0]])
    candidates = torch.tensor([[[7, 8], [9, 0]]] * 4)
    source = fill_blank(question, (question == 1).int().argmax(dim=1), candidates)
    # Places: 0 pads, 1 to 3 are the words of the question, 4 and 5 those of the candidate.
    assert source.tolist() == [
        [[4, 5, 2, 3], [4, 2, 3, 0]],
        [[1, 4, 5, 3], [1, 4, 3, 0]],
        [[1, 2, 4, 5], [1, 2, 4, 0]],
        [[4, 5, 0, 0], [4, 0, 0, 0]],
    ]
