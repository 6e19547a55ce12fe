"""A GRU's chain of steps as one kernel: what `torch.nn.GRU` computes, in both directions and for several readers at once."""

# ruff: noqa: N803, N806
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from epireader.layers.fused.chain import (
    WARPS,
    fetch,
    half,
    half_scale,
    hear,
    mailbox,
    packed,
    parts_of,
    rows_at_once,
    rows_of,
    sigmoid,
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
    new_bias: Float[Tensor, "reader way hid"],
    lengths: Int[Tensor, "reader batch"],
) -> tuple[Float[Tensor, "reader batch n way hid"], Float[Tensor, "reader batch way hid"]]:
    """The state after every word, and after the last: the second way reads each row from its last word to its first.

    `gates` is what the input gives the reset, update and new gates, with all biases but `new_bias`, the new gate's
    recurrent one. The states of padding are zero.
    """
    readers, batch, _, ways, _ = gates.shape
    most = rows_at_once(gates.device, parts_of(weights.shape[-1]), readers * ways)
    if batch <= most:
        return FusedGRU.apply(gates, weights, new_bias, lengths)  # type: ignore[no-any-return]
    pieces = [
        FusedGRU.apply(gates[:, at : at + most], weights, new_bias, lengths[:, at : at + most])
        for at in range(0, batch, most)
    ]
    return torch.cat([states for states, _ in pieces], dim=1), torch.cat([final for _, final in pieces], dim=1)


class FusedGRU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, weights: Tensor, new_bias: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        readers, batch, words, ways, _ = gates.shape
        hidden = weights.shape[-1]
        parts, learns = parts_of(hidden), any(ctx.needs_input_grad)
        rows = rows_of(gates.device, batch, parts * ways * readers)
        blocks = -(-batch // rows)
        weights, lengths = weights.contiguous(), lengths.to(torch.int32).contiguous()
        states = gates.new_zeros(readers, batch, words, ways, hidden)
        final = gates.new_empty(readers, batch, ways, hidden)
        saved = torch.empty_like(states, dtype=torch.int64) if learns else gates.new_empty(1, dtype=torch.int64)
        forward_kernel[(blocks * parts, ways, readers)](
            gates.contiguous(), weights, new_bias.contiguous(), lengths, states, final, saved,
            mailbox(states, blocks, rows, 1), batch, words, hidden, parts, rows, ways, learns, num_warps=WARPS,
        )  # fmt: skip
        ctx.save_for_backward(weights, lengths, states, saved)
        return states, final

    @staticmethod
    def backward(ctx: Any, state_grads: Tensor, final_grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        weights, lengths, states, saved = ctx.saved_tensors
        readers, batch, words, ways, hidden = states.shape
        parts = parts_of(hidden)
        rows = rows_of(states.device, batch, parts * ways * readers)
        blocks = -(-batch // rows)
        gate_grads = states.new_zeros(readers, batch, words, ways, 3 * hidden)
        new_grads = torch.zeros_like(states)
        backward_kernel[(blocks * parts, ways, readers)](
            state_grads.contiguous(), final_grads.contiguous(), states, saved, weights, lengths,
            half_scale(state_grads, final_grads), gate_grads, new_grads, mailbox(states, blocks, rows, 3),
            batch, words, hidden, parts, rows, ways, num_warps=WARPS,
        )  # fmt: skip
        recurrent = torch.cat(
            [weight_grads(gate_grads[..., : 2 * hidden], states), weight_grads(new_grads, states)], dim=2
        )
        return gate_grads, recurrent.to(weights.dtype), new_grads.sum(dim=(1, 2), dtype=weights.dtype), None


@triton.jit
def forward_kernel(
    gates, weights, new_bias, lengths, states, final, saved, mailbox, batch, words,
    HIDDEN: tl.constexpr, PARTS: tl.constexpr, ROWS: tl.constexpr, WAYS: tl.constexpr, SAVE: tl.constexpr,
):  # fmt: skip
    UNITS: tl.constexpr = HIDDEN // PARTS
    block, part = tl.program_id(0) // PARTS, tl.program_id(0) % PARTS
    way, reader = tl.program_id(1), tl.program_id(2)
    within = tl.arange(0, ROWS)
    row = block * ROWS + within
    source = tl.arange(0, HIDDEN)
    unit = part * UNITS + tl.arange(0, UNITS)
    there = row < batch
    length = tl.load(lengths + reader * batch + row, mask=there, other=0)
    longest = tl.max(length)
    weights += (reader * WAYS + way) * 3 * HIDDEN * HIDDEN
    to_reset = weights_to(weights, 0, unit, source, HIDDEN)
    to_update = weights_to(weights, 1, unit, source, HIDDEN)
    to_new = weights_to(weights, 2, unit, source, HIDDEN)
    bias = tl.load(new_bias + (reader * WAYS + way) * HIDDEN + unit).to(tl.float32)[:, None]
    text = (reader * batch + row).to(tl.int64) * words
    blocks = tl.num_programs(0) // PARTS
    mailbox += ((reader * WAYS + way) * blocks + block).to(tl.int64) * words * ROWS * HIDDEN

    state = tl.zeros([UNITS, ROWS], tl.float32)
    everyone = tl.zeros([HIDDEN, ROWS], tl.float16)
    for t in tl.range(0, longest, num_stages=3):
        live = (t < length)[None, :]
        spot = (text + tl.where(way == 1, length - 1 - t, t)) * WAYS + way
        at = spot[None, :] * HIDDEN + unit[:, None]
        given = gates + (spot * 3 * HIDDEN)[None, :] + unit[:, None]
        in_reset = fetch(given, live)
        in_update = fetch(given + HIDDEN, live)
        in_new = fetch(given + 2 * HIDDEN, live)

        reset = sigmoid(tl.dot(to_reset, everyone, in_reset))
        update = sigmoid(tl.dot(to_update, everyone, in_update))
        from_state = tl.dot(to_new, everyone) + bias
        new = tanh(in_new + reset * from_state)
        state = tl.where(live, new + update * (state - new), state)
        if PARTS == 1:
            everyone = state.to(tl.float16)
        else:
            slot = mailbox + t.to(tl.int64) * ROWS * HIDDEN
            tell(slot, state, within, unit, HIDDEN)
            everyone = hear(slot, within, source, HIDDEN)
        tl.store(states + at, state, mask=live)
        if SAVE:
            tl.store(saved + at, packed(reset, update, new, from_state), mask=live)
    end = ((reader * batch + row) * WAYS + way)[None, :] * HIDDEN + unit[:, None]
    tl.store(final + end, state, mask=there[None, :])


@triton.jit
def backward_kernel(
    state_grads, final_grads, states, saved, weights, lengths, scale, gate_grads, new_grads, mailbox, batch, words,
    HIDDEN: tl.constexpr, PARTS: tl.constexpr, ROWS: tl.constexpr, WAYS: tl.constexpr,
):  # fmt: skip
    """The gradients of what the input gave the gates, and (`new_grads`) of what the state gave the new value.

    Inside, gradients are multiplied by `scale`.
    """
    UNITS: tl.constexpr = HIDDEN // PARTS
    block, part = tl.program_id(0) // PARTS, tl.program_id(0) % PARTS
    way, reader = tl.program_id(1), tl.program_id(2)
    within = tl.arange(0, ROWS)
    row = block * ROWS + within
    source = tl.arange(0, HIDDEN)
    unit = part * UNITS + tl.arange(0, UNITS)
    there = row < batch
    length = tl.load(lengths + reader * batch + row, mask=there, other=0)
    longest = tl.max(length)
    up = tl.load(scale + reader)
    down = 1.0 / up
    weights += (reader * WAYS + way) * 3 * HIDDEN * HIDDEN
    from_reset = weights_back(weights, 0, unit, source, HIDDEN)
    from_update = weights_back(weights, 1, unit, source, HIDDEN)
    from_new = weights_back(weights, 2, unit, source, HIDDEN)
    text = (reader * batch + row).to(tl.int64) * words
    blocks = tl.num_programs(0) // PARTS
    mailbox += ((reader * WAYS + way) * blocks + block).to(tl.int64) * words * 3 * ROWS * HIDDEN

    to_earlier = tl.where(way == 1, WAYS * HIDDEN, -WAYS * HIDDEN)
    end = ((reader * batch + row) * WAYS + way)[None, :] * HIDDEN + unit[:, None]
    carried = fetch(final_grads + end, there[None, :]) * up
    for back in tl.range(0, longest, num_stages=3):
        t = longest - 1 - back
        live = (t < length)[None, :]
        spot = (text + tl.where(way == 1, length - 1 - t, t)) * WAYS + way
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
        if PARTS == 1:
            all_reset = half(to_reset)
            all_update = half(to_update)
            all_new = half(through)
        else:
            slot = mailbox + back.to(tl.int64) * 3 * ROWS * HIDDEN
            tell(slot, to_reset, within, unit, HIDDEN)
            tell(slot + ROWS * HIDDEN, to_update, within, unit, HIDDEN)
            tell(slot + 2 * ROWS * HIDDEN, through, within, unit, HIDDEN)
            all_reset = hear(slot, within, source, HIDDEN)
            all_update = hear(slot + ROWS * HIDDEN, within, source, HIDDEN)
            all_new = hear(slot + 2 * ROWS * HIDDEN, within, source, HIDDEN)
        to_earlier_state = tl.dot(from_reset, all_reset, grad * update)
        to_earlier_state = tl.dot(from_update, all_update, to_earlier_state)
        to_earlier_state = tl.dot(from_new, all_new, to_earlier_state)
        carried = tl.where(live, to_earlier_state, carried)
        to = gate_grads + (spot * 3 * HIDDEN)[None, :] + unit[:, None]
        tl.store(to, to_reset * down, mask=live)
        tl.store(to + HIDDEN, to_update * down, mask=live)
        tl.store(to + 2 * HIDDEN, to_new * down, mask=live)
        tl.store(new_grads + at, through * down, mask=live)
