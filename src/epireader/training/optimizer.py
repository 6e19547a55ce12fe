"""The optimizers, and the l2 term of the loss."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

OPTIMIZERS = ("adam", "sgd")


def make_optimizer(module: nn.Module, learning_rate: float, kind: str = "adam") -> torch.optim.Optimizer:
    """Adam with its usual moments, or plain gradient descent; one kernel for all parameters."""
    if kind == "sgd":
        return torch.optim.SGD(module.parameters(), lr=learning_rate, fused=True)
    on_gpu = next(module.parameters()).device.type == "cuda"
    return torch.optim.Adam(module.parameters(), lr=learning_rate, fused=True, capturable=on_gpu)


def l2_penalty(module: nn.Module) -> Float[Tensor, ""]:
    """The sum of the squared weights of all matrices; biases and word vectors are left out."""
    embeddings = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    matrices = [p for p in module.parameters() if p.dim() > 1 and id(p) not in embeddings]
    none = next(module.parameters()).new_zeros(())
    return torch.stack([none, *(matrix.square().sum() for matrix in matrices)]).sum()
