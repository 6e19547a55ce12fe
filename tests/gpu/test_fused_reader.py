"""A whole EpiReader of kernels must give what the plain one does, and learn the same from it.

It runs on a GPU, or anywhere in Triton's interpreter (`TRITON_INTERPRET=1`), there with plain recurrences.
"""

from dataclasses import fields

import pytest
import torch
from kernels import DEVICE, somewhere_to_run
from reference.cases import Extra, batch_of_cases
from reference.sense import VOCABULARY
from reference.small import STRANGERS, WORDS, hard_cases, roughened
from torch import Tensor

from epireader.data.batches import Batch
from epireader.data.vocabulary import Vocabulary
from epireader.readers.epireader import EpiReader, EpiReaderConfig

pytestmark = somewhere_to_run
SAID = ("probs", "e", "loss")
MORE = (
    {},
    {"marks_question": True, "asks_at_blank": True, "reads_again": 2},
    {"aligns_question": True, "reads_again": 2},
    {"marks_beside": 3, "asks_at_blank": True, "sense_dim": 5, "sense_embedding_dim": 4},
)
SWITCHES = ("kernels.can_be_kernel", "masking.can_be_kernel", "attention.can_be_kernel")


def learnt(module: EpiReader, batch: Batch) -> dict[str, Tensor]:
    """What the reader says, its loss, and the gradients of all weights."""
    reading = module(batch)
    assert reading.evidence is not None
    loss = module.loss(reading, batch).total
    named = dict(module.named_parameters())
    grads = torch.autograd.grad(loss, list(named.values()))
    e = reading.evidence.log_probs.exp().sort(dim=1).values  # of candidates that are equally good either may come first
    said = {"probs": reading.log_probs.exp(), "e": e, "loss": loss}
    return {name: tensor.float() for name, tensor in {**said, **dict(zip(named, grads, strict=True))}.items()}


def on_device(batch: Batch) -> Batch:
    return Batch(**{field.name: getattr(batch, field.name).to(DEVICE) for field in fields(Batch)})


def assert_agree(
    exact: dict[str, Tensor], rounded: dict[str, Tensor], within: float, gradients_within: float | None = None
) -> None:
    """What was said must agree one by one, the gradients all together."""
    gradients = [name for name in exact if name not in SAID]
    parts = {name: (exact[name], rounded[name]) for name in SAID}
    parts["gradients"] = tuple(torch.cat([one[name].flatten() for name in gradients]) for one in (exact, rounded))
    for name, (right, near) in parts.items():
        error = (near.detach().double() - right.detach().double()).norm() / right.detach().double().norm()
        allowed = gradients_within or within if name == "gradients" else within
        assert error < allowed, f"{name} is off by {error:.1e}"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wide", [True, False])
def test_a_reader_of_kernels_agrees_with_the_plain_one(seed: int, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"embedding_dim": 6, "hidden_dim": 5, "hypotheses": 3, "filters": 3, "reasoner_hidden_dim": 4}
    more = MORE[seed % len(MORE)]
    config = EpiReaderConfig(**sizes, wide_convolution=wide, margin=0.9, **more)
    module = EpiReader(config, words=WORDS)
    module.introduce(Vocabulary(VOCABULARY, STRANGERS))
    module = roughened(module, seed, scale=0.4).to(DEVICE)
    with torch.no_grad():
        module.embedding.weight[0] = 0
    batch = batch_of_cases(hard_cases(seed, 3), Extra(words=2, sentences=1, question=2, candidates=1))
    batch = on_device(batch)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    results = []
    for kernels in (False, True):
        for switch in SWITCHES:
            monkeypatch.setattr(
                f"epireader.layers.{switch}", lambda values, kernels=kernels: kernels and values.dtype != torch.float64
            )
        results.append(learnt(module.to(torch.float32 if kernels else torch.float64), batch))
    assert all(grad.any() for grad in results[0].values())
    assert_agree(*results, within=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_a_reader_of_kernels_agrees_in_half_precision(seed: int) -> None:
    """Each kernel's gradients are held to 2e-2 where it is tested alone. In a whole reader, where numbers are rounded to
    three digits, a maximum may become another word's and take its gradient along: plain layers are as far off. And what
    is tested must not depend on which candidates are just good enough, so all of them are hypotheses."""
    sizes = {"embedding_dim": 32, "hidden_dim": 16, "hypotheses": 16, "filters": 8, "reasoner_hidden_dim": 16}
    config = EpiReaderConfig(**sizes, reasoner_weight=1.0)
    module = roughened(EpiReader(config, words=20), seed, scale=0.1).float().to(DEVICE)
    batch = on_device(batch_of_cases(hard_cases(seed, 16)))
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        rounded = learnt(module, batch)
    exact = learnt(module.double(), batch)
    assert_agree(exact, rounded, within=2e-2, gradients_within=0.1)
