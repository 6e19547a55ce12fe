"""What the fused recurrences share: how programs divide the work, and how they talk to each other.

One program reads a few rows in one direction from the first word to the last. Its recurrent weights stay on the chip,
its state never leaves it, and the inputs of the next steps are fetched while this one is computed. What does not depend
on the step before (the input's products, the weights' gradients) is left to large matrix products outside.

Where the weights are too many for one multiprocessor, several programs share a row block: each owns some of the units
and tells the others its part of the state through memory. A slot that has not been written yet holds NaN, so the value
itself shows whether it is there. All programs of a launch must then run at once: a launch takes only so many rows.

Products take half-precision inputs (as precise as TF32's) and are summed in single precision.
"""

# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.linalg import vector_norm

from epireader.layers.masking import MINUS_INFINITY
from epireader.layers.products import summed_products

WARPS = 8
PATIENCE = tl.constexpr(1 << 16)
"""How often a program looks for another's values before it goes on without: a mistake must not hang the GPU."""


def parts_of(hidden: int) -> int:
    """Into how many programs the units are split, so that each can keep its weights on the chip."""
    return 1 if hidden <= 128 else (hidden // 128) ** 2


@dataclass(frozen=True)
class Launch:
    """The rows one launch reads, and how they are shared out."""

    first: int
    last: int
    rows: int
    """How many a program reads at once."""
    parts: int
    ways: int
    readers: int

    @property
    def blocks(self) -> int:
        return -(-(self.last - self.first) // self.rows)

    @property
    def warps(self) -> int:
        """Of a program. Where it owns few of the units there is not enough to do for more."""
        return WARPS if self.parts == 1 else WARPS // 2

    @property
    def grid(self) -> tuple[int, int, int]:
        return self.blocks * self.parts, self.ways, self.readers


def launches(states: Float[Tensor, "reader batch n way hid"]) -> Iterator[Launch]:
    """One launch for all rows; several where programs wait for each other and not all of them fit on the GPU at once."""
    readers, batch, _, ways, hidden = states.shape
    parts = parts_of(hidden)
    groups = parts * ways * readers
    room = multiprocessors(states.device)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        room //= 2  # other processes' gradients are added up beside
    if parts == 1:
        rows = 8 if -(-batch // 8) * groups <= room else 16  # few rows make a quick step
        yield Launch(0, batch, rows, parts, ways, readers)
        return
    if groups > room:
        raise ValueError(f"{readers} readers of {hidden} units are too many to be trained together on this GPU")
    most = max(room // groups, 1) * 8
    for first in range(0, batch, most):
        yield Launch(first, min(first + most, batch), 8, parts, ways, readers)


def multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 4


def mailbox(states: Float[Tensor, "reader batch n way hid"], launch: Launch, values: int) -> Float[Tensor, "..."]:
    """Where programs that share a row block tell each other what they computed; NaN until they have."""
    if launch.parts == 1:
        return states.new_empty(1, dtype=torch.half)
    readers, _, words, ways, hidden = states.shape
    return states.new_full(
        (readers, ways, launch.blocks, words, values, launch.rows, hidden), torch.nan, dtype=torch.half
    )


def as_readers(size: int, dims: Sequence[int | None], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Under `vmap`: what is mapped over becomes more readers, which one launch takes together."""
    return [
        (tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)).flatten(0, 1)
        for tensor, dim in zip(tensors, dims, strict=True)
    ]


def outside_grads(
    states: Float[Tensor, "reader batch n way hid"],
    state_grads: Float[Tensor, "reader batch n way hid"] | None,
    final_grads: Float[Tensor, "reader batch way hid"] | None,
) -> tuple[Float[Tensor, "reader batch n way hid"], Float[Tensor, "reader batch way hid"]]:
    """The gradients of all states and of the final ones; zeros for those that nothing was computed from."""
    state_grads = torch.zeros_like(states) if state_grads is None else state_grads
    final_grads = torch.zeros_like(states[:, :, 0]) if final_grads is None else final_grads
    return state_grads.contiguous(), final_grads.contiguous()


def largest(*grads: Float[Tensor, "reader ..."] | None) -> Float[Tensor, " reader"]:
    """The size of the largest gradient that comes from outside."""
    there = [grad.flatten(1) for grad in grads if grad is not None]
    sizes: list[Tensor] = [vector_norm(grad, ord=-MINUS_INFINITY, dim=1, dtype=torch.float) for grad in there]
    return reduce(torch.maximum, sizes)


def earlier_states(states: Float[Tensor, "reader batch n way hid"]) -> Float[Tensor, "reader batch n way hid"]:
    """The state from which each step was taken: the word's to the left, for the second way the word's to the right."""
    earlier = torch.zeros_like(states)
    earlier[:, :, 1:, 0] = states[:, :, :-1, 0]
    earlier[:, :, :-1, 1:] = states[:, :, 1:, 1:]
    return earlier


def weight_grads(
    gate_grads: Float[Tensor, "reader batch n way gates"], earlier: Float[Tensor, "reader batch n way hid"]
) -> Float[Tensor, "reader way gates hid"]:
    """Each gate's gradient times the state it was computed from, summed over all words."""
    ways = zip(gate_grads.flatten(1, 2).unbind(dim=2), earlier.flatten(1, 2).unbind(dim=2), strict=True)
    return torch.stack([summed_products(grads, states) for grads, states in ways], dim=1)  # nothing is copied for it


if triton.knobs.runtime.interpret:

    @triton.jit
    def tanh(x):
        return 1.0 - 2.0 / (1.0 + tl.exp(2.0 * x))

else:

    @triton.jit
    def tanh(x):
        """One instruction, with about the precision that the products before it have."""
        return tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1)


@triton.jit
def half_scale(largest):
    """What gradients are multiplied by so that the largest that comes from outside is 1.

    Half precision then has room for sums over many words above it, and for seven digits below.
    """
    return 1.0 / tl.maximum(tl.load(largest + tl.program_id(2)), 1e-30)


@triton.jit
def sigmoid(x):
    return 0.5 + 0.5 * tanh(0.5 * x)


@triton.jit
def share_of_program(lengths, first, last, batch, words, HIDDEN: tl.constexpr, PARTS: tl.constexpr, ROWS: tl.constexpr):
    """What a program reads: its rows, its units, all units, the rows' lengths, where their texts begin, and which chain of
    steps it is part of, for its weights (one for each reader and way) and for its mailbox (one for each row block too)."""
    block, part = tl.program_id(0) // PARTS, tl.program_id(0) % PARTS
    way, reader = tl.program_id(1), tl.program_id(2)
    row = first + block * ROWS + tl.arange(0, ROWS)
    unit = part * (HIDDEN // PARTS) + tl.arange(0, HIDDEN // PARTS)
    length = tl.load(lengths + reader * batch + row, mask=row < last, other=0)
    text = (reader * batch + row).to(tl.int64)
    chain = reader * tl.num_programs(1) + way
    box = (chain * (tl.num_programs(0) // PARTS) + block).to(tl.int64) * words
    return row, unit, tl.arange(0, HIDDEN), length, text, chain, box


@triton.jit
def spot_of(text, words, length, t, WAYS: tl.constexpr):
    """Where the word of step t stands in each row: the second way begins at the end."""
    way = tl.program_id(1)
    return (text * words + tl.where(way == 1, length - 1 - t, t)) * WAYS + way


@triton.jit
def weights_to(weights, gate, unit, source, HIDDEN: tl.constexpr):
    """One gate's weights, from every unit of the state before to the given units: (unit, source)."""
    return tl.load(weights + (gate * HIDDEN + unit[:, None]) * HIDDEN + source[None, :]).to(tl.float16)


@triton.jit
def weights_back(weights, gate, unit, source, HIDDEN: tl.constexpr):
    """The same read the other way, for gradients: from every unit of the gate to the given units of the state."""
    return tl.load(weights + (gate * HIDDEN + source[None, :]) * HIDDEN + unit[:, None]).to(tl.float16)


@triton.jit
def half(x):
    return tl.clamp(x, -65504.0, 65504.0).to(tl.float16)


@triton.jit
def tell(mailbox, own, unit, HIDDEN: tl.constexpr, PARTS: tl.constexpr, ROWS: tl.constexpr):
    """Let the other programs of a row block know this one's values. NaN is sent as 0: it would mean "not there yet"."""
    if PARTS > 1:
        place = mailbox + tl.arange(0, ROWS)[None, :] * HIDDEN + unit[:, None]
        tl.store(place, tl.where(own == own, half(own), 0.0))


@triton.jit
def told(mailbox, source, HIDDEN: tl.constexpr, ROWS: tl.constexpr):
    """The values of all units, as far as the programs of the row block have told them."""
    return tl.load(mailbox + tl.arange(0, ROWS)[None, :] * HIDDEN + source[:, None], volatile=True)


@triton.jit
def everyones(mailbox, own, source, HIDDEN: tl.constexpr, PARTS: tl.constexpr, ROWS: tl.constexpr):
    """The values of all units: this program's own, where it has all of them, or what all tell, as soon as they have."""
    values = half(own)
    if PARTS > 1:
        values = told(mailbox, source, HIDDEN, ROWS)
        tries = 0
        while (tl.max(tl.where(values == values, 0, 1)) > 0) & (tries < PATIENCE):
            values = told(mailbox, source, HIDDEN, ROWS)
            tries += 1
    return values


@triton.jit
def everyones_three(mailbox, a, b, c, source, HIDDEN: tl.constexpr, PARTS: tl.constexpr, ROWS: tl.constexpr):
    """The same of three values at once: looking for all takes little longer than looking for one."""
    all_a, all_b, all_c = half(a), half(b), half(c)
    if PARTS > 1:
        of_b, of_c = mailbox + ROWS * HIDDEN, mailbox + 2 * ROWS * HIDDEN
        all_a = told(mailbox, source, HIDDEN, ROWS)
        all_b = told(of_b, source, HIDDEN, ROWS)
        all_c = told(of_c, source, HIDDEN, ROWS)
        tries = 0
        while (tl.max(tl.where((all_a == all_a) & (all_b == all_b) & (all_c == all_c), 0, 1)) > 0) & (tries < PATIENCE):
            all_a = told(mailbox, source, HIDDEN, ROWS)
            all_b = told(of_b, source, HIDDEN, ROWS)
            all_c = told(of_c, source, HIDDEN, ROWS)
            tries += 1
    return all_a, all_b, all_c


@triton.jit
def bits(value):
    return value.to(tl.float16).to(tl.int16, bitcast=True).to(tl.int64) & 0xFFFF


@triton.jit
def packed(a, b, c, d):
    """Four values in half precision as one number: one store is quicker than four."""
    return bits(a) | (bits(b) << 16) | (bits(c) << 32) | (bits(d) << 48)


@triton.jit
def unpacked(four, PLACE: tl.constexpr):
    """One of them again."""
    return (four >> (16 * PLACE)).to(tl.int16).to(tl.float16, bitcast=True).to(tl.float32)


@triton.jit
def fetch(place, live):
    """Read a value in single precision; 0 where there is no word."""
    return tl.load(place, mask=live, other=0.0).to(tl.float32)
