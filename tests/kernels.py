"""Where kernels are tested: on a GPU, or anywhere in Triton's interpreter (`TRITON_INTERPRET=1`)."""

import importlib.util
import os

import pytest
import torch

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
somewhere_to_run = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None or not (INTERPRETED or torch.cuda.is_available()),
    reason="there is no GPU, or no Triton",
)
