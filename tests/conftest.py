"""Shapes and types of the whole package are checked while the tests run (where beartype is installed)."""

import importlib.util
from collections.abc import Iterator

import jaxtyping
import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

settings.register_profile("epireader", deadline=None)  # no test asserts a time
settings.load_profile("epireader")

if importlib.util.find_spec("triton"):
    # Before the hook: Triton compiles a function's source, so nothing may be wrapped around it.
    for kernels in ("attention", "gru", "looks", "lstm", "sentences", "statements"):
        importlib.import_module(f"epireader.layers.fused.{kernels}")
if importlib.util.find_spec("beartype"):
    install_import_hook("epireader", "beartype.beartype")


@pytest.fixture
def unchecked() -> Iterator[None]:
    """But not in thousands of steps of readers whose shapes other tests check: it takes a third of their time."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
