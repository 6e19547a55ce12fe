"""GRUs over few sequences on a CPU, both directions taking each step together.

A step of one sequence is mostly the launching of small operations. `torch.nn.GRU` launches a dozen a direction; here
there are six for both. From about eight sequences on, the arithmetic outweighs that.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import linear

from epireader.layers.directions import (
    Encoded,
    ended,
    is_step_by_step,
    reversed_within_length,
    stacked,
    weights_of,
)

FEW_SEQUENCES = 8


def pays_in_lockstep(inputs: Tensor) -> bool:
    """Whether there are few sequences on a CPU, and nothing is to be learnt from them."""
    alone = not (torch.is_grad_enabled() or is_step_by_step() or torch.is_autocast_enabled(inputs.device.type))
    return alone and inputs.device.type == "cpu" and len(inputs) <= FEW_SEQUENCES


def read_in_lockstep(
    ways: Sequence[nn.GRU], inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]
) -> Encoded:
    """What one GRU makes of sequences from left to right, or two that read them both ways."""
    mirror = reversed_within_length(mask)
    rows = torch.arange(len(inputs))[:, None]
    orders = [inputs, inputs[rows, mirror]] if len(ways) == 2 else [inputs]
    given = []
    for way, words in zip(ways, orders, strict=True):
        input_weight, input_bias, _, _ = weights_of(way)
        given.append(linear(words.transpose(0, 1), input_weight, input_bias))
    state_weight = stacked(ways, "weight_hh_l0").transpose(1, 2).contiguous()
    state_bias = stacked(ways, "bias_hh_l0")[:, None]
    states = take_steps(torch.stack(given, dim=1), state_weight, state_bias).permute(1, 2, 0, 3)
    read = [ended(of_way, mask) for of_way in states]
    if len(read) == 1:
        return read[0]
    both = torch.cat([read[0].states, read[1].states[rows, mirror]], dim=-1)
    return Encoded(both, torch.cat([read[0].final, read[1].final], dim=-1))


def take_steps(
    given: Float[Tensor, "n way batch gates"],
    weight: Float[Tensor, "way hid gates"],
    bias: Float[Tensor, "way 1 gates"],
) -> Float[Tensor, "n way batch hid"]:
    """The states after every step. Each operation writes where the last step's did."""
    hidden = weight.shape[1]
    states = given.new_empty(*given.shape[:3], hidden)
    remembered = given.new_empty(given.shape[1:])
    opened = given.new_empty(*given.shape[1:3], 2 * hidden)
    remembered_opening, remembered_news = remembered.split([2 * hidden, hidden], dim=-1)
    reset, update = opened.chunk(2, dim=-1)
    new = torch.empty_like(states[0])
    state = torch.zeros_like(states[0])
    opening, news = given.split([2 * hidden, hidden], dim=-1)
    for step_opening, step_news, following in zip(opening.unbind(), news.unbind(), states.unbind(), strict=True):
        torch.baddbmm(bias, state, weight, out=remembered)
        torch.add(remembered_opening, step_opening, out=opened).sigmoid_()
        torch.addcmul(step_news, reset, remembered_news, out=new).tanh_()
        state = torch.lerp(new, state, update, out=following)
    return states
