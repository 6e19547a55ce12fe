"""All looks of the Impatient Reader at a passage as one kernel: what `layers/looks.py` computes, for several readers at once.

One program looks for one question, from its first word to its last. What it has gathered stays with it; the passage
and the weights come by block after block, in half precision (as precise as TF32), so a look is one pass over the
passage. Everything is summed in single precision.

Backwards, a second kernel goes from the last look to the first. It keeps only what the earlier look needs and writes down
the rest; the gradients of weights and states are then large matrix products. The words' gradients are no product (each look
adds its own tanh), but no look waits for another there either: a third kernel takes all blocks of words at once.
"""

# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from epireader.layers.fused.chain import WARPS, as_readers, tanh

LOWEST = tl.constexpr(-1e30)
LENGTHS = ["batch", "doc", "asked"]
"""What differs from batch to batch: kernels are not compiled anew for it."""


def fused_looks(
    words: Float[Tensor, "reader batch doc hid"],
    states: Float[Tensor, "reader batch doc hid"],
    questions: Float[Tensor, "reader batch q hid"],
    weights: Float[Tensor, "reader two hid hid"],
    score: Float[Tensor, "reader hid"],
    nothing: Float[Tensor, "reader hid"],
    lengths: Int[Tensor, "reader batch two"],
) -> tuple[Float[Tensor, "reader batch hid"], Float[Tensor, "reader batch doc"]]:
    """What was gathered after the last word of each question, and the scores of that last look, 0 for padding.

    `weights` are those from what was gathered to what is looked for, and to what is kept; `lengths` those of passage and
    question.
    """
    gathered, scores, *_ = FusedLooks.apply(words, states, questions, weights, score, nothing, lengths)
    return gathered, scores


class FusedLooks(torch.autograd.Function):
    """Also gives what the backward pass needs: all of it is small beside the passage."""

    @staticmethod
    def forward(
        words: Tensor,
        states: Tensor,
        questions: Tensor,
        weights: Tensor,
        score: Tensor,
        nothing: Tensor,
        lengths: Tensor,
    ) -> tuple[Tensor, ...]:
        readers, batch, doc, width = words.shape
        after = torch.zeros(questions.shape, dtype=torch.float32, device=words.device)
        wanted, kept = torch.empty_like(after), torch.empty_like(after)
        gathered, last = after.new_empty(readers, batch, width), after.new_zeros(readers, batch, doc)
        scores, totals = after.new_empty(*after.shape[:3], doc), after.new_empty(after.shape[:3])
        forward_kernel[batch, readers](
            *halves(words, states, weights), questions.contiguous(), score.contiguous(), nothing.contiguous(),
            lengths.int().contiguous(), gathered, last, after, wanted, kept, scores, totals,
            batch, doc, questions.shape[2], width, block_of(width), num_warps=WARPS,
        )  # fmt: skip
        return gathered, last, after, wanted, kept, scores, totals

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        words, states, _, weights, score, nothing, lengths = inputs
        ctx.mark_non_differentiable(*output[2:])
        ctx.save_for_backward(words, states, weights, score, nothing, lengths, *output[2:])

    @staticmethod
    def backward(ctx: Any, gathered_grads: Tensor, last_grads: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        words, states, weights, score, nothing, lengths, after, wanted, kept, scores, totals = ctx.saved_tensors
        readers, batch, doc, width = words.shape
        sizes = batch, doc, after.shape[2], width, block_of(width)
        half_words, half_states, back = halves(words, states, weights.mT)
        lengths, score = lengths.int().contiguous(), score.contiguous()
        attention, score_grads = torch.zeros_like(scores), torch.empty_like(scores)
        look_grads, wanted_grads, kept_grads = (torch.zeros_like(after) for _ in range(3))
        carried = gathered_grads.clone(memory_format=torch.contiguous_format)
        backward_kernel[batch, readers](
            half_words, half_states, back, score, lengths, last_grads.contiguous(), after, wanted, kept, scores, totals,
            carried, attention, score_grads, look_grads, wanted_grads, kept_grads, *sizes, num_warps=WARPS,
        )  # fmt: skip
        word_grads = after.new_empty(words.shape)
        blocks = triton.cdiv(doc, block_of(width))
        partial = word_grads.new_empty(readers, batch, blocks, width)
        words_kernel[batch, readers, blocks](
            half_words, score, lengths, wanted, score_grads, word_grads, partial, *sizes, num_warps=WARPS
        )
        before = torch.cat([nothing[:, None, None].expand(-1, batch, -1, -1), after], dim=2)[:, :, :-1]
        to_weights = [grads.flatten(1, 2).mT @ before.flatten(1, 2) for grads in (wanted_grads, kept_grads)]
        to_score, to_nothing = partial.sum(dim=(1, 2)), carried.sum(dim=1)
        to_states = attention.mT @ look_grads
        return word_grads, to_states, wanted_grads, torch.stack(to_weights, dim=1), to_score, to_nothing, None

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *inputs: Any) -> tuple[Any, Any]:
        outputs = FusedLooks.apply(*as_readers(info.batch_size, dims, inputs))
        return tuple(output.unflatten(0, (info.batch_size, -1)) for output in outputs), (0,) * len(outputs)


def halves(*tensors: Tensor) -> list[Tensor]:
    """What is read once for every word of a question, in half precision."""
    return [tensor.half().contiguous() for tensor in tensors]


def block_of(width: int) -> int:
    """How many words of the passage, or rows of the weights, a program takes at once."""
    return min(width, 8192 // width)


@triton.jit(do_not_specialize=LENGTHS)
def forward_kernel(
    words, states, weights, questions, score_weights, nothing, lengths,
    gathered, last, after, wanted, kept, scores, totals,
    batch, doc, asked, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, unit, passage_length, question_length = share_of_program(lengths, batch, WIDTH)
    reader = tl.program_id(1)
    weights += reader * 2 * WIDTH * WIDTH
    weigh = tl.load(score_weights + reader * WIDTH + unit).to(tl.float32)[None, :]
    now = tl.load(nothing + reader * WIDTH + unit).to(tl.float32)
    words += row * doc * WIDTH
    states += row * doc * WIDTH

    for look in range(question_length):
        at = (row * asked + look) * WIDTH
        for start in tl.range(0, WIDTH, BLOCK, num_stages=2):
            to = start + tl.arange(0, BLOCK)
            given = tl.load(questions + at + to).to(tl.float32)
            tl.store(wanted + at + to, given + product(weights, to, now, WIDTH))
            tl.store(kept + at + to, tanh(product(weights + WIDTH * WIDTH, to, now, WIDTH)))
        tl.debug_barrier()  # every part of the products is there
        looked_for = tl.load(wanted + at + unit)[None, :]

        # Each place in a block has a softmax of its own, so that blocks need not wait for each other's largest score.
        largest = tl.full([BLOCK], LOWEST, tl.float32)
        total = tl.zeros([BLOCK], tl.float32)
        gained = tl.zeros([BLOCK, WIDTH], tl.float32)
        for start in tl.range(0, passage_length, BLOCK, num_stages=3):
            word, live, place = words_of_block(start, unit, passage_length, WIDTH, BLOCK)
            match = tanh(fetch_block(words + place, live) + looked_for)
            score = tl.sum(match * weigh, axis=1)
            tl.store(scores + (row * asked + look) * doc + word, score, mask=live)
            tl.store(last + row * doc + word, score, mask=live & (look == question_length - 1))
            new_largest = tl.where(live, tl.maximum(largest, score), largest)
            share = tl.where(live, tl.exp(score - new_largest), 0.0)
            fade = tl.exp(largest - new_largest)
            total = total * fade + share
            gained = gained * fade[:, None] + share[:, None] * fetch_block(states + place, live)
            largest = new_largest
        top = tl.max(largest)
        fade = tl.exp(largest - top)
        sum_of_all = tl.maximum(tl.sum(total * fade), 1e-30)  # a passage may be empty
        seen = tl.sum(gained * (fade / sum_of_all)[:, None], axis=0)
        now = seen + tl.load(kept + at + unit)
        tl.store(after + at + unit, now)
        tl.store(totals + row * asked + look, top + tl.log(sum_of_all))
    tl.store(gathered + row * WIDTH + unit, now)


@triton.jit(do_not_specialize=LENGTHS)
def backward_kernel(
    words, states, weights, score_weights, lengths, last_grads, after, wanted, kept, scores, totals,
    carried, attention, score_grads, look_grads, wanted_grads, kept_grads,
    batch, doc, asked, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The gradients of each look's scores, of what it brought, of what was looked for and what was kept (before the tanh).

    `weights` are turned around. `carried` is the gradient of what has been gathered, at first at the end of the question
    and at last at its beginning.
    """
    row, unit, passage_length, question_length = share_of_program(lengths, batch, WIDTH)
    weights += tl.program_id(1) * 2 * WIDTH * WIDTH
    weigh = tl.load(score_weights + tl.program_id(1) * WIDTH + unit).to(tl.float32)
    words += row * doc * WIDTH
    states += row * doc * WIDTH
    carried += row * WIDTH

    for back in range(question_length):
        look = question_length - 1 - back
        at = (row * asked + look) * WIDTH
        of_look = (row * asked + look) * doc
        grad = tl.load(carried + unit).to(tl.float32)
        keep = tl.load(kept + at + unit)
        mean = tl.sum(grad * (tl.load(after + at + unit) - keep))
        to_kept = grad * (1.0 - keep * keep)
        tl.store(look_grads + at + unit, grad)
        tl.store(kept_grads + at + unit, to_kept)
        looked_for = tl.load(wanted + at + unit)[None, :]
        log_total = tl.load(totals + row * asked + look)

        slopes = tl.zeros([BLOCK, WIDTH], tl.float32)
        for start in tl.range(0, passage_length, BLOCK, num_stages=3):
            word, live, place = words_of_block(start, unit, passage_length, WIDTH, BLOCK)
            share = tl.exp(tl.load(scores + of_look + word, mask=live, other=LOWEST) - log_total)
            given = tl.load(last_grads + row * doc + word, mask=live & (back == 0), other=0.0).to(tl.float32)
            brought = tl.sum(fetch_block(states + place, live) * grad[None, :], axis=1)
            to_score = tl.where(live, share * (brought - mean) + given, 0.0)
            match = tanh(fetch_block(words + place, live) + looked_for)
            slopes += to_score[:, None] * (1.0 - match * match)
            tl.store(attention + of_look + word, share, mask=live)
            tl.store(score_grads + of_look + word, to_score, mask=live)
        to_wanted = tl.sum(slopes, axis=0) * weigh
        tl.store(wanted_grads + at + unit, to_wanted)
        for start in tl.range(0, WIDTH, BLOCK, num_stages=2):
            to = start + tl.arange(0, BLOCK)
            through_wanted = product(weights, to, to_wanted, WIDTH)
            tl.store(carried + to, through_wanted + product(weights + WIDTH * WIDTH, to, to_kept, WIDTH))
        tl.debug_barrier()


@triton.jit(do_not_specialize=LENGTHS)
def words_kernel(
    words, score_weights, lengths, wanted, score_grads, word_grads, weigh_grads,
    batch, doc, asked, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The gradients of a block of words, and its part of those of the weights of the score."""
    row, unit, passage_length, question_length = share_of_program(lengths, batch, WIDTH)
    number = tl.program_id(2)
    weigh = tl.load(score_weights + tl.program_id(1) * WIDTH + unit).to(tl.float32)[None, :]
    word, live, place = words_of_block(number * BLOCK, unit, passage_length, WIDTH, BLOCK)
    block = fetch_block(words + row * doc * WIDTH + place, live)
    slopes = tl.zeros([BLOCK, WIDTH], tl.float32)
    matches = tl.zeros([BLOCK, WIDTH], tl.float32)
    for look in tl.range(0, question_length, num_stages=3):
        looked_for = tl.load(wanted + (row * asked + look) * WIDTH + unit)[None, :]
        grad = tl.load(score_grads + (row * asked + look) * doc + word, mask=live, other=0.0)[:, None]
        match = tanh(block + looked_for)
        slopes += grad * (1.0 - match * match)
        matches += grad * match
    tl.store(word_grads + row * doc * WIDTH + place, slopes * weigh, mask=(word < doc)[:, None])
    tl.store(weigh_grads + (row * tl.num_programs(2) + number) * WIDTH + unit, tl.sum(matches, axis=0))


@triton.jit
def share_of_program(lengths, batch, WIDTH: tl.constexpr):
    """What a program reads: its question, all units, and how many words its passage and its question have."""
    row = (tl.program_id(1) * batch + tl.program_id(0)).to(tl.int64)
    return row, tl.arange(0, WIDTH), tl.load(lengths + 2 * row), tl.load(lengths + 2 * row + 1)


@triton.jit
def product(weights, to, values, WIDTH: tl.constexpr):
    """Some rows of the weights, each times all values."""
    place = to[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    return tl.sum(tl.load(weights + place).to(tl.float32) * values[None, :], axis=1)


@triton.jit
def words_of_block(start, unit, length, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """The words from `start` on, which of them the passage has, and where their values stand."""
    word = start + tl.arange(0, BLOCK)
    return word, word < length, word[:, None] * WIDTH + unit[None, :]


@triton.jit
def fetch_block(place, live):
    return tl.load(place, mask=live[:, None], other=0.0).to(tl.float32)
