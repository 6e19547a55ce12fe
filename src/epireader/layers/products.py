"""Products of many rows with one small matrix. Its gradient is a sum over all rows, which a GPU must be told to share out."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import linear

MANY_ROWS = 8192
MOST_PARTS = 32


def many_rows_linear(
    rows: Float[Tensor, "*rows in"], weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None = None
) -> Float[Tensor, "*rows out"]:
    """`torch.nn.functional.linear`, for a matrix so small that its gradient can be kept several times over."""
    if rows.device.type != "cuda" or not torch.is_grad_enabled() or rows.numel() < MANY_ROWS * rows.shape[-1]:
        return linear(rows, weight, bias)
    products: Tensor = ManyRowsLinear.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
    return products


class ManyRowsLinear(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return linear(rows, weight, bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor | None], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, grads: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        of_rows, of_weight, of_bias = ctx.needs_input_grad
        flat = grads.flatten(0, -2)
        return (
            grads @ weight.to(grads.dtype) if of_rows else None,
            summed_products(flat, rows.flatten(0, -2).to(flat.dtype)).to(weight.dtype) if of_weight else None,
            flat.sum(dim=0, dtype=weight.dtype) if of_bias else None,
        )


def summed_products(
    left: Float[Tensor, "*many rows m"], right: Float[Tensor, "*many rows n"]
) -> Float[Tensor, "*many m n"]:
    """Each row of the one times the same row of the other, summed over the rows.

    In one product that is a few programs' work, each going over all rows. So it is done in parts of the rows.
    """
    parts = parts_of(left.shape[-2])
    if parts == 1:
        return left.mT @ right
    left, right = (side.unflatten(-2, (parts, -1)) for side in (left, right))
    return (left.mT @ right).sum(dim=-3)


def parts_of(rows: int) -> int:
    """Into how many even parts rows are divided: the most, up to a limit, that are no smaller than they must be."""
    parts = MOST_PARTS
    while parts > 1 and (rows % parts or rows // parts < MANY_ROWS // MOST_PARTS):
        parts //= 2
    return parts
