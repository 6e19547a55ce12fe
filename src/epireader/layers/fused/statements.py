"""The convolution over hypotheses and its maxima as one kernel: the question with each answer put into its blank.

One program reads all hypotheses of one question, from the products of the question's words and of the answers'.
"""

# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from epireader.data.vocabulary import BLANK_ID, PAD_ID
from epireader.layers.fused.chain import WARPS, as_readers
from epireader.layers.fused.sentences import LARGEST_TILE
from epireader.layers.kernels import next_power_of_two

PADDING, BLANK = tl.constexpr(PAD_ID), tl.constexpr(BLANK_ID)
LENGTHS = ["words", "phrase"]
"""What differs from batch to batch: kernels are not compiled anew for it."""


def fused_statements(
    of_question: Float[Tensor, "reader batch q width filt"],
    of_answer: Float[Tensor, "reader batch hyp phrase width filt"],
    bias: Float[Tensor, "reader filt"],
    question: Int[Tensor, "reader batch q"],
    hypotheses: Int[Tensor, "reader batch hyp phrase"],
    *,
    wide: bool,
) -> Float[Tensor, "reader batch hyp filt"]:
    """The largest value each filter has over the windows of each hypothesis, after the ReLU."""
    pooled: Tensor = FusedStatements.apply(of_question, of_answer, bias, question, hypotheses, wide)[0]
    return pooled


class FusedStatements(torch.autograd.Function):
    """Also gives the window each maximum comes from; -1 where none is above zero."""

    @staticmethod
    def forward(
        of_question: Tensor, of_answer: Tensor, bias: Tensor, question: Tensor, hypotheses: Tensor, wide: bool
    ) -> tuple[Tensor, Tensor]:
        readers, batch, words, width, filters = of_question.shape
        hyp, phrase = hypotheses.shape[2:]
        pooled = bias.new_empty(readers, batch, hyp, filters)
        window_of = torch.empty_like(pooled, dtype=torch.int32)
        given = (question, hypotheses, of_question, of_answer, bias)
        forward_kernel[(batch, readers)](
            *(tensor.contiguous() for tensor in given), pooled, window_of,
            words, hyp, phrase, filters, **sizes(words, hyp, phrase, filters), WIDTH=width, WIDE=wide, num_warps=WARPS,
        )  # fmt: skip
        return pooled, window_of

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        *_, question, hypotheses, ctx.wide = inputs
        ctx.width, ctx.dtype = inputs[0].shape[-2], inputs[0].dtype
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(question, hypotheses, output[1])

    @staticmethod
    def backward(ctx: Any, grads: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        question, hypotheses, window_of = ctx.saved_tensors
        readers, batch, hyp, filters = grads.shape
        words, phrase = question.shape[-1], hypotheses.shape[-1]
        to_question = grads.new_empty(*question.shape, ctx.width, filters, dtype=ctx.dtype)
        to_answer = grads.new_empty(*hypotheses.shape, ctx.width, filters, dtype=ctx.dtype)
        to_bias = grads.new_empty(readers, batch, filters)
        backward_kernel[(batch, readers)](
            *(tensor.contiguous() for tensor in (question, hypotheses, grads, window_of)),
            to_question, to_answer, to_bias,
            words, hyp, phrase, filters, **sizes(words, hyp, phrase, filters), WIDTH=ctx.width, WIDE=ctx.wide, num_warps=WARPS,
        )  # fmt: skip
        return to_question, to_answer, to_bias.sum(dim=1), None, None, None

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *inputs: Any) -> tuple[Any, Any]:
        outputs = FusedStatements.apply(*as_readers(info.batch_size, dims[:-1], inputs[:-1]), inputs[-1])
        return tuple(output.unflatten(0, (info.batch_size, -1)) for output in outputs), (0, 0)


def sizes(words: int, hyp: int, phrase: int, filters: int) -> dict[str, int]:
    """The sizes of a program's blocks."""
    block = {"HYP": next_power_of_two(hyp), "FILT": next_power_of_two(filters)}
    texts = {"QUESTION": next_power_of_two(words), "PHRASE": next_power_of_two(phrase)}
    return {**block, **texts, "TILE": LARGEST_TILE // (block["HYP"] * block["FILT"])}


@triton.jit
def texts_of_program(
    question, hypotheses, words, hyp, phrase, HYP: tl.constexpr, QUESTION: tl.constexpr, PHRASE: tl.constexpr
):
    """Which question a program reads, its length, where its blank is, and the lengths of the answers to put there."""
    text = (tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)).to(tl.int64)
    q, k, p = tl.arange(0, QUESTION), tl.arange(0, HYP)[:, None], tl.arange(0, PHRASE)[None, :]
    asked = tl.load(question + text * words + q, mask=q < words, other=PADDING)
    blank = tl.min(tl.where(asked == BLANK, q, QUESTION))
    answer = tl.load(hypotheses + (text * hyp + k) * phrase + p, mask=(k < hyp) & (p < phrase), other=PADDING)
    length = tl.sum((asked != PADDING).to(tl.int32))
    return text, length, tl.where(blank < QUESTION, blank, 0), tl.sum((answer != PADDING).to(tl.int32), axis=1)


@triton.jit(do_not_specialize=LENGTHS)
def forward_kernel(
    question, hypotheses, of_question, of_answer, bias, pooled, window_of, words, hyp, phrase, filters,
    HYP: tl.constexpr, FILT: tl.constexpr, QUESTION: tl.constexpr, PHRASE: tl.constexpr, TILE: tl.constexpr,
    WIDTH: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    text, asked, blank, answer = texts_of_program(question, hypotheses, words, hyp, phrase, HYP, QUESTION, PHRASE)
    k, f = tl.arange(0, HYP), tl.arange(0, FILT)
    real = (k < hyp)[:, None] & (f < filters)[None, :]
    reach = WIDTH - 1 if WIDE else 0
    answer = answer[None, :]
    length = asked - 1 + answer
    windows = length + WIDTH - 1 if WIDE else tl.maximum(length - WIDTH, 0) + 1
    of_bias = tl.load(bias + tl.program_id(1) * filters + f, mask=f < filters, other=0.0).to(tl.float32)
    best = tl.zeros([HYP, FILT], tl.float32)
    at = tl.full([HYP, FILT], -1, tl.int32)
    for first in range(0, tl.max(windows), TILE):
        window = first + tl.arange(0, TILE)[:, None]
        value = tl.zeros([TILE, HYP, FILT], tl.float32) + of_bias[None, None, :]
        for offset in tl.static_range(WIDTH):
            word = window - reach + offset
            there = (word >= 0) & (word < length)
            put_in = there & (word >= blank) & (word < blank + answer)
            asks = there & ~put_in
            place = text * words + tl.where(word < blank, word, word - answer + 1)
            spot = (text * hyp + k[None, :]) * phrase + word - blank
            from_question = of_question + (place * WIDTH + offset)[:, :, None] * filters + f[None, None, :]
            from_answer = of_answer + (spot * WIDTH + offset)[:, :, None] * filters + f[None, None, :]
            value += tl.load(from_question, mask=asks[:, :, None] & real[None, :, :], other=0.0).to(tl.float32)
            value += tl.load(from_answer, mask=put_in[:, :, None] & real[None, :, :], other=0.0).to(tl.float32)
        value = tl.where((window < windows)[:, :, None], value, 0.0)
        largest, which = tl.max(value, axis=0, return_indices=True)
        at = tl.where(largest > best, first + which, at)
        best = tl.maximum(largest, best)
    to = (text * hyp + k[:, None]) * filters + f[None, :]
    tl.store(pooled + to, best, mask=real)
    tl.store(window_of + to, at, mask=real)


@triton.jit(do_not_specialize=LENGTHS)
def backward_kernel(
    question, hypotheses, grads, window_of, to_question, to_answer, to_bias, words, hyp, phrase, filters,
    HYP: tl.constexpr, FILT: tl.constexpr, QUESTION: tl.constexpr, PHRASE: tl.constexpr, TILE: tl.constexpr,
    WIDTH: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Where a word stands in a hypothesis says which of its windows could have been the largest."""
    text, asked, blank, answer = texts_of_program(question, hypotheses, words, hyp, phrase, HYP, QUESTION, PHRASE)
    k, f = tl.arange(0, HYP), tl.arange(0, FILT)
    real_f = (f < filters)[None, :]
    real = (k < hyp)[:, None] & real_f
    reach = WIDTH - 1 if WIDE else 0
    source = (text * hyp + k[:, None]) * filters + f[None, :]
    at = tl.load(window_of + source, mask=real, other=-1)
    grad = tl.load(grads + source, mask=real & (at >= 0), other=0.0).to(tl.float32)
    tl.store(to_bias + text * filters + f, tl.sum(grad, axis=0), mask=f < filters)
    for first in range(0, words, TILE):
        q = first + tl.arange(0, TILE)[:, None]
        word = tl.where(q < blank, q, q + answer[None, :] - 1)
        stays = (q < asked) & (q != blank)
        for offset in tl.static_range(WIDTH):
            window = word + reach - offset
            chosen = (stays & (window >= 0))[:, :, None] & (at[None, :, :] == window[:, :, None])
            given = tl.sum(tl.where(chosen, grad[None, :, :], 0.0), axis=1)
            to = to_question + ((text * words + q) * WIDTH + offset) * filters + f[None, :]
            tl.store(to, given, mask=(q < words) & real_f)
    for p in range(0, phrase):
        for offset in tl.static_range(WIDTH):
            window = blank + p + reach - offset
            chosen = (p < answer)[:, None] & (window >= 0) & (at == window)
            to = to_answer + (((text * hyp + k) * phrase + p) * WIDTH + offset)[:, None] * filters + f[None, :]
            tl.store(to, tl.where(chosen, grad, 0.0), mask=real)
