"""A fast reader against its slow twin."""

from collections.abc import Callable

import pytest
from torch import nn

from reference.cases import Case, Extra, batch_of_cases
from reference.losses import extractor_loss
from reference.weights import Weights, weights_of
from reference.whole import Extracted


def assert_agreement(
    module: nn.Module, twin: Callable[[Case, Weights], Extracted], cases: list[Case], extra: Extra
) -> None:
    """Attention, probabilities and -log P(a*), for a reader that has one view of its candidates."""
    batch = batch_of_cases(cases, extra)
    reading = module(batch)
    slow = [twin(case, weights_of(module)) for case in cases]
    for row, one in enumerate(slow):
        if reading.log_attention is not None:
            attention = reading.log_attention[row].exp().tolist()
            assert attention == pytest.approx(one.attention + [0.0] * (len(attention) - len(one.attention)))
        probs = reading.log_probs[row].exp().tolist()
        assert probs == pytest.approx(one.probabilities + [0.0] * (len(probs) - len(one.probabilities)), rel=1e-6)
    assert reading.first_log_probs is reading.log_probs
    right = [
        None if case.answer is None else one.probabilities[case.answer] for case, one in zip(cases, slow, strict=True)
    ]
    assert module.loss(reading, batch).total.item() == pytest.approx(extractor_loss(right), rel=1e-6)
