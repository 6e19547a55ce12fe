"""The Attentive Reader."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.agreement import assert_agreement
from reference.cases import Case, Extra, batch_of_cases
from reference.hermann import attentive
from reference.small import hard_cases, small

extras = st.builds(Extra, *[st.integers(0, 2)] * 5)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 3), extra=extras)
def test_the_attentive_reader_agrees_with_its_equations(seed: int, count: int, extra: Extra) -> None:
    assert_agreement(small("attentive", seed), attentive, hard_cases(seed, count), extra)


def test_a_candidate_that_does_not_stand_in_the_passage_is_scored_too() -> None:
    log_probs = small("attentive")(batch_of_cases([Case([[5, 6]], [1, 7], [[5], [9], [9, 10]], 1)])).log_probs
    assert log_probs.isfinite().all()
    torch.testing.assert_close(log_probs.exp().sum().item(), 1.0)
