"""Row by row: a softmax that padding takes no part in, and the attention that each candidate gets, each as one kernel."""

# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Bool, Float, Int
from torch import Tensor

from epireader.data.vocabulary import PAD_ID
from epireader.layers.fused.chain import as_readers
from epireader.layers.kernels import next_power_of_two
from epireader.layers.masking import MINUS_INFINITY

NOTHING, PADDING = tl.constexpr(MINUS_INFINITY), tl.constexpr(PAD_ID)
TILE = 128
LENGTHS = ["doc", "count", "width", "rows_of_mask"]
"""What differs from batch to batch: kernels are not compiled anew for it."""


def fused_log_softmax(scores: Float[Tensor, "*rows n"], mask: Bool[Tensor, "*rows n"]) -> Float[Tensor, "*rows n"]:
    """`masked_log_softmax`."""
    log_probs: Tensor = FusedLogSoftmax.apply(scores, mask)
    return log_probs


def fused_attention_sum(
    log_attention: Float[Tensor, "batch doc"], passage: Int[Tensor, "batch doc"], candidates: Int[Tensor, "batch cand"]
) -> Float[Tensor, "batch cand"]:
    """`attention_sum` for candidates of one word."""
    log_probs: Tensor = FusedAttentionSum.apply(log_attention, passage, candidates)
    return log_probs


def fused_max(values: Float[Tensor, "*rows n"], mask: Bool[Tensor, "*rows n"]) -> Float[Tensor, "*rows"]:
    """`masked_max`."""
    largest: Tensor = FusedMax.apply(values, mask)[0]
    return largest


class FusedLogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(scores: Tensor, mask: Tensor) -> Tensor:
        width = scores.shape[-1]
        log_probs = torch.empty(scores.shape, dtype=torch.float, device=scores.device)
        softmax_kernel[(scores.numel() // width,)](
            scores.contiguous(), mask.contiguous(), log_probs, width, WIDTH=next_power_of_two(width)
        )
        return log_probs

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.dtype = inputs[0].dtype
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grads: Tensor) -> tuple[Tensor, None]:
        (log_probs,) = ctx.saved_tensors
        width = grads.shape[-1]
        to_scores = torch.empty_like(log_probs, dtype=ctx.dtype)
        softmax_backward_kernel[(grads.numel() // width,)](
            grads.contiguous(), log_probs, to_scores, width, WIDTH=next_power_of_two(width)
        )
        return to_scores, None

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        log_probs: Tensor = FusedLogSoftmax.apply(*as_readers(info.batch_size, dims, inputs))
        return log_probs.unflatten(0, (info.batch_size, -1)), 0


class FusedAttentionSum(torch.autograd.Function):
    @staticmethod
    def forward(log_attention: Tensor, passage: Tensor, candidates: Tensor) -> Tensor:
        doc, count = passage.shape[-1], candidates.shape[-1]
        log_probs = log_attention.new_empty(candidates.shape)
        sum_kernel[(count, len(passage))](
            log_attention.contiguous(), passage.contiguous(), candidates.contiguous(), log_probs, doc,
            DOC=next_power_of_two(doc),
        )  # fmt: skip
        return log_probs

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grads: Tensor) -> tuple[Tensor, None, None]:
        log_attention, passage, candidates, log_probs = ctx.saved_tensors
        doc, count = passage.shape[-1], candidates.shape[-1]
        to_attention = log_attention.new_empty(log_attention.shape)
        sum_backward_kernel[(triton.cdiv(doc, TILE), len(passage))](
            grads.contiguous(), log_attention.contiguous(), passage.contiguous(), candidates.contiguous(), log_probs,
            to_attention, doc, count, TILE=TILE,
        )  # fmt: skip
        return to_attention, None, None

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        log_probs: Tensor = FusedAttentionSum.apply(*as_readers(info.batch_size, dims, inputs))
        return log_probs.unflatten(0, (info.batch_size, -1)), 0


class FusedMax(torch.autograd.Function):
    """Also gives which value is the largest; -1 where there is none."""

    @staticmethod
    def forward(values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        width = values.shape[-1]
        largest = values.new_empty(values.shape[:-1])
        which = torch.empty_like(largest, dtype=torch.int32)
        # One mask for all words of a passage is not copied for each of them.
        shared = mask.dim() > 1 and mask.stride(-2) == 0
        mask = mask.select(-2, 0) if shared else mask
        max_kernel[(largest.numel(),)](
            values.contiguous(), mask.contiguous(), largest, which, width, values.shape[-2] if shared else 1,
            WIDTH=next_power_of_two(width), num_warps=1,
        )  # fmt: skip
        return largest, which

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.width = inputs[0].shape[-1]
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx: Any, grads: Tensor, _: Any) -> tuple[Tensor, None]:
        (which,) = ctx.saved_tensors
        to_values = grads.new_empty(*grads.shape, ctx.width)
        max_backward_kernel[(grads.numel(),)](
            grads.contiguous(), which, to_values, ctx.width, WIDTH=next_power_of_two(ctx.width), num_warps=1
        )
        return to_values, None

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Any, Any]:
        outputs = FusedMax.apply(*as_readers(info.batch_size, dims, inputs))
        return tuple(output.unflatten(0, (info.batch_size, -1)) for output in outputs), (0, 0)


@triton.jit(do_not_specialize=LENGTHS)
def max_kernel(values, mask, largest, which, width, rows_of_mask, WIDTH: tl.constexpr):
    n = tl.arange(0, WIDTH)
    row = tl.program_id(0).to(tl.int64)
    real = tl.load(mask + row // rows_of_mask * width + n, mask=n < width, other=0) != 0
    value = tl.load(values + row * width + n, mask=real, other=NOTHING).to(tl.float32)
    top, at = tl.max(value, axis=0, return_indices=True)
    tl.store(largest + row, tl.where(top > NOTHING, top, 0.0))
    tl.store(which + row, tl.where(top > NOTHING, at, -1))


@triton.jit(do_not_specialize=LENGTHS)
def max_backward_kernel(grads, which, to_values, width, WIDTH: tl.constexpr):
    n = tl.arange(0, WIDTH)
    row = tl.program_id(0).to(tl.int64)
    tl.store(
        to_values + row * width + n, tl.where(n == tl.load(which + row), tl.load(grads + row), 0.0), mask=n < width
    )


@triton.jit(do_not_specialize=LENGTHS)
def softmax_kernel(scores, mask, log_probs, width, WIDTH: tl.constexpr):
    n = tl.arange(0, WIDTH)
    row = tl.program_id(0).to(tl.int64) * width
    score = tl.load(scores + row + n, mask=n < width, other=NOTHING).to(tl.float32)
    real = (tl.load(mask + row + n, mask=n < width, other=0) != 0) & (score != NOTHING)
    score = tl.where(real, score, NOTHING)
    # The largest is taken off first: beside a large score the logarithm of the sum would lose its digits.
    score = tl.where(real, score - tl.max(score), NOTHING)
    total = tl.sum(tl.exp(score))
    tl.store(log_probs + row + n, tl.where(real, score - tl.log(total), NOTHING), mask=n < width)


@triton.jit(do_not_specialize=LENGTHS)
def softmax_backward_kernel(grads, log_probs, to_scores, width, WIDTH: tl.constexpr):
    n = tl.arange(0, WIDTH)
    row = tl.program_id(0).to(tl.int64) * width
    log_prob = tl.load(log_probs + row + n, mask=n < width, other=NOTHING)
    grad = tl.load(grads + row + n, mask=(n < width) & (log_prob > NOTHING), other=0.0).to(tl.float32)
    tl.store(to_scores + row + n, grad - tl.exp(log_prob) * tl.sum(grad), mask=n < width)


@triton.jit(do_not_specialize=LENGTHS)
def sum_kernel(log_attention, passage, candidates, log_probs, doc, DOC: tl.constexpr):
    n = tl.arange(0, DOC)
    row, spot = tl.program_id(1).to(tl.int64), tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    candidate = tl.load(candidates + spot)
    word = tl.load(passage + row * doc + n, mask=n < doc, other=PADDING)
    mentioned = (word == candidate) & (word != PADDING)
    share = tl.load(log_attention + row * doc + n, mask=mentioned, other=NOTHING).to(tl.float32)
    largest = tl.max(share)
    largest = tl.where(largest > NOTHING, largest, 0.0)
    tl.store(log_probs + spot, tl.log(tl.sum(tl.exp(share - largest))) + largest)


@triton.jit(do_not_specialize=LENGTHS)
def sum_backward_kernel(
    grads, log_attention, passage, candidates, log_probs, to_attention, doc, count, TILE: tl.constexpr
):
    n = tl.program_id(0) * TILE + tl.arange(0, TILE)
    row = tl.program_id(1).to(tl.int64)
    word = tl.load(passage + row * doc + n, mask=n < doc, other=PADDING)
    share = tl.load(log_attention + row * doc + n, mask=n < doc, other=NOTHING).to(tl.float32)
    total = tl.zeros([TILE], tl.float32)
    for number in range(0, count):
        spot = row * count + number
        log_prob = tl.load(log_probs + spot).to(tl.float32)
        grad = tl.where(log_prob > NOTHING, tl.load(grads + spot).to(tl.float32), 0.0)
        log_prob = tl.where(log_prob > NOTHING, log_prob, 0.0)
        mentioned = (word == tl.load(candidates + spot)) & (word != PADDING)
        total += tl.where(mentioned, grad * tl.exp(share - log_prob), 0.0)
    tl.store(to_attention + row * doc + n, total, mask=n < doc)
