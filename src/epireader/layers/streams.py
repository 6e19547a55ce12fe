"""Two computations at once on a GPU. A recurrence uses a small part of it, so several can run side by side."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

First = TypeVar("First")


def side_by_side(
    first: Callable[[], First], second: Callable[[], tuple[Tensor, ...]], inputs: Sequence[Tensor]
) -> tuple[First, tuple[Tensor, ...]]:
    """Both results. On a GPU the second is computed on a stream of its own; `inputs` are the tensors it reads."""
    device = inputs[0].device
    if device.type != "cuda":
        return first(), second()
    here = torch.cuda.current_stream(device)
    beside = _stream_beside(here)
    beside.wait_stream(here)
    with torch.cuda.stream(beside):
        outputs = second()
    result = first()
    here.wait_stream(beside)
    # Memory may only be used again when both streams are done with it.
    for tensor in inputs:
        tensor.record_stream(beside)
    for tensor in outputs:
        tensor.record_stream(here)
    return result, outputs


_streams: dict[tuple[torch.device, int], torch.cuda.Stream] = {}


def _stream_beside(stream: torch.cuda.Stream) -> torch.cuda.Stream:
    key = (stream.device, stream.cuda_stream)
    if key not in _streams:
        _streams[key] = torch.cuda.Stream(stream.device)
    return _streams[key]
