"""GRUs over few sequences on a CPU, both directions taking each step together.

A step of one sequence is mostly the launching of small operations. `torch.nn.GRU` launches a dozen a direction; here
there are five for both. From about eight sequences on, the arithmetic outweighs that.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import linear

from epireader.layers.directions import Encoded, is_step_by_step, reversed_within_length, stacked, weights_of

FEW_SEQUENCES = 8
FEW_STEPS = 64
"""Up to which turning the weights round would cost more than it gains in a step."""


def pays_in_lockstep(inputs: Tensor) -> bool:
    """Whether there are few sequences on a CPU, and nothing is to be learnt from them."""
    alone = not (torch.is_grad_enabled() or is_step_by_step() or torch.is_autocast_enabled(inputs.device.type))
    return alone and inputs.device.type == "cpu" and len(inputs) <= FEW_SEQUENCES


def read_in_lockstep(
    ways: Sequence[nn.GRU], inputs: Float[Tensor, "batch n in"], mask: Bool[Tensor, "batch n"]
) -> Encoded:
    """What one GRU makes of sequences from left to right, or two that read them both ways."""
    mirror = reversed_within_length(mask)
    rows = torch.arange(len(inputs))
    given = inputs.new_empty(inputs.shape[1], len(ways), len(inputs), 4 * ways[0].hidden_size)
    for way, place, words in zip(ways, given.unbind(dim=1), (inputs, inputs[rows[:, None], mirror]), strict=False):
        lay_out_given(way, words.transpose(0, 1), place)
    weight = stacked(ways, "weight_hh_l0").transpose(1, 2)
    states = take_steps(given, weight if len(given) <= FEW_STEPS else weight.contiguous())
    final = states[(mask.sum(dim=1) - 1).clamp(min=0), :, rows].flatten(1)
    forwards, *backwards = states.permute(1, 2, 0, 3)
    in_order = [forwards, *(of_way[rows[:, None], mirror] for of_way in backwards)]
    return Encoded(torch.cat(in_order, dim=-1), final)


def lay_out_given(way: nn.GRU, words: Float[Tensor, "n batch in"], given: Float[Tensor, "n batch four_hid"]) -> None:
    """What a step is given: the sums of both openings but for the state's part, what is added to the state's part of
    the news (a bias), and the input's part of the news."""
    hidden = way.hidden_size
    input_weight, input_bias, _, state_bias = weights_of(way)
    from_input = linear(words, input_weight, input_bias)
    torch.add(from_input[..., : 2 * hidden], state_bias[: 2 * hidden], out=given[..., : 2 * hidden])
    given[..., 2 * hidden : 3 * hidden] = state_bias[2 * hidden :]
    given[..., 3 * hidden :] = from_input[..., 2 * hidden :]


def take_steps(
    given: Float[Tensor, "n way batch four_hid"], weight: Float[Tensor, "way hid three_hid"]
) -> Float[Tensor, "n way batch hid"]:
    """The states after every step. Each operation writes where the last step's did."""
    hidden = weight.shape[1]
    states = given.new_empty(*given.shape[:3], hidden)
    sums = given.new_empty(*given.shape[1:3], 3 * hidden)
    opened, remembered = sums.split([2 * hidden, hidden], dim=-1)
    reset, update = opened.chunk(2, dim=-1)
    new = torch.empty_like(states[0])
    state = torch.zeros_like(states[0])
    starts, news = given.split([3 * hidden, hidden], dim=-1)
    for step_start, step_news, following in zip(starts.unbind(), news.unbind(), states.unbind(), strict=True):
        torch.baddbmm(step_start, state, weight, out=sums)
        opened.sigmoid_()
        torch.addcmul(step_news, reset, remembered, out=new).tanh_()
        state = torch.lerp(new, state, update, out=following)
    return states
