"""The fused looks must compute what the plain ones do, forward and all gradients.

They run on a GPU, or anywhere in Triton's interpreter (`TRITON_INTERPRET=1`), on smaller sizes.
"""

from dataclasses import replace

import pytest
import torch
from kernels import DEVICE, INTERPRETED, somewhere_to_run
from torch import Tensor, nn

from epireader.layers.attention import TanhAttention
from epireader.layers.looks import Looked, Looker, Sought, look_by_look, look_fused

pytestmark = somewhere_to_run

SIZES = [(3, 1, 4, 32), (2, 5, 1, 32), (1, 1, 1, 64), (4, 70, 5, 64), (3, 65, 3, 128), (2, 33, 3, 256), (1, 17, 2, 512)]
GPU_SIZES = [] if INTERPRETED else [(32, 440, 30, 256), (200, 129, 17, 64), (33, 301, 9, 512), (5, 1500, 61, 128)]


class Looks(nn.Module):
    """What looks, with weights that are neither zero nor all alike; `how` is one of the two ways."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = TanhAttention(width)
        nn.init.normal_(self.attention.score.weight, std=2 / width**0.5)
        self.gathered_part, self.kept = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.nothing_gathered = nn.Parameter(torch.randn(width))

    def forward(self, how, *given: Tensor) -> tuple[Tensor, Tensor]:
        looker = Looker(self.attention, self.gathered_part, self.kept, self.nothing_gathered)
        looked: Looked = how(looker, Sought(*given))
        return looked.gathered, looked.log_attention


def sought(batch: int, doc: int, question: int, width: int) -> Sought:
    """Passages and questions of any length; the last question has no words, the last but one no passage."""
    words, asked = torch.randint(1, doc + 1, (batch,)), torch.randint(1, question + 1, (batch,))
    words[0], asked[0] = doc, question
    if batch > 2:
        words[-2], asked[-1] = 0, 0
    masks = [torch.arange(n) < lengths[:, None] for n, lengths in ((doc, words), (question, asked))]
    drawn = [torch.randn(batch, n, width) for n in (doc, doc, question)]
    states, products, questions = (tensor.to(DEVICE).requires_grad_() for tensor in drawn)
    return Sought(states, products, masks[0].to(DEVICE), questions, masks[1].to(DEVICE))


def given_by(sought: Sought) -> list[Tensor]:
    return [sought.states, sought.words, sought.passage_mask, sought.questions, sought.question_mask]


def results(how, looks: Looks, sought: Sought) -> dict[str, Tensor]:
    """What was gathered, where was looked, and the gradients of a sum that weighs each of them differently."""
    gathered, log_attention = looks(how, *given_by(sought))
    answered = sought.question_mask.any(dim=1)
    assert not log_attention[~answered].any()
    attention = log_attention[answered].exp()
    torch.manual_seed(1)
    weights = [torch.randn(part.shape).to(part) for part in (gathered, attention)]
    total = (gathered * weights[0]).sum() + (attention * weights[1]).sum()
    named = {"states": sought.states, "words": sought.words, "questions": sought.questions}
    named |= dict(looks.named_parameters())
    grads = torch.autograd.grad(total / len(gathered), list(named.values()))
    for name, grad in zip(named, grads, strict=True):
        assert grad.dtype == named[name].dtype
    return {"gathered": gathered, "attention": attention, **dict(zip(named, grads, strict=True))}


def in_double(looks: Looks, sought: Sought) -> dict[str, Tensor]:
    parts = {
        name: getattr(sought, name).detach().double().requires_grad_() for name in ("states", "words", "questions")
    }
    return results(look_by_look, looks.double(), replace(sought, **parts))


def wrong(left: dict[str, Tensor], right: dict[str, Tensor], within: float) -> dict[str, float]:
    """What is further off than it may be. Where there is one word to look at, gradients are 0 but for rounding."""
    errors = {name: (left[name].double() - right[name]).norm() / right[name].norm().clamp(min=0.01) for name in right}
    return {name: error.item() for name, error in errors.items() if not error < within}


@pytest.mark.parametrize(("batch", "doc", "question", "width"), SIZES + GPU_SIZES)
def test_fused_looks_agree_with_plain_ones(batch: int, doc: int, question: int, width: int) -> None:
    torch.manual_seed(0)
    looks, asked = Looks(width).to(DEVICE), sought(batch, doc, question, width)
    fused = results(look_fused, looks, asked)
    errors = wrong(fused, in_double(looks, asked), 3e-3)
    assert not errors, errors


def test_fused_looks_agree_where_all_is_in_half_precision() -> None:
    torch.manual_seed(0)
    looks, asked = Looks(64).to(DEVICE), sought(4, 70, 5, 64)
    parts = {name: getattr(asked, name).detach().bfloat16().requires_grad_() for name in ("words", "questions")}
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        fused = results(look_fused, looks, replace(asked, **parts))
    assert fused["gathered"].dtype == fused["attention"].dtype == torch.float32
    errors = wrong(fused, in_double(looks, replace(asked, **parts)), 2e-2)
    assert not errors, errors


def test_readers_look_together_as_each_alone() -> None:
    torch.manual_seed(0)
    readers = [Looks(32).to(DEVICE) for _ in range(3)]
    asked = [sought(4, 9, 5, 32) for _ in readers]
    weights, _ = torch.func.stack_module_state(readers)
    given = [torch.stack(parts).detach() for parts in zip(*map(given_by, asked), strict=True)]

    def look(weights: dict[str, Tensor], *given: Tensor) -> tuple[Tensor, Tensor]:
        return torch.func.functional_call(readers[0], weights, (look_fused, *given))

    gathered, log_attention = torch.func.vmap(look)(weights, *given)
    (gathered.square().sum() + log_attention.exp().square().sum()).backward()
    for n, (reader, own) in enumerate(zip(readers, asked, strict=True)):
        alone = reader(look_fused, *given_by(own))
        (alone[0].square().sum() + alone[1].exp().square().sum()).backward()
        torch.testing.assert_close(gathered[n], alone[0])
        torch.testing.assert_close(log_attention[n], alone[1])
        for name, parameter in reader.named_parameters():
            torch.testing.assert_close(weights[name].grad[n], parameter.grad, rtol=1e-3, atol=1e-3)


def test_padding_is_not_looked_at() -> None:
    torch.manual_seed(0)
    looks, asked = Looks(32).to(DEVICE), sought(4, 40, 5, 32)
    asked.passage_mask[0, 35:] = asked.question_mask[0, 3:] = False
    before = looks(look_fused, *given_by(asked))
    with torch.no_grad():
        for part, mask in (
            (asked.states, asked.passage_mask),
            (asked.words, asked.passage_mask),
            (asked.questions, asked.question_mask),
        ):
            part[~mask] = torch.nan
    after = looks(look_fused, *given_by(asked))
    assert all(torch.equal(left, right) for left, right in zip(before, after, strict=True))
    for grad in torch.autograd.grad(after[0].sum(), [asked.states, asked.words, asked.questions]):
        assert grad.isfinite().all()


def test_large_scores_do_not_overflow() -> None:
    torch.manual_seed(0)
    looks, asked = Looks(32).to(DEVICE), sought(3, 70, 3, 32)
    with torch.no_grad():
        looks.attention.score.weight.mul_(100.0)
        asked.words.copy_(asked.words.sign() * 20.0)
    fused, plain = (looks(how, *given_by(asked))[0] for how in (look_fused, look_by_look))
    torch.testing.assert_close(fused, plain, rtol=1e-2, atol=1e-2)


def test_looks_are_the_same_every_time() -> None:
    """Were a value read before it is there, they would not be."""
    torch.manual_seed(0)
    size = (4, 40, 3, 32) if INTERPRETED else (150, 440, 30, 256)
    looks, asked = Looks(size[-1]).to(DEVICE), sought(*size)
    first, *others = (results(look_fused, looks, asked) for _ in range(2 if INTERPRETED else 10))
    for other in others:
        assert all(torch.equal(first[name], other[name]) for name in first)
