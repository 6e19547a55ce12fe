"""The Deep LSTM Reader."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.agreement import assert_agreement
from reference.cases import Case, Extra, batch_of_cases
from reference.hermann import deep_lstm
from reference.small import hard_cases, small

from epireader.readers.deep_lstm import DeepLSTMConfig

extras = st.builds(Extra, *[st.integers(0, 2)] * 5)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 3), extra=extras, layers=st.integers(1, 3))
def test_the_deep_lstm_reader_agrees_with_its_equations(seed: int, count: int, extra: Extra, layers: int) -> None:
    assert_agreement(small("deep-lstm", seed, layers=layers), deep_lstm, hard_cases(seed, count), extra)


def test_the_sequence_is_the_question_the_delimiter_and_the_passage_with_padding_at_the_end_only() -> None:
    module = small("deep-lstm")
    cases = [Case([[5, 6], [7]], [8, 1], [[5]], 0), Case([[9]], [1], [[9]], 0)]
    words, mask = module._one_sequence(batch_of_cases(cases, Extra(words=1, question=1)))
    table = module.embedding.weight
    first = torch.cat([table[[8, 1]], module.delimiter[None], table[[5, 6, 7]]])
    second = torch.cat([table[[1]], module.delimiter[None], table[[9]]])
    assert torch.equal(words[0, :6], first)
    assert torch.equal(words[1, :3], second)
    assert mask.sum(dim=1).tolist() == [6, 3]
    assert mask[0, :6].all()
    assert mask[1, :3].all()


def test_a_reader_without_layers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"model\.layers must be at least 1, got 0"):
        DeepLSTMConfig(layers=0)
