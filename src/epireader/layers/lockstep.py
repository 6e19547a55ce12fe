"""GRUs over few sequences on a CPU, both directions taking each step together.

A step of one sequence is mostly the launching of small operations. `torch.nn.GRU` launches a dozen a direction; here
there are five for both. From about eight sequences on, the arithmetic outweighs that.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear

from epireader.layers.directions import Encoded, ended, is_step_by_step, reversed_within_length, stacked, weights_of

FEW_SEQUENCES = 8
FEW_STEPS = 64
"""Up to which turning the weights round would cost more than it gains in a step."""


def pays_in_lockstep(inputs: Tensor) -> bool:
    """Whether there are few sequences on a CPU, and nothing is to be learnt from them."""
    alone = not (torch.is_grad_enabled() or is_step_by_step() or torch.is_autocast_enabled(inputs.device.type))
    return alone and inputs.device.type == "cpu" and len(inputs) <= FEW_SEQUENCES


def projected(way: nn.GRU, inputs: Float[Tensor, "batch n in"]) -> Float[Tensor, "batch n gates"]:
    """The part of the inputs in what opens the gates."""
    input_weight, input_bias, _, _ = weights_of(way)
    return linear(inputs, input_weight, input_bias)


def read_in_lockstep(
    ways: Sequence[nn.GRU], inputs: Sequence[Float[Tensor, "batch n gates"]], mask: Bool[Tensor, "batch n"]
) -> Encoded:
    """What one GRU makes of sequences from left to right, or two that read them both ways; inputs are `projected`."""
    batch, steps = mask.shape
    given = inputs[0].new_empty(steps, len(ways), batch, 4 * ways[0].hidden_size)
    lay_out(given[:, 0], ways[0], inputs[0])
    if len(ways) == 2:
        mirror = reversed_within_length(mask)
        lay_out(given[:, 1], ways[1], taken_whole(inputs[1], mirror))
    weight = stacked(ways, "weight_hh_l0").transpose(1, 2)
    states = take_steps(given, weight if len(given) <= FEW_STEPS else weight.contiguous()).permute(1, 2, 0, 3)
    forwards = ended(states[0], mask)
    if len(ways) == 1:
        return forwards
    backwards = taken_whole(states[1], mirror)
    return Encoded(
        torch.cat([forwards.states, backwards], dim=-1), torch.cat([forwards.final, backwards[:, 0]], dim=-1)
    )


def lay_out(given: Float[Tensor, "n batch four_hid"], way: nn.GRU, inputs: Float[Tensor, "batch n gates"]) -> None:
    """Put down what steps are given: what opens reset and update but for the state's part, what is added to the
    state's part of the news (a bias), and the input's part of the news."""
    hidden, inputs = way.hidden_size, inputs.transpose(0, 1)
    _, _, _, state_bias = weights_of(way)
    torch.add(inputs[..., : 2 * hidden], state_bias[: 2 * hidden], out=given[..., : 2 * hidden])
    given[..., 2 * hidden : 3 * hidden] = state_bias[2 * hidden :]
    given[..., 3 * hidden :] = inputs[..., 2 * hidden :]


def taken_whole(values: Float[Tensor, "batch n dim"], order: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n dim"]:
    """What `reordered` gives, by whole entries and not number by number."""
    first = torch.arange(len(values))[:, None] * values.shape[1]
    return values.flatten(0, 1).index_select(0, (first + order).flatten()).view(values.shape)


def take_steps(
    given: Float[Tensor, "n way batch four_hid"], weight: Float[Tensor, "way hid three_hid"]
) -> Float[Tensor, "n way batch hid"]:
    """The states after every step; each takes the place of what its step was given as news."""
    hidden = weight.shape[1]
    starts, news = given.tensor_split([3 * hidden], dim=-1)
    sums = given.new_empty(starts.shape[1:])
    opened, remembered = sums.split([2 * hidden, hidden], dim=-1)
    reset, update = opened.chunk(2, dim=-1)
    state = torch.zeros_like(news[0])
    for step_start, step_news in zip(starts.unbind(), news.unbind(), strict=True):
        torch.baddbmm(step_start, state, weight, out=sums)
        opened.sigmoid_()
        state = step_news.addcmul_(reset, remembered).tanh_().lerp_(state, update)
    return news
