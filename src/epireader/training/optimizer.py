"""The optimizers, and the l2 term of the loss."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from epireader.training.averaging import keep_means

OPTIMIZERS = ("adam", "sgd")


def make_optimizer(
    parameters: Iterable[nn.Parameter], learning_rate: float, kind: str = "adam", *, average: float = 0.0
) -> torch.optim.Optimizer:
    """Adam with its usual moments, or plain gradient descent; one kernel for all parameters.

    With `average` it also keeps the weights' means (`averaging.py`).
    """
    parameters = list(parameters)
    optimizer: torch.optim.Optimizer
    if kind == "sgd":
        optimizer = torch.optim.SGD(parameters, lr=learning_rate, fused=True)
    else:
        on_gpu = parameters[0].device.type == "cuda"
        optimizer = torch.optim.Adam(parameters, lr=learning_rate, fused=True, capturable=on_gpu)
    if average:
        keep_means(optimizer, average)
    return optimizer


def optimizer_tensors(optimizer: torch.optim.Optimizer, names: Sequence[str]) -> dict[str, Tensor]:
    """What an optimizer remembers of each parameter, by the parameter's name."""
    state = optimizer.state_dict()["state"]
    return {f"{names[number]}.{key}": value for number, moments in state.items() for key, value in moments.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, names: Sequence[str], tensors: Mapping[str, Tensor]) -> None:
    """Let an optimizer remember again what `optimizer_tensors` gave."""
    numbers = {name: number for number, name in enumerate(names)}
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        name, _, moment = key.rpartition(".")
        state.setdefault(numbers[name], {})[moment] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


@torch.no_grad()
def l2_penalty(module: nn.Module) -> Float[Tensor, ""]:
    """The sum of the squared weights of all matrices; biases and word vectors are left out."""
    none = next(module.parameters()).new_zeros(1)
    return torch.cat([none, *(matrix.flatten() for matrix in regularised(module).values())]).square().sum()


@torch.no_grad()
def add_l2_gradient(matrices: Iterable[nn.Parameter], l2: float) -> None:
    """Add the gradient of `l2` times the penalty, for all matrices at once: autograd would take five kernels for each."""
    weights, grads = [], []
    for matrix in matrices:
        matrix.grad = torch.zeros_like(matrix) if matrix.grad is None else matrix.grad
        weights.append(matrix.detach())
        grads.append(matrix.grad)
    torch._foreach_add_(grads, weights, alpha=2 * l2)


def regularised(module: nn.Module) -> dict[str, nn.Parameter]:
    """The weights that l2 holds down, by name."""
    embeddings = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    named = module.named_parameters()
    return {name: weight for name, weight in named if weight.dim() > 1 and id(weight) not in embeddings}
