"""Where kernels of our own can stand in for plain operations. They compute in single precision, without rounding."""

import torch
from torch import Tensor

from epireader.layers.directions import has_room

LARGEST_BLOCK = 1024
LONGEST_ROW = 16384


def can_be_kernel(values: Tensor) -> bool:
    """Whether a kernel can take these values."""
    return values.device.type == "cuda" and values.dtype != torch.float64 and has_room(values.device, 0)


def can_pool_fused(rows: Tensor, filters: Tensor) -> bool:
    """Whether all filters' values for all last entries of `rows` fit into one program."""
    size = next_power_of_two(rows.shape[-1]) * next_power_of_two(filters.shape[-1])
    return can_be_kernel(rows) and size <= LARGEST_BLOCK


def next_power_of_two(size: int) -> int:
    return 1 << max(size - 1, 0).bit_length()
