"""Where kernels of our own can stand in for plain operations."""

import importlib.util
from functools import cache

import torch
from torch import Tensor

LARGEST_BLOCK = 1024
LONGEST_ROW = 16384


def can_be_kernel(values: Tensor) -> bool:
    """Whether a kernel that computes in single precision can take these values."""
    return values.device.type == "cuda" and values.dtype != torch.float64 and generation(values.device) >= 8


def can_pool_fused(rows: Tensor, filters: Tensor) -> bool:
    """Whether all filters' values for all last entries of `rows` fit into one program."""
    size = next_power_of_two(rows.shape[-1]) * next_power_of_two(filters.shape[-1])
    return can_be_kernel(rows) and size <= LARGEST_BLOCK


@cache
def generation(device: torch.device) -> int:
    """Of a GPU that Triton can be used on; otherwise 0."""
    if torch.version.cuda is None or importlib.util.find_spec("triton") is None:
        return 0
    return torch.cuda.get_device_properties(device).major


def next_power_of_two(size: int) -> int:
    return 1 << max(size - 1, 0).bit_length()
