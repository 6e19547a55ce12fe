"""The convolution over sentences and its maxima as one kernel.

One program reads one sentence. A filter's maximum is remembered with the window it came from, so the backward pass only
looks which of a word's windows those were.
"""

# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from epireader.layers.fused.chain import as_readers
from epireader.layers.kernels import next_power_of_two

LARGEST_TILE = 4096
LENGTHS = ["doc", "sentences"]
"""What differs from batch to batch: kernels are not compiled anew for it."""


def fused_sentences(
    products: Float[Tensor, "reader batch doc width filt"],
    to_answer: Float[Tensor, "reader batch doc hyp"],
    to_question: Float[Tensor, "reader batch doc"],
    match_weight: Float[Tensor, "reader two width filt"],
    bias: Float[Tensor, "reader filt"],
    sentence_length: Int[Tensor, "reader batch sent"],
    *,
    wide: bool,
) -> Float[Tensor, "reader batch sent hyp filt"]:
    """`sentence_maxima` for several readers."""
    given = (products, to_answer, to_question, match_weight, bias, sentence_length)
    pooled: Tensor = FusedSentences.apply(*given, wide)[0]
    return pooled.transpose(2, 3)


class FusedSentences(torch.autograd.Function):
    """Also gives the window each maximum comes from; -1 where none is above zero."""

    @staticmethod
    def forward(
        products: Tensor,
        to_answer: Tensor,
        to_question: Tensor,
        match_weight: Tensor,
        bias: Tensor,
        sentence_length: Tensor,
        wide: bool,
    ) -> tuple[Tensor, Tensor]:
        readers, batch, doc, width, filters = products.shape
        hyp, sentences = to_answer.shape[-1], sentence_length.shape[-1]
        pooled = bias.new_empty(readers, batch, hyp, sentences, filters)
        window_of = torch.empty_like(pooled, dtype=torch.int32)
        given = (products, to_answer, to_question, match_weight, bias, sentence_length)
        forward_kernel[(sentences, batch, readers)](
            *(tensor.contiguous() for tensor in given), pooled, window_of, doc,
            hyp, sentences, filters, **sizes(hyp, sentences, filters), WIDTH=width, WIDE=wide,
        )  # fmt: skip
        return pooled, window_of

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        products, to_answer, to_question, match_weight, _, sentence_length, ctx.wide = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(products, to_answer, to_question, match_weight, sentence_length, output[1])

    @staticmethod
    def backward(ctx: Any, grads: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        products, to_answer, to_question, match_weight, sentence_length, window_of = ctx.saved_tensors
        readers, batch, doc, width, filters = products.shape
        hyp, sentences = to_answer.shape[-1], sentence_length.shape[-1]
        # The kernel writes nothing for the words that stand in no sentence.
        of_words = (products, to_answer, to_question)
        flat = grads.new_zeros(sum(tensor.numel() for tensor in of_words), dtype=torch.float)
        parts = flat.split([tensor.numel() for tensor in of_words])
        to_words = [part.view(tensor.shape) for part, tensor in zip(parts, of_words, strict=True)]
        to_weights = grads.new_empty(readers, batch * sentences, 2 * width + 1, filters, dtype=torch.float)
        given = (grads, window_of, to_answer, to_question, match_weight, sentence_length)
        backward_kernel[(sentences, batch, readers)](
            *(tensor.contiguous() for tensor in given), *to_words, to_weights, doc,
            hyp, sentences, filters, **sizes(hyp, sentences, filters), WIDTH=width, WIDE=ctx.wide,
        )  # fmt: skip
        of_matches, of_bias = to_weights.sum(dim=1).split([2 * width, 1], dim=1)
        word_grads = (grad.to(tensor.dtype) for grad, tensor in zip(to_words, of_words, strict=True))
        return *word_grads, of_matches.unflatten(1, (2, width)).to(match_weight.dtype), of_bias.squeeze(1), None, None

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *inputs: Any) -> tuple[Any, Any]:
        outputs = FusedSentences.apply(*as_readers(info.batch_size, dims[:-1], inputs[:-1]), inputs[-1])
        return tuple(output.unflatten(0, (info.batch_size, -1)) for output in outputs), (0, 0)


def sizes(hyp: int, sentences: int, filters: int) -> dict[str, int]:
    """The sizes of a program's blocks."""
    block = {"HYP": next_power_of_two(hyp), "FILT": next_power_of_two(filters)}
    return {**block, "SENT": next_power_of_two(sentences), "TILE": LARGEST_TILE // (block["HYP"] * block["FILT"])}


@triton.jit
def share_of_program(sentence_length, sentences, SENT: tl.constexpr):
    """The text a program reads, and where in it its sentence begins and how long that is."""
    sentence, text = tl.program_id(0), tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)
    every = tl.arange(0, SENT)
    length = tl.load(sentence_length + text * sentences + every, mask=every < sentences, other=0).to(tl.int32)
    begin = tl.sum(tl.where(every < sentence, length, 0))
    return text.to(tl.int64), begin, tl.sum(tl.where(every == sentence, length, 0))


@triton.jit(do_not_specialize=LENGTHS)
def forward_kernel(
    products, to_answer, to_question, match_weight, bias, sentence_length, pooled, window_of, doc,
    hyp, sentences, filters,
    HYP: tl.constexpr, FILT: tl.constexpr, SENT: tl.constexpr, TILE: tl.constexpr, WIDTH: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """A window is counted by its last word if it is wide, by its first otherwise; `reach` words of it come before that."""
    text, begin, length = share_of_program(sentence_length, sentences, SENT)
    k, f = tl.arange(0, HYP), tl.arange(0, FILT)
    real_k, real_f = k < hyp, f < filters
    reach = WIDTH - 1 if WIDE else 0
    windows = tl.where(length > 0, length + WIDTH - 1 if WIDE else tl.maximum(length - WIDTH, 0) + 1, 0)
    match_weight += tl.program_id(2) * 2 * WIDTH * filters + f
    of_bias = tl.load(bias + tl.program_id(2) * filters + f, mask=real_f, other=0.0).to(tl.float32)
    best = tl.zeros([HYP, FILT], tl.float32)
    at = tl.full([HYP, FILT], -1, tl.int32)
    for first in range(0, windows, TILE):
        window = first + tl.arange(0, TILE)
        value = tl.zeros([TILE, HYP, FILT], tl.float32) + of_bias[None, None, :]
        for offset in tl.static_range(WIDTH):
            word = window - reach + offset
            there = (word >= 0) & (word < length)
            place = text * doc + begin + word
            product = tl.load(
                products + (place * WIDTH + offset)[:, None] * filters + f[None, :],
                mask=there[:, None] & real_f[None, :], other=0.0,
            )  # fmt: skip
            answer = tl.load(
                to_answer + place[:, None] * hyp + k[None, :], mask=there[:, None] & real_k[None, :], other=0.0
            )
            question = tl.load(to_question + place, mask=there, other=0.0)
            answer_weight = tl.load(match_weight + offset * filters, mask=real_f, other=0.0).to(tl.float32)
            question_weight = tl.load(match_weight + (WIDTH + offset) * filters, mask=real_f, other=0.0).to(tl.float32)
            shared = product.to(tl.float32) + question.to(tl.float32)[:, None] * question_weight[None, :]
            value += shared[:, None, :] + answer.to(tl.float32)[:, :, None] * answer_weight[None, None, :]
        value = tl.where((window < windows)[:, None, None], value, 0.0)
        largest, which = tl.max(value, axis=0, return_indices=True)
        at = tl.where(largest > best, first + which, at)
        best = tl.maximum(largest, best)
    to = ((text * hyp + k[:, None]) * sentences + tl.program_id(0)) * filters + f[None, :]
    real = real_k[:, None] & real_f[None, :]
    tl.store(pooled + to, best, mask=real)
    tl.store(window_of + to, at, mask=real)


@triton.jit(do_not_specialize=LENGTHS)
def backward_kernel(
    grads, window_of, to_answer, to_question, match_weight, sentence_length,
    of_products, of_answer, of_question, of_weights, doc,
    hyp, sentences, filters,
    HYP: tl.constexpr, FILT: tl.constexpr, SENT: tl.constexpr, TILE: tl.constexpr, WIDTH: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Writes the gradients of the sentence's words, and its part of the weights': of M's rows, then of the bias."""
    text, begin, length = share_of_program(sentence_length, sentences, SENT)
    k, f = tl.arange(0, HYP), tl.arange(0, FILT)
    real_k, real_f = k < hyp, f < filters
    real = real_k[:, None] & real_f[None, :]
    reach = WIDTH - 1 if WIDE else 0
    match_weight += tl.program_id(2) * 2 * WIDTH * filters + f
    of_weights += (text * sentences + tl.program_id(0)) * (2 * WIDTH + 1) * filters + f
    source = ((text * hyp + k[:, None]) * sentences + tl.program_id(0)) * filters + f[None, :]
    at = tl.load(window_of + source, mask=real, other=-1)
    grad = tl.load(grads + source, mask=real & (at >= 0), other=0.0).to(tl.float32)
    for offset in tl.static_range(WIDTH):
        largest_word = at - reach + offset
        inside = (at >= 0) & (largest_word >= 0) & (largest_word < length)
        spot = text * doc + begin + largest_word
        answer = tl.load(to_answer + spot * hyp + k[:, None], mask=inside, other=0.0).to(tl.float32)
        question = tl.load(to_question + spot, mask=inside, other=0.0).to(tl.float32)
        tl.store(of_weights + offset * filters, tl.sum(grad * answer, axis=0), mask=real_f)
        tl.store(of_weights + (WIDTH + offset) * filters, tl.sum(grad * question, axis=0), mask=real_f)
    tl.store(of_weights + 2 * WIDTH * filters, tl.sum(grad, axis=0), mask=real_f)

    for first in range(0, length, TILE):
        word = first + tl.arange(0, TILE)
        there = word < length
        place = text * doc + begin + word
        to_each_answer = tl.zeros([TILE, HYP], tl.float32)
        to_the_question = tl.zeros([TILE], tl.float32)
        for offset in tl.static_range(WIDTH):
            window = word + reach - offset
            given = tl.where(
                (at[None, :, :] == window[:, None, None]) & (window >= 0)[:, None, None], grad[None, :, :], 0.0
            )
            answer_weight = tl.load(match_weight + offset * filters, mask=real_f, other=0.0).to(tl.float32)
            question_weight = tl.load(match_weight + (WIDTH + offset) * filters, mask=real_f, other=0.0).to(tl.float32)
            to_filter = tl.sum(given, axis=1)
            tl.store(
                of_products + (place * WIDTH + offset)[:, None] * filters + f[None, :], to_filter,
                mask=there[:, None] & real_f[None, :],
            )  # fmt: skip
            to_each_answer += tl.sum(given * answer_weight[None, None, :], axis=2)
            to_the_question += tl.sum(to_filter * question_weight[None, :], axis=1)
        tl.store(of_answer + place[:, None] * hyp + k[None, :], to_each_answer, mask=there[:, None] & real_k[None, :])
        tl.store(of_question + place, to_the_question, mask=there)
