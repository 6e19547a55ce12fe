"""The fused recurrences must compute what the plain ones do, in both directions, forward and all gradients.

They run on a GPU, or anywhere in Triton's interpreter (`TRITON_INTERPRET=1`), where programs that wait for each other
cannot run: sizes above 128 are tried on a GPU only.
"""

import pytest
import torch
from kernels import DEVICE, INTERPRETED, somewhere_to_run
from torch import Tensor, nn

from epireader.layers import gru, lstm
from epireader.layers.directions import Encoded
from epireader.layers.gru import GRU, BiGRU
from epireader.layers.lstm import LSTM, BiLSTM

pytestmark = somewhere_to_run

SIZES = [(3, 1, 16), (1, 5, 32), (17, 4, 64), (2, 9, 128), (33, 6, 16)]
GPU_SIZES = [] if INTERPRETED else [(3, 1, 256), (33, 70, 256), (200, 20, 256), (32, 450, 128), (300, 33, 128)]
RECURRENCES = [GRU, BiGRU, LSTM, BiLSTM]


def read_fused(encoder: nn.Module, inputs: Tensor, mask: Tensor) -> Encoded:
    parts = [encoder.forwards, encoder.backwards] if hasattr(encoder, "forwards") else [encoder]
    module = gru if isinstance(parts[0], GRU) else lstm
    return module.read_fused([part.recurrence for part in parts], inputs, mask)


def results(encoded: Encoded, encoder: nn.Module, inputs: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """The states of real words, the final states, and the gradients of a sum that weighs each of them differently."""
    states = encoded.states * mask[..., None]
    torch.manual_seed(1)
    weights = [torch.randn(part.shape).to(part) for part in (states, encoded.final)]
    total = (states * weights[0]).sum() + (encoded.final * weights[1]).sum()
    named = dict(encoder.named_parameters())
    grads = torch.autograd.grad(total / len(inputs), [inputs, *named.values()])
    return {"states": states, "final": encoded.final, **dict(zip(["inputs", *named], grads, strict=True))}


def worst(left: dict[str, Tensor], right: dict[str, Tensor]) -> dict[str, float]:
    return {
        name: ((left[name].double() - right[name].double()).norm() / right[name].double().norm().clamp(min=1e-9)).item()
        for name in right
    }


def fused_and_plain(make: type, batch: int, words: int, hidden: int, *, half: bool) -> list[dict[str, Tensor]]:
    """What both give, the plain one in double precision."""
    torch.manual_seed(0)
    encoder = make(12, hidden).to(DEVICE)
    for name, parameter in encoder.named_parameters():
        if "bias" in name:
            nn.init.uniform_(parameter, -0.5, 0.5)
    inputs = torch.randn(batch, words, 12, device=DEVICE, requires_grad=True)
    lengths = torch.randint(1, words + 1, (batch,), device=DEVICE)
    mask = torch.arange(words, device=DEVICE) < lengths[:, None]
    with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=half):
        encoded = read_fused(encoder, inputs, mask)
    fused = results(encoded, encoder, inputs, mask)
    encoder, exact = encoder.double(), inputs.detach().double().requires_grad_()
    return [fused, results(encoder(exact, mask), encoder, exact, mask)]


@pytest.mark.parametrize("make", RECURRENCES)
@pytest.mark.parametrize(("batch", "words", "hidden"), SIZES + GPU_SIZES)
def test_a_fused_recurrence_agrees_with_the_plain_one(make: type, batch: int, words: int, hidden: int) -> None:
    """Half-precision inputs, as precise as TF32's, are what the kernels take."""
    wrong = {
        name: value
        for name, value in worst(*fused_and_plain(make, batch, words, hidden, half=False)).items()
        if not value < 3e-3
    }
    assert not wrong, wrong


@pytest.mark.parametrize("make", RECURRENCES)
@pytest.mark.parametrize(("batch", "words", "hidden"), [SIZES[0], SIZES[2], *GPU_SIZES[1:2]])
def test_a_fused_recurrence_agrees_in_half_precision(make: type, batch: int, words: int, hidden: int) -> None:
    errors = worst(*fused_and_plain(make, batch, words, hidden, half=True))
    wrong = {name: value for name, value in errors.items() if not value < 2e-2}
    assert not wrong, wrong


@pytest.mark.parametrize("make", RECURRENCES)
def test_readers_read_together_as_each_alone(make: type) -> None:
    torch.manual_seed(0)
    encoders = [make(4, 16).to(DEVICE) for _ in range(3)]
    inputs = torch.randn(3, 5, 6, 4, device=DEVICE)
    masks = torch.arange(6, device=DEVICE) < torch.randint(1, 7, (3, 5, 1), device=DEVICE)
    weights, _ = torch.func.stack_module_state(encoders)

    class Read(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoders[0]

        def forward(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
            encoded = read_fused(self.encoder, inputs, mask)
            return encoded.states, encoded.final

    def read(weights: dict[str, Tensor], inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return torch.func.functional_call(Read(), {f"encoder.{k}": w for k, w in weights.items()}, (inputs, mask))

    states, final = torch.func.vmap(read)(weights, inputs, masks)
    (states.square().sum() + final.sum()).backward()
    for n, encoder in enumerate(encoders):
        alone = read_fused(encoder, inputs[n], masks[n])
        (alone.states.square().sum() + alone.final.sum()).backward()
        torch.testing.assert_close(states[n], alone.states)
        torch.testing.assert_close(final[n], alone.final)
        for name, parameter in encoder.named_parameters():
            torch.testing.assert_close(weights[name].grad[n], parameter.grad, rtol=1e-3, atol=1e-3)


def test_padding_is_not_read() -> None:
    torch.manual_seed(0)
    encoder = BiGRU(4, 16).to(DEVICE)
    inputs = torch.randn(2, 6, 4, device=DEVICE)
    mask = torch.tensor([[True] * 4 + [False] * 2, [True] * 6], device=DEVICE)
    before = read_fused(encoder, inputs, mask)
    inputs[0, 4:] = 7.0
    after = read_fused(encoder, inputs, mask)
    assert torch.equal(before.states, after.states)
    assert torch.equal(before.final, after.final)
    assert not before.states[0, 4:].any()
