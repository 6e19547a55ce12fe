"""No NaN and no infinity where a question is odd, and gradients that are the derivatives."""

import pytest
import torch
from reference.cases import Case, batch_of_cases
from reference.odd import ODD, PLAIN, assert_sound
from reference.small import WORDS, as_reader, epireader, roughened
from torch import nn
from torch.func import functional_call

from epireader.data.batches import Batch
from epireader.readers.epireader import EpiReader, EpiReaderConfig
from epireader.readers.extractor import AttentionSumConfig, AttentionSumReader


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("case", ODD.values(), ids=ODD.keys())
def test_an_odd_question_is_read_soundly_alone_and_in_company(case: Case, wide: bool, training: bool) -> None:
    module = epireader(1, hypotheses=5, wide_convolution=wide).float().train(training)
    assert_sound(module, batch_of_cases([case]))
    assert_sound(module, batch_of_cases([PLAIN, case]))


def test_an_attention_that_is_quite_sure_of_the_wrong_word_still_teaches() -> None:
    for module in (epireader(1).float().train(), as_reader(2).float().train()):
        with torch.no_grad():  # saturated states, so that scores are as far apart as they can be
            for parameter in module.extractor.parameters():
                parameter.mul_(200.0)
        for answer in range(3):
            batch = batch_of_cases([Case(PLAIN.sentences, PLAIN.question, PLAIN.candidates, answer)])
            assert_sound(module, batch)


@pytest.mark.parametrize("wide", [True, False])
def test_the_gradient_of_the_loss_is_its_derivative(wide: bool) -> None:
    sizes = {"embedding_dim": 2, "hidden_dim": 1, "hypotheses": 2, "filter_width": 2, "filters": 2}
    config = EpiReaderConfig(**sizes, reasoner_hidden_dim=1, reasoner_weight=2.0, margin=0.9, wide_convolution=wide)
    module = roughened(EpiReader(config, 8), 3).train()
    batch = batch_of_cases([Case([[3, 4, 3], [5]], [6, 1, 4], [[3], [4, 3], [5]], 2), Case([[7]], [1], [[7]], 0)])
    check_gradient(module, batch)


def test_the_gradient_of_the_as_readers_loss_is_its_derivative() -> None:
    module = roughened(AttentionSumReader(AttentionSumConfig(embedding_dim=2, hidden_dim=1), 8), 4)
    check_gradient(module, batch_of_cases([Case([[3, 4, 3], [5]], [6, 1, 4], [[3], [4, 3], [5]], 1)]))


def check_gradient(module: nn.Module, batch: Batch) -> None:
    """With respect to every parameter, but for the vector of padding, which is no parameter."""
    names = [name for name, _ in module.named_parameters()]
    values = [parameter.detach().clone() for parameter in module.parameters()]
    assert names[0] == "embedding.weight"
    values[0] = values[0][1:]
    padding = torch.zeros(1, values[0].shape[1], dtype=torch.float64)

    def loss(*given: torch.Tensor) -> torch.Tensor:
        weights = dict(zip(names, (torch.cat([padding, given[0]]), *given[1:]), strict=True))
        reading = functional_call(module, weights, (batch,))
        return module.loss(reading, batch).total

    assert torch.autograd.gradcheck(loss, [value.requires_grad_() for value in values])


def test_a_reader_can_be_as_small_as_can_be() -> None:
    sizes = {"embedding_dim": 1, "hidden_dim": 1, "hypotheses": 1, "filter_width": 1, "filters": 1}
    module = EpiReader(EpiReaderConfig(**sizes, reasoner_hidden_dim=1), WORDS).train()
    assert_sound(module, batch_of_cases([PLAIN, *ODD.values()]))


@pytest.mark.parametrize("name", ["embedding_dim", "hypotheses", "filter_width", "filters", "reasoner_hidden_dim"])
def test_a_size_of_zero_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"model.{name} must be at least 1, got 0"):
        EpiReaderConfig(**{name: 0})
