"""No NaN and no infinity where a question is odd; gradients that are the derivatives; half precision that is near."""

import pytest
import torch
from reference.cases import Case, batch_of_cases
from reference.small import EVERY, WORDS, as_reader, epireader, hard_cases, roughened
from torch import nn
from torch.func import functional_call

from epireader.data.batches import Batch
from epireader.readers.epireader import EpiReader, EpiReaderConfig
from epireader.readers.extractor import AttentionSumConfig, AttentionSumReader

PLAIN = Case([[5, 6], [7, 8, 5]], [9, 1, 6], [[5], [6, 7], [8]], 2)
ODD = {
    "a passage of one word": Case([[5]], [9, 1, 6], [[5]], 0),
    "one candidate among many asked for": Case([[5, 6, 7]], [9, 1], [[6]], 0),
    "an answer that is not in the passage": Case([[5, 6, 7]], [9, 1], [[5], [10], [6]], 1),
    "no candidate in the passage": Case([[5, 6, 7]], [9, 1], [[9], [10]], 1),
    "an answer that is not known": Case([[5, 6, 7]], [9, 1], [[5], [6]], None),
    "a question that is only the blank": Case([[5, 6, 7], [8]], [1], [[5], [6]], 0),
    "a phrase longer than the passage": Case([[5]], [1, 6], [[5, 6, 7, 8], [5]], 1),
    "two candidates read as the same words": Case([[5, 6]], [1, 6], [[5], [5]], 1),
}


def assert_sound(module: nn.Module, batch: Batch) -> None:
    """Probabilities are probabilities, and loss and gradients are finite."""
    module.zero_grad()
    reading = module(batch)
    loss = module.loss(reading, batch).total
    assert loss.isfinite()
    for log_probs in (reading.log_probs, reading.first_log_probs):
        assert not log_probs.isnan().any()
        assert (log_probs < 1e-4).all()
    if loss.requires_grad:
        with torch.autograd.set_detect_anomaly(True):  # refuses a NaN on the way, even one that is masked later
            loss.backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("case", ODD.values(), ids=ODD.keys())
def test_an_odd_question_is_read_soundly_alone_and_in_company(case: Case, wide: bool, training: bool) -> None:
    module = epireader(1, hypotheses=5, wide_convolution=wide).float().train(training)
    assert_sound(module, batch_of_cases([case]))
    assert_sound(module, batch_of_cases([PLAIN, case]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("make", EVERY)
def test_all_odd_questions_together_are_read_soundly(make, dtype: torch.dtype) -> None:
    for training in (True, False):
        assert_sound(make(2).to(dtype).train(training), batch_of_cases(list(ODD.values())))


@pytest.mark.parametrize("case", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("make", EVERY)
def test_an_odd_question_is_read_soundly_by_every_reader(make, case: Case) -> None:
    assert_sound(make(2).float(), batch_of_cases([case]))


@pytest.mark.parametrize("unknown", [-1, -2])
@pytest.mark.parametrize("make", EVERY)
def test_nothing_is_learnt_from_a_question_whose_answer_is_unknown(make, unknown: int) -> None:
    module, batch = make(1).train(), batch_of_cases([PLAIN])
    batch.answer.fill_(unknown)
    loss = module.loss(module(batch), batch).total
    loss.backward()
    assert loss.item() == 0.0
    assert all(p.grad is None or not p.grad.any() for p in module.parameters())


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


@pytest.mark.parametrize("make", EVERY)
def test_half_precision_is_near_and_its_gradients_are_finite(make) -> None:
    module, batch = make(5).float().train(), batch_of_cases([PLAIN, *hard_cases(6, 5), *ODD.values()])
    full = module(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = module(batch)
        loss = module.loss(half, batch).total
    assert half.log_probs.dtype == torch.float32
    torch.testing.assert_close(half.first_log_probs.exp(), full.first_log_probs.exp(), atol=0.05, rtol=0)
    torch.testing.assert_close(half.log_probs.exp(), full.log_probs.exp(), atol=0.1, rtol=0)
    torch.testing.assert_close(loss, module.loss(full, batch).total, rtol=0.1, atol=0.05)
    loss.backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_a_reader_can_be_as_small_as_can_be() -> None:
    sizes = {"embedding_dim": 1, "hidden_dim": 1, "hypotheses": 1, "filter_width": 1, "filters": 1}
    module = EpiReader(EpiReaderConfig(**sizes, reasoner_hidden_dim=1), WORDS).train()
    assert_sound(module, batch_of_cases([PLAIN, *ODD.values()]))


@pytest.mark.parametrize("name", ["embedding_dim", "hypotheses", "filter_width", "filters", "reasoner_hidden_dim"])
def test_a_size_of_zero_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"model.{name} must be at least 1, got 0"):
        EpiReaderConfig(**{name: 0})
