"""Which way the looks are computed. What they compute is tested with the Impatient Reader, and on a GPU."""

import pytest
import torch
from torch import nn

from epireader.layers import looks
from epireader.layers.attention import TanhAttention
from epireader.layers.looks import Looked, Looker, Sought, look_after_every_word


def looked_by(monkeypatch: pytest.MonkeyPatch, width: int, *, gpu: bool) -> str:
    """The name of the way that was taken."""
    taken = []
    for way in ("look_fused", "look_by_look"):
        nowhere = Looked(torch.zeros(1, width), torch.zeros(1, 2))
        monkeypatch.setattr(looks, way, lambda *_, way=way, nowhere=nowhere: taken.append(way) or nowhere)
    if gpu:
        monkeypatch.setattr(looks, "may_be_fused", lambda _: True)
    linear = nn.Linear(width, width, bias=False)
    states, mask = torch.zeros(1, 2, width), torch.ones(1, 2, dtype=torch.bool)
    look_after_every_word(
        Looker(TanhAttention(width), linear, linear, torch.zeros(width)), Sought(states, states, mask, states, mask)
    )
    return taken[0]


@pytest.mark.parametrize(
    ("width", "gpu", "way"),
    [
        (256, True, "look_fused"),
        (256, False, "look_by_look"),
        (48, True, "look_by_look"),
        (1024, True, "look_by_look"),
        (16, True, "look_by_look"),
    ],
)
def test_looks_are_one_kernel_where_they_can_be(
    monkeypatch: pytest.MonkeyPatch, width: int, gpu: bool, way: str
) -> None:
    assert looked_by(monkeypatch, width, gpu=gpu) == way
