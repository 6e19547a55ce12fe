"""The Impatient Reader."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.agreement import assert_agreement
from reference.cases import Case, Extra, batch_of_cases
from reference.hermann import impatient
from reference.small import hard_cases, small

extras = st.builds(Extra, *[st.integers(0, 2)] * 5)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 3), extra=extras)
def test_the_impatient_reader_agrees_with_its_equations(seed: int, count: int, extra: Extra) -> None:
    assert_agreement(small("impatient", seed), impatient, hard_cases(seed, count), extra)


def test_what_was_gathered_decides_where_it_looks_next() -> None:
    module, batch = small("impatient"), batch_of_cases([Case([[5, 6, 7]], [8, 1, 9], [[5], [6]], 0)])
    before = module(batch).log_attention
    with torch.no_grad():
        module.gathered_part.weight.zero_()
    assert not torch.allclose(module(batch).log_attention, before)
