"""The optimizers, and the l2 term of the loss."""

import pytest
import torch
from torch import nn

from epireader.readers.epireader import EpiReader, EpiReaderConfig
from epireader.training.optimizer import OPTIMIZERS, add_l2_gradient, l2_penalty, make_optimizer, regularised


class Part(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(3, 2)
        self.line = nn.Linear(2, 2)
        with torch.no_grad():
            self.words.weight.fill_(100)
            self.line.weight.copy_(torch.tensor([[1.0, 2.0], [0.0, -3.0]]))
            self.line.bias.fill_(50)


def test_the_penalty_is_the_sum_of_squares_of_matrices_without_biases_and_word_vectors() -> None:
    assert l2_penalty(Part()).item() == 1 + 4 + 9


def test_the_penalty_pulls_at_every_matrix_and_at_nothing_else() -> None:
    torch.manual_seed(0)
    model = EpiReader(EpiReaderConfig(embedding_dim=4, hidden_dim=3, filters=2, reasoner_hidden_dim=3), words=9)
    add_l2_gradient(regularised(model).values(), 1.0)
    for name, parameter in model.named_parameters():
        left_alone = parameter.dim() < 2 or "embedding" in name
        assert (parameter.grad is None) is left_alone, name
        if parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, 2 * parameter.detach())


def test_the_penalty_pulls_beside_what_else_is_learnt() -> None:
    part = Part()
    part.line.weight.grad = torch.ones(2, 2)
    add_l2_gradient(regularised(part).values(), 0.5)
    assert part.line.weight.grad.tolist() == [[2.0, 3.0], [1.0, -2.0]]


def test_the_optimizer_is_adam_as_it_was_published() -> None:
    weight = nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
    module = nn.ParameterDict({"weight": weight})
    optimizer = make_optimizer(module.parameters(), 0.01)
    value, mean, square = weight.detach().double(), torch.zeros(3).double(), torch.zeros(3).double()
    for step in range(1, 5):
        gradient = torch.tensor([0.3, -0.1, 2.0]) * step
        weight.grad = gradient.clone()
        optimizer.step()
        mean = 0.9 * mean + 0.1 * gradient.double()
        square = 0.999 * square + 0.001 * gradient.double() ** 2
        value = value - 0.01 * (mean / (1 - 0.9**step)) / ((square / (1 - 0.999**step)).sqrt() + 1e-8)
        torch.testing.assert_close(weight.detach().double(), value, rtol=1e-5, atol=1e-6)
    assert optimizer.param_groups[0]["weight_decay"] == 0, "l2 is a part of the loss, not of Adam"


def test_plain_gradient_descent_takes_the_gradient_times_the_rate_and_remembers_nothing() -> None:
    weight = nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = make_optimizer([weight], 0.1, "sgd")
    for _ in range(2):
        weight.grad = torch.tensor([1.0, 2.0])
        optimizer.step()
    torch.testing.assert_close(weight.detach(), torch.tensor([0.8, -2.4]))
    assert optimizer.state_dict()["state"] == {}


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("rate", [0.1, 1e-3])
def test_the_learning_rate_is_the_one_given(rate: float, kind: str) -> None:
    assert make_optimizer(Part().parameters(), rate, kind).param_groups[0]["lr"] == rate
