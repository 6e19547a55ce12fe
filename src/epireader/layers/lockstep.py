"""GRUs over few sequences on a CPU, both directions taking each step together.

A step of one sequence is mostly the launching of small operations. `torch.nn.GRU` launches a dozen a direction; here
there are five for both. From about eight sequences on, the arithmetic outweighs that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from epireader.layers.directions import Encoded, is_step_by_step, reversed_within_length, weights_of

FEW_SEQUENCES = 8


def only_reads(inputs: Tensor) -> bool:
    """Whether sequences lie on a CPU, and nothing is to be learnt from them."""
    plain = not (torch.is_grad_enabled() or is_step_by_step() or torch.is_autocast_enabled(inputs.device.type))
    return plain and inputs.device.type == "cpu"


def pays_in_lockstep(inputs: Tensor) -> bool:
    """Whether, besides, there are few of them."""
    return only_reads(inputs) and inputs.shape[0] <= FEW_SEQUENCES


def read_in_lockstep(
    ways: Sequence[nn.GRU],
    inputs: Float[Tensor, "rows in"],
    shape: torch.Size,
    mask: Bool[Tensor, "batch n"] | None,
    places: Int[Tensor, "batch n"] | None = None,
) -> Encoded:
    """What one GRU makes of sequences from left to right, or two that read them both ways; `shape` is that of the mask.

    `places` says which of the inputs stands where; without it they stand one after the other.
    """
    batch, steps = shape
    if batch == 1 and mask is places is None:
        return read_alone(ways, inputs)
    lengths = (steps,) * batch if mask is None else tuple(mask.sum(dim=1).tolist())
    order, weights = order_of(lengths, steps, len(ways)), prepared(ways)
    source = order.source if places is None else (places.take(order.words) + len(inputs) * order.way).flatten()
    at_step = given_to_steps(weights, inputs).flatten(0, 1).index_select(0, source)
    states = take_steps(at_step.view(steps, len(ways), batch, -1), weights.state)
    found = states.flatten(0, 2).index_select(0, order.states)
    return Encoded(found.view(batch, steps, -1), found.index_select(0, order.last).view(batch, -1))


def read_alone(ways: Sequence[nn.GRU], inputs: Float[Tensor, "n in"]) -> Encoded:
    """The same for a sequence that is alone and whole: every way ends with the last step."""
    states = read_whole(ways, inputs).squeeze(2)
    forwards, *backwards = states.unbind(dim=1)
    by_word = torch.cat([forwards, *(way.flip(0) for way in backwards)], dim=-1)
    return Encoded(by_word[None], states[-1].reshape(1, -1))


def final_alone(ways: Sequence[nn.GRU], inputs: Float[Tensor, "n in"]) -> Float[Tensor, "1 out"]:
    """Its final state, for which the words' need not be put in order."""
    return read_whole(ways, inputs)[-1].reshape(1, -1)


def read_whole(
    ways: Sequence[nn.GRU],
    inputs: Float[Tensor, "n_batch in"],
    batch: int = 1,
    start: Float[Tensor, "way batch hid"] | None = None,
) -> Float[Tensor, "n way batch hid"]:
    """The states after every step of one sequence read both ways, or of several of one length read one way, which are given
    step by step; begun at zero, or where `start` says.

    As nothing is padding, what steps are given can be computed where they take it.
    """
    weights = prepared(ways)
    hidden = weights.state.shape[1]
    given = inputs.new_empty(inputs.shape[0], len(ways), 4 * hidden)
    given[..., :hidden] = weights.news_bias
    read = (inputs, inputs.flip(0)) if len(ways) > 1 else (inputs,)
    for words, (weight, bias), gates in zip(read, weights.ways, given[..., hidden:].unbind(1), strict=True):
        torch.addmm(bias, words, weight, out=gates)
    return take_steps(given.view(-1, len(ways), batch, 4 * hidden), weights.state, start)


@dataclass(frozen=True)
class Order:
    """In which order sequences are read, one after the other in a row: forwards, and by a second way backwards."""

    words: Int[Tensor, "n way batch"]
    """The word that is read at each step."""
    way: Int[Tensor, "way 1"]
    source: Int[Tensor, " n_way_batch"]
    """Where what is read at each step stands, if all that the first way reads stands before what the second does."""
    states: Int[Tensor, " batch_n_way"]
    """Where the state of each word comes to stand."""
    last: Int[Tensor, " batch_way"]
    """Which of those states are the last of each way."""


@lru_cache(maxsize=64)
def order_of(lengths: tuple[int, ...], steps: int, ways: int) -> Order:
    mask = torch.arange(steps) < torch.tensor(lengths)[:, None]
    forwards = torch.arange(steps).expand(len(lengths), steps)
    # A mirror's image is mirrored back: the word read at a step, and the step at which a word is read.
    order = torch.stack([forwards, reversed_within_length(mask)][:ways], dim=-1)
    row, way = torch.arange(len(lengths))[:, None, None], torch.arange(ways)
    ends = torch.stack([mask.sum(dim=1).clamp(min=1) - 1, torch.zeros(len(lengths), dtype=torch.long)][:ways], dim=-1)
    words = (order + row * steps).permute(1, 2, 0).contiguous()
    return Order(
        words=words,
        way=way[:, None],
        source=(words + len(lengths) * steps * way[:, None]).flatten(),
        states=((order * ways + way) * len(lengths) + row).flatten(),
        last=((row[:, 0] * steps + ends) * ways + way).flatten(),
    )


@dataclass(frozen=True)
class StepWeights:
    """The weights of one GRU, or of two, side by side as steps take them."""

    input: Float[Tensor, "in way gates"]
    input_bias: Float[Tensor, "way gates"]
    """For reset and update, with the bias of the state's part."""
    news_bias: Float[Tensor, "way hid"]
    """What is added to the state's part of the news."""
    state: Float[Tensor, "way hid gates"]
    """The news first."""
    ways: list[tuple[Float[Tensor, "in gates"], Float[Tensor, " gates"]]]
    """The weights of the inputs and their bias, way by way."""


@dataclass(frozen=True)
class Prepared:
    """Weights for steps, and what they were made of."""

    weights: StepWeights
    made_of: list[tuple[int, int]]
    held: list[Tensor]
    """So that no other weights can come to lie where these did."""


_prepared: WeakKeyDictionary[nn.Module, Prepared] = WeakKeyDictionary()


def prepared(ways: Sequence[nn.GRU]) -> StepWeights:
    """The weights for steps: made once, and again when they have changed."""
    sources = [weight for way in ways for weight in weights_of(way)]
    if any(map(Tensor.is_inference, sources)):  # nothing tells whether they have changed
        return prepare(sources)
    found = _prepared.get(ways[0])
    made_of = [(source.data_ptr(), source._version) for source in sources]  # where they lie, and how often changed
    if found is None or found.made_of != made_of:
        held = [source.detach() for source in sources]
        found = _prepared[ways[0]] = Prepared(prepare(sources), made_of, held)
    return found.weights


def forget(way: nn.GRU) -> None:
    """Do so where something is learnt: fused optimisers change weights and do not count it."""
    _prepared.pop(way, None)


def prepare(sources: list[Tensor]) -> StepWeights:
    input_weight, input_bias, state_weight, state_bias = (torch.stack(sources[n::4]) for n in range(4))
    hidden = state_weight.shape[2]
    input_bias[:, : 2 * hidden] += state_bias[:, : 2 * hidden]
    by_input = input_weight.permute(2, 0, 1).contiguous()
    return StepWeights(
        input=by_input,
        input_bias=input_bias,
        news_bias=state_bias[:, 2 * hidden :].contiguous(),
        state=state_weight.transpose(1, 2).roll(hidden, dims=2),
        ways=list(zip(by_input.unbind(1), input_bias.unbind(), strict=True)),
    )


def given_to_steps(weights: StepWeights, inputs: Float[Tensor, "rows in"]) -> Float[Tensor, "way rows four_hid"]:
    """What steps are given of each input: what is added to the state's part of the news (a bias), what opens reset and
    update but for the state's part, and the input's part of the news."""
    ways, hidden, _ = weights.state.shape
    gates = torch.addmm(weights.input_bias.flatten(), inputs, weights.input.flatten(1))
    bias = weights.news_bias[:, None].expand(ways, len(inputs), hidden)
    return torch.cat([bias, gates.view(len(inputs), ways, -1).transpose(0, 1)], dim=-1)


def take_steps(
    given: Float[Tensor, "n way batch four_hid"],
    weight: Float[Tensor, "way hid three_hid"],
    start: Float[Tensor, "way batch hid"] | None = None,
) -> Float[Tensor, "n way batch hid"]:
    """The states after every step; each takes the place of what its step was given as news."""
    hidden = weight.shape[1]
    starts, news = given.tensor_split([3 * hidden], dim=-1)
    first, *following = starts.unbind()
    # Where nothing was read before the first step, there is no state to be multiplied.
    sums = first.clone() if start is None else torch.baddbmm(first, start, weight)
    opened, (remembered, reset, update) = sums[..., hidden:], sums.chunk(3, dim=-1)
    state = torch.zeros_like(sums[..., :hidden]) if start is None else start
    for step_news, next_start in zip_longest(news.unbind(), following):
        opened.sigmoid_()
        state = step_news.addcmul_(reset, remembered).tanh_().lerp_(state, update)
        if next_start is not None:
            torch.baddbmm(next_start, state, weight, out=sums)
    return news
