"""A whole EpiReader of kernels must give what the plain one does, and learn the same from it.

It runs on a GPU, or anywhere in Triton's interpreter (`TRITON_INTERPRET=1`), there with plain recurrences.
"""

from dataclasses import fields, replace

import pytest
import torch
from kernels import DEVICE, somewhere_to_run
from reference.cases import Extra, batch_of_cases
from reference.small import hard_cases, roughened
from torch import Tensor

from epireader.data.batches import Batch
from epireader.readers.epireader import EpiReader, EpiReaderConfig

pytestmark = somewhere_to_run
SWITCHES = ("kernels.can_be_kernel", "masking.can_be_kernel", "attention.can_be_kernel")


def learnt(module: EpiReader, batch: Batch) -> dict[str, Tensor]:
    """What the reader says, its loss, and the gradients of all weights."""
    reading = module(batch)
    assert reading.evidence is not None
    loss = module.loss(reading, batch).total
    named = dict(module.named_parameters())
    grads = torch.autograd.grad(loss, list(named.values()))
    said = {"probs": reading.log_probs.exp(), "e": reading.evidence.log_probs.exp(), "loss": loss}
    return {name: tensor.float() for name, tensor in {**said, **dict(zip(named, grads, strict=True))}.items()}


def on_device(batch: Batch) -> Batch:
    return Batch(**{field.name: getattr(batch, field.name).to(DEVICE) for field in fields(Batch)})


def relative_error(rounded: Tensor, exact: Tensor) -> float:
    return float((rounded.double() - exact.double()).norm() / exact.double().norm())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wide", [True, False])
def test_a_reader_of_kernels_agrees_with_the_plain_one(seed: int, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"embedding_dim": 6, "hidden_dim": 5, "hypotheses": 3, "filters": 3, "reasoner_hidden_dim": 4}
    config = EpiReaderConfig(**sizes, wide_convolution=wide, margin=0.9)
    module = roughened(EpiReader(config, words=20), seed).to(DEVICE)
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
    torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-4)
    assert all(grad.any() for grad in results[0].values())


@pytest.mark.parametrize("seed", range(3))
def test_a_reader_of_kernels_agrees_in_half_precision(seed: int) -> None:
    """All at once: where numbers are rounded to three digits, a maximum may be another word's, and its gradient with it."""
    config = EpiReaderConfig(embedding_dim=32, hidden_dim=16, hypotheses=3, filters=8, reasoner_hidden_dim=16)
    module = roughened(EpiReader(replace(config, reasoner_weight=1.0), words=20), seed, scale=0.2).float().to(DEVICE)
    batch = on_device(batch_of_cases(hard_cases(seed, 8)))
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        rounded = learnt(module, batch)
    exact = learnt(module.double(), batch)
    said = ("probs", "e", "loss")
    for name in said:
        assert relative_error(rounded[name], exact[name]) < 2e-2, name
    gradients = [torch.cat([one[name].flatten() for name in exact if name not in said]) for one in (rounded, exact)]
    assert relative_error(*gradients) < 2e-2
