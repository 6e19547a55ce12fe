"""An LSTM's chain of steps as one kernel: what `torch.nn.LSTM` computes, in both directions and for several readers at once."""

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


def fused_lstm(
    gates: Float[Tensor, "reader batch n way four_hid"],
    weights: Float[Tensor, "reader way four_hid hid"],
    lengths: Int[Tensor, "reader batch"],
) -> tuple[Float[Tensor, "reader batch n way hid"], Float[Tensor, "reader batch way hid"]]:
    """The state after every word, and after the last: the second way reads each row from its last word to its first.

    `gates` is what the input gives the input, forget, cell and output gates, with all biases. The states of padding are
    zero.
    """
    states, final, _, _ = FusedLSTM.apply(gates, weights, lengths, torch.is_grad_enabled())
    return states, final


class FusedLSTM(torch.autograd.Function):
    """Also gives what the backward pass needs, where the result will be learnt from."""

    @staticmethod
    def forward(gates: Tensor, weights: Tensor, lengths: Tensor, learns: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        readers, batch, words, ways, _ = gates.shape
        hidden = weights.shape[-1]
        states = gates.new_zeros(readers, batch, words, ways, hidden)
        final = gates.new_empty(readers, batch, ways, hidden)
        cells = torch.empty_like(states, dtype=torch.float) if learns else gates.new_empty(readers)
        saved = torch.empty_like(states, dtype=torch.int64) if learns else gates.new_empty(readers, dtype=torch.int64)
        given = [gates.contiguous(), weights.contiguous(), lengths.int().contiguous()]
        for launch in launches(states):
            forward_kernel[launch.grid](
                *given, states, final, cells, saved, mailbox(states, launch, 1),
                launch.first, launch.last, batch, words,
                hidden, launch.parts, launch.rows, ways, learns, num_warps=launch.warps,
            )  # fmt: skip
        return states, final, cells, saved

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
        _, weights, lengths, _ = inputs
        states, _, cells, saved = output
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(cells, saved)
        ctx.save_for_backward(weights, lengths, states, cells, saved)

    @staticmethod
    def backward(
        ctx: Any, state_grads: Tensor | None, final_grads: Tensor | None, *_: Any
    ) -> tuple[Tensor | None, ...]:
        weights, lengths, states, cells, saved = ctx.saved_tensors
        _, batch, words, ways, hidden = states.shape
        gate_grads = states.new_zeros(*states.shape[:-1], 4 * hidden)
        given = [*outside_grads(states, state_grads, final_grads), cells, saved, weights.contiguous()]
        for launch in launches(states):
            backward_kernel[launch.grid](
                *given, lengths.int().contiguous(), largest(state_grads, final_grads), gate_grads,
                mailbox(states, launch, 4), launch.first, launch.last, batch, words,
                hidden, launch.parts, launch.rows, ways, num_warps=launch.warps,
            )  # fmt: skip
        return gate_grads, weight_grads(gate_grads, earlier_states(states)).to(weights.dtype), None, None

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *inputs: Any) -> tuple[Any, Any]:
        outputs = FusedLSTM.apply(*as_readers(info.batch_size, dims[:3], inputs[:3]), inputs[3])
        return tuple(output.unflatten(0, (info.batch_size, -1)) for output in outputs), (0, 0, 0, 0)


@triton.jit
def forward_kernel(
    gates, weights, lengths, states, final, cells, saved, mailbox, first, last, batch, words,
    HIDDEN: tl.constexpr, PARTS: tl.constexpr, ROWS: tl.constexpr, WAYS: tl.constexpr, SAVE: tl.constexpr,
):  # fmt: skip
    row, unit, source, length, text, chain, box = share_of_program(
        lengths, first, last, batch, words, HIDDEN, PARTS, ROWS
    )
    there = (row < last)[None, :]
    longest = tl.max(length)
    weights += chain * 4 * HIDDEN * HIDDEN
    to_input = weights_to(weights, 0, unit, source, HIDDEN)
    to_forget = weights_to(weights, 1, unit, source, HIDDEN)
    to_new = weights_to(weights, 2, unit, source, HIDDEN)
    to_output = weights_to(weights, 3, unit, source, HIDDEN)
    mailbox += box * ROWS * HIDDEN

    state = tl.zeros([HIDDEN // PARTS, ROWS], tl.float32)
    cell = tl.zeros([HIDDEN // PARTS, ROWS], tl.float32)
    everyone = tl.zeros([HIDDEN, ROWS], tl.float16)
    for t in tl.range(0, longest, num_stages=2):
        live = (t < length)[None, :]
        spot = spot_of(text, words, length, t, WAYS)
        at = spot[None, :] * HIDDEN + unit[:, None]
        given = gates + (spot * 4 * HIDDEN)[None, :] + unit[:, None]
        input_gate = sigmoid(tl.dot(to_input, everyone, fetch(given, live)))
        forget = sigmoid(tl.dot(to_forget, everyone, fetch(given + HIDDEN, live)))
        new = tanh(tl.dot(to_new, everyone, fetch(given + 2 * HIDDEN, live)))
        output = sigmoid(tl.dot(to_output, everyone, fetch(given + 3 * HIDDEN, live)))
        cell = tl.where(live, forget * cell + input_gate * new, cell)
        state = tl.where(live, output * tanh(cell), state)
        tell(mailbox, state, unit, HIDDEN, PARTS, ROWS)
        tl.store(states + at, state, mask=live)
        if SAVE:
            tl.store(cells + at, cell, mask=live)
            tl.store(saved + at, packed(input_gate, forget, new, output), mask=live)
        everyone = everyones(mailbox, state, source, HIDDEN, PARTS, ROWS)
        mailbox += ROWS * HIDDEN
    end = (text * WAYS + tl.program_id(1))[None, :] * HIDDEN + unit[:, None]
    tl.store(final + end, state, mask=there)


@triton.jit
def backward_kernel(
    state_grads, final_grads, cells, saved, weights, lengths, largest, gate_grads, mailbox, first, last, batch, words,
    HIDDEN: tl.constexpr, PARTS: tl.constexpr, ROWS: tl.constexpr, WAYS: tl.constexpr,
):  # fmt: skip
    """The gradients of what the input gave the gates. Inside, they are multiplied by `half_scale`."""
    row, unit, source, length, text, chain, box = share_of_program(
        lengths, first, last, batch, words, HIDDEN, PARTS, ROWS
    )
    there = (row < last)[None, :]
    longest = tl.max(length)
    up = half_scale(largest)
    down = 1.0 / up
    weights += chain * 4 * HIDDEN * HIDDEN
    from_input = weights_back(weights, 0, unit, source, HIDDEN)
    from_forget = weights_back(weights, 1, unit, source, HIDDEN)
    from_new = weights_back(weights, 2, unit, source, HIDDEN)
    from_output = weights_back(weights, 3, unit, source, HIDDEN)
    mailbox += box * 4 * ROWS * HIDDEN

    to_earlier = tl.where(tl.program_id(1) == 1, WAYS * HIDDEN, -WAYS * HIDDEN)
    end = (text * WAYS + tl.program_id(1))[None, :] * HIDDEN + unit[:, None]
    carried = fetch(final_grads + end, there) * up
    carried_cell = tl.zeros([HIDDEN // PARTS, ROWS], tl.float32)
    for back in tl.range(0, longest, num_stages=2):
        t = longest - 1 - back
        live = (t < length)[None, :]
        spot = spot_of(text, words, length, t, WAYS)
        at = spot[None, :] * HIDDEN + unit[:, None]
        kept = tl.load(saved + at, mask=live, other=0)
        input_gate, forget = unpacked(kept, 0), unpacked(kept, 1)
        new, output = unpacked(kept, 2), unpacked(kept, 3)
        squashed = tanh(fetch(cells + at, live))
        earlier_cell = fetch(cells + at + to_earlier, live & (t > 0))
        given = fetch(state_grads + at, live)

        grad = carried + given * up
        cell_grad = carried_cell + grad * output * (1.0 - squashed * squashed)
        to_output = grad * squashed * output * (1.0 - output)
        to_input = cell_grad * new * input_gate * (1.0 - input_gate)
        to_forget = cell_grad * earlier_cell * forget * (1.0 - forget)
        to_new = cell_grad * input_gate * (1.0 - new * new)
        carried_cell = tl.where(live, cell_grad * forget, carried_cell)
        tell(mailbox, to_input, unit, HIDDEN, PARTS, ROWS)
        tell(mailbox + ROWS * HIDDEN, to_forget, unit, HIDDEN, PARTS, ROWS)
        tell(mailbox + 2 * ROWS * HIDDEN, to_new, unit, HIDDEN, PARTS, ROWS)
        tell(mailbox + 3 * ROWS * HIDDEN, to_output, unit, HIDDEN, PARTS, ROWS)
        to = gate_grads + (spot * 4 * HIDDEN)[None, :] + unit[:, None]
        tl.store(to, to_input * down, mask=live)
        tl.store(to + HIDDEN, to_forget * down, mask=live)
        tl.store(to + 2 * HIDDEN, to_new * down, mask=live)
        tl.store(to + 3 * HIDDEN, to_output * down, mask=live)
        all_input = everyones(mailbox, to_input, source, HIDDEN, PARTS, ROWS)
        all_forget = everyones(mailbox + ROWS * HIDDEN, to_forget, source, HIDDEN, PARTS, ROWS)
        all_new = everyones(mailbox + 2 * ROWS * HIDDEN, to_new, source, HIDDEN, PARTS, ROWS)
        all_output = everyones(mailbox + 3 * ROWS * HIDDEN, to_output, source, HIDDEN, PARTS, ROWS)
        mailbox += 4 * ROWS * HIDDEN
        to_earlier_state = tl.dot(from_input, all_input)
        to_earlier_state = tl.dot(from_forget, all_forget, to_earlier_state)
        to_earlier_state = tl.dot(from_new, all_new, to_earlier_state)
        to_earlier_state = tl.dot(from_output, all_output, to_earlier_state)
        carried = tl.where(live, to_earlier_state, carried)
