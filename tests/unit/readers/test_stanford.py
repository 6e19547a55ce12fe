"""The Stanford Attentive Reader."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.agreement import assert_agreement
from reference.cases import Case, Extra, batch_of_cases
from reference.small import hard_cases, small
from reference.stanford import stanford

from epireader.readers.stanford import StanfordConfig

extras = st.builds(Extra, *[st.integers(0, 2)] * 5)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 3), extra=extras)
def test_the_stanford_reader_agrees_with_its_equations(seed: int, count: int, extra: Extra) -> None:
    assert_agreement(small("stanford", seed), stanford, hard_cases(seed, count), extra)


def test_only_what_stands_in_the_passage_can_be_the_answer() -> None:
    log_probs = small("stanford")(batch_of_cases([Case([[5, 6, 7]], [1], [[5], [9], [6, 7], [7, 6]], 0)])).log_probs
    assert log_probs.isfinite().tolist() == [[True, False, True, False]]
    assert log_probs.exp().sum().item() == pytest.approx(1.0)


def test_word_vectors_are_thinned_out_in_training_only() -> None:
    module, batch = small("stanford", dropout=0.5), batch_of_cases([Case([[5, 6, 7]], [1, 8], [[5], [6]], 0)])
    module.eval()
    assert torch.equal(module(batch).log_probs, module(batch).log_probs)
    module.train()
    torch.manual_seed(0)
    first, second = module(batch).log_probs, module(batch).log_probs
    assert not torch.equal(first, second)
    torch.manual_seed(0)
    assert torch.equal(module(batch).log_probs, first), "what is left out depends on torch's seed alone"


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_of_dropout_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match=r"model\.dropout must be at least 0 and below 1"):
        StanfordConfig(dropout=share)
