"""A GRU's chain of steps as one kernel: what `torch.nn.GRU` computes, in both directions and for several readers at once."""

# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from epireader.layers.fused.chain import (
    as_readers,
    earlier_states,
    everyones,
    everyones_three,
    fetch,
    half_scale,
    largest,
    launches,
    mailbox,
    outside_grads,
    packed,
    share_of_program,
    sigmoid,
    spot_of,
    tanh,
    tell,
    unpacked,
    weight_grads,
    weights_back,
    weights_to,
)


def fused_gru(
    gates: Float[Tensor, "reader batch n way three_hid"],
    weights: Float[Tensor, "reader way three_hid hid"],
    biases: Float[Tensor, "reader way two three_hid"],
    lengths: Int[Tensor, "reader batch"],
) -> tuple[Float[Tensor, "reader batch n way hid"], Float[Tensor, "reader batch way hid"]]:
    """The state after every word, and after the last: the second way reads each row from its last word to its first.

    `gates` is what the input gives the reset, update and new gates, without their biases: the input's and the state's.
    The states of padding are zero.
    """
    states, final, _ = FusedGRU.apply(gates, weights, biases, lengths, torch.is_grad_enabled())
    return states, final


class FusedGRU(torch.autograd.Function):
    """Also gives what the backward pass needs, where the result will be learnt from."""

    @staticmethod
    def forward(
        gates: Tensor, weights: Tensor, biases: Tensor, lengths: Tensor, learns: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        readers, batch, words, ways, _ = gates.shape
        hidden = weights.shape[-1]
        states = gates.new_zeros(readers, batch, words, ways, hidden)
        final = gates.new_empty(readers, batch, ways, hidden)
        saved = torch.empty_like(states, dtype=torch.int64) if learns else gates.new_empty(readers, dtype=torch.int64)
        given = [gates.contiguous(), weights.contiguous(), biases.contiguous(), lengths.int().contiguous()]
        for launch in launches(states):
            forward_kernel[launch.grid](
                *given, states, final, saved, mailbox(states, launch, 1),
                launch.first, launch.last, batch, words,
                hidden, launch.parts, launch.rows, ways, learns, num_warps=launch.warps,
            )  # fmt: skip
        return states, final, saved

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
        _, weights, _, lengths, _ = inputs
        states, _, saved = output
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(saved)
        ctx.save_for_backward(weights, lengths, states, saved)

    @staticmethod
    def backward(ctx: Any, state_grads: Tensor | None, final_grads: Tensor | None, _: Any) -> tuple[Tensor | None, ...]:
        weights, lengths, states, saved = ctx.saved_tensors
        _, batch, words, ways, hidden = states.shape
        gate_grads = states.new_zeros(*states.shape[:-1], 3 * hidden)
        new_grads = torch.zeros_like(states)
        given = [*outside_grads(states, state_grads, final_grads), states, saved, weights.contiguous()]
        for launch in launches(states):
            backward_kernel[launch.grid](
                *given, lengths.int().contiguous(), largest(state_grads, final_grads), gate_grads, new_grads,
                mailbox(states, launch, 3), launch.first, launch.last, batch, words,
                hidden, launch.parts, launch.rows, ways, num_warps=launch.warps,
            )  # fmt: skip
        opening, earlier = gate_grads[..., : 2 * hidden], earlier_states(states)
        recurrent = torch.cat([weight_grads(opening, earlier), weight_grads(new_grads, earlier)], dim=2)
        of_input, of_new = (grads.sum(dim=(1, 2), dtype=weights.dtype) for grads in (gate_grads, new_grads))
        of_biases = torch.cat([of_input, of_input[..., : 2 * hidden], of_new], dim=-1).unflatten(-1, (2, -1))
        return gate_grads, recurrent.to(weights.dtype), of_biases, None, None

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *inputs: Any) -> tuple[Any, Any]:
        outputs = FusedGRU.apply(*as_readers(info.batch_size, dims[:4], inputs[:4]), inputs[4])
        return tuple(output.unflatten(0, (info.batch_size, -1)) for output in outputs), (0, 0, 0)


@triton.jit
def forward_kernel(
    gates, weights, biases, lengths, states, final, saved, mailbox, first, last, batch, words,
    HIDDEN: tl.constexpr, PARTS: tl.constexpr, ROWS: tl.constexpr, WAYS: tl.constexpr, SAVE: tl.constexpr,
):  # fmt: skip
    row, unit, source, length, text, chain, box = share_of_program(
        lengths, first, last, batch, words, HIDDEN, PARTS, ROWS
    )
    there = (row < last)[None, :]
    longest = tl.max(length)
    weights += chain * 3 * HIDDEN * HIDDEN
    to_reset = weights_to(weights, 0, unit, source, HIDDEN)
    to_update = weights_to(weights, 1, unit, source, HIDDEN)
    to_new = weights_to(weights, 2, unit, source, HIDDEN)
    of_input = biases + chain * 6 * HIDDEN + unit
    of_state = of_input + 3 * HIDDEN
    reset_bias = (tl.load(of_input) + tl.load(of_state)).to(tl.float32)[:, None]
    update_bias = (tl.load(of_input + HIDDEN) + tl.load(of_state + HIDDEN)).to(tl.float32)[:, None]
    new_bias = tl.load(of_input + 2 * HIDDEN).to(tl.float32)[:, None]
    bias = tl.load(of_state + 2 * HIDDEN).to(tl.float32)[:, None]
    mailbox += box * ROWS * HIDDEN

    state = tl.zeros([HIDDEN // PARTS, ROWS], tl.float32)
    everyone = tl.zeros([HIDDEN, ROWS], tl.float16)
    for t in tl.range(0, longest, num_stages=3):
        live = (t < length)[None, :]
        spot = spot_of(text, words, length, t, WAYS)
        at = spot[None, :] * HIDDEN + unit[:, None]
        given = gates + (spot * 3 * HIDDEN)[None, :] + unit[:, None]
        in_reset = fetch(given, live) + reset_bias
        in_update = fetch(given + HIDDEN, live) + update_bias
        in_new = fetch(given + 2 * HIDDEN, live) + new_bias

        reset = sigmoid(tl.dot(to_reset, everyone, in_reset))
        update = sigmoid(tl.dot(to_update, everyone, in_update))
        from_state = tl.dot(to_new, everyone) + bias
        new = tanh(in_new + reset * from_state)
        state = tl.where(live, new + update * (state - new), state)
        tell(mailbox, state, unit, HIDDEN, PARTS, ROWS)
        tl.store(states + at, state, mask=live)
        if SAVE:
            tl.store(saved + at, packed(reset, update, new, from_state), mask=live)
        everyone = everyones(mailbox, state, source, HIDDEN, PARTS, ROWS)
        mailbox += ROWS * HIDDEN
    end = (text * WAYS + tl.program_id(1))[None, :] * HIDDEN + unit[:, None]
    tl.store(final + end, state, mask=there)


@triton.jit
def backward_kernel(
    state_grads, final_grads, states, saved, weights, lengths, largest, gate_grads, new_grads, mailbox, first, last, batch, words,
    HIDDEN: tl.constexpr, PARTS: tl.constexpr, ROWS: tl.constexpr, WAYS: tl.constexpr,
):  # fmt: skip
    """The gradients of what the input gave the gates, and (`new_grads`) of what the state gave the new value.

    Inside, gradients are multiplied by `half_scale`.
    """
    row, unit, source, length, text, chain, box = share_of_program(
        lengths, first, last, batch, words, HIDDEN, PARTS, ROWS
    )
    there = (row < last)[None, :]
    longest = tl.max(length)
    up = half_scale(largest)
    down = 1.0 / up
    weights += chain * 3 * HIDDEN * HIDDEN
    from_reset = weights_back(weights, 0, unit, source, HIDDEN)
    from_update = weights_back(weights, 1, unit, source, HIDDEN)
    from_new = weights_back(weights, 2, unit, source, HIDDEN)
    mailbox += box * 3 * ROWS * HIDDEN

    to_earlier = tl.where(tl.program_id(1) == 1, WAYS * HIDDEN, -WAYS * HIDDEN)
    end = (text * WAYS + tl.program_id(1))[None, :] * HIDDEN + unit[:, None]
    carried = fetch(final_grads + end, there) * up
    for back in tl.range(0, longest, num_stages=3):
        t = longest - 1 - back
        live = (t < length)[None, :]
        spot = spot_of(text, words, length, t, WAYS)
        at = spot[None, :] * HIDDEN + unit[:, None]
        kept = tl.load(saved + at, mask=live, other=0)
        reset, update = unpacked(kept, 0), unpacked(kept, 1)
        new, from_state = unpacked(kept, 2), unpacked(kept, 3)
        earlier = fetch(states + at + to_earlier, live & (t > 0))
        given = fetch(state_grads + at, live)

        grad = carried + given * up
        to_new = grad * (1.0 - update) * (1.0 - new * new)
        to_update = grad * (earlier - new) * update * (1.0 - update)
        to_reset = to_new * from_state * reset * (1.0 - reset)
        through = to_new * reset
        tell(mailbox, to_reset, unit, HIDDEN, PARTS, ROWS)
        tell(mailbox + ROWS * HIDDEN, to_update, unit, HIDDEN, PARTS, ROWS)
        tell(mailbox + 2 * ROWS * HIDDEN, through, unit, HIDDEN, PARTS, ROWS)
        to = gate_grads + (spot * 3 * HIDDEN)[None, :] + unit[:, None]
        tl.store(to, to_reset * down, mask=live)
        tl.store(to + HIDDEN, to_update * down, mask=live)
        tl.store(to + 2 * HIDDEN, to_new * down, mask=live)
        tl.store(new_grads + at, through * down, mask=live)
        all_reset, all_update, all_new = everyones_three(
            mailbox, to_reset, to_update, through, source, HIDDEN, PARTS, ROWS
        )
        mailbox += 3 * ROWS * HIDDEN
        to_earlier_state = tl.dot(from_reset, all_reset, grad * update)
        to_earlier_state = tl.dot(from_update, all_update, to_earlier_state)
        to_earlier_state = tl.dot(from_new, all_new, to_earlier_state)
        carried = tl.where(live, to_earlier_state, carried)
