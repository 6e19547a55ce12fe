"""The mean of a reader's weights over the steps of its training."""

import pytest
import torch
from torch import nn

from epireader.training.averaging import mean_weights
from epireader.training.optimizer import OPTIMIZERS, make_optimizer, optimizer_tensors, restore_optimizer


def taught(optimizer: torch.optim.Optimizer, weight: nn.Parameter, steps: int) -> list[torch.Tensor]:
    """The weight after each step."""
    seen = []
    for step in range(steps):
        weight.grad = torch.tensor([1.0, -2.0]) * (step + 1)
        optimizer.step()
        seen.append(weight.detach().clone())
    return seen


def mean_by_hand(seen: list[torch.Tensor], decay: float) -> torch.Tensor:
    mean = seen[0]
    for number, value in enumerate(seen[1:], start=2):
        kept = min(decay, (number - 1) / (number + 9))
        mean = kept * mean + (1 - kept) * value
    return mean


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize(("decay", "steps"), [(0.25, 6), (0.9, 150), (0.9995, 40)])
def test_the_mean_is_the_one_defined(kind: str, decay: float, steps: int) -> None:
    weight = nn.Parameter(torch.tensor([1.0, 3.0]))
    optimizer = make_optimizer([weight], 0.1, kind, average=decay)
    seen = taught(optimizer, weight, steps)
    place = weight.data_ptr()
    with mean_weights(optimizer):
        torch.testing.assert_close(weight.detach(), mean_by_hand(seen, decay))
        assert weight.data_ptr() == place, "recorded steps know a weight by its place"
    assert torch.equal(weight.detach(), seen[-1])


@pytest.mark.parametrize("steps", [20, 200, 2000])
def test_a_slow_mean_lags_about_a_tenth_of_the_steps_behind(steps: int) -> None:
    weight = nn.Parameter(torch.zeros(1))
    optimizer = make_optimizer([weight], 1.0, "sgd", average=0.9999)
    for _ in range(steps):  # the weight is the number of the step
        weight.grad = torch.tensor([-1.0])
        optimizer.step()
    with mean_weights(optimizer):
        assert 0.87 * steps < weight.item() < 0.95 * steps


def test_a_reader_gets_its_own_weights_back_when_something_fails() -> None:
    weight = nn.Parameter(torch.tensor([1.0, 3.0]))
    optimizer = make_optimizer([weight], 0.1, average=0.5)
    last = taught(optimizer, weight, 3)[-1]
    with pytest.raises(ValueError, match="oh"), mean_weights(optimizer):
        raise ValueError("oh")
    assert torch.equal(weight.detach(), last)


def test_without_an_average_the_weights_are_their_own_mean() -> None:
    weight = nn.Parameter(torch.tensor([1.0, 3.0]))
    optimizer = make_optimizer([weight], 0.1)
    last = taught(optimizer, weight, 3)[-1]
    with mean_weights(optimizer):
        assert torch.equal(weight.detach(), last)


def test_means_are_remembered_with_everything_else_the_optimizer_remembers() -> None:
    weights = [nn.Parameter(torch.tensor([1.0, 3.0])) for _ in range(2)]
    first, second = (make_optimizer([weight], 0.1, average=0.9) for weight in weights)
    taught(first, weights[0], 5)
    with torch.no_grad():
        weights[1].copy_(weights[0])
    saved = {name: tensor.clone() for name, tensor in optimizer_tensors(first, ["w"]).items()}
    restore_optimizer(second, ["w"], saved)
    for optimizer, weight in zip((first, second), weights, strict=True):
        taught(optimizer, weight, 2)
    with mean_weights(first), mean_weights(second):
        assert torch.equal(weights[0], weights[1])
