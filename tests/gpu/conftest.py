"""What the tests of kernels share."""

import warnings
from collections.abc import Iterator

import pytest
from kernels import INTERPRETED


@pytest.fixture(autouse=True)
def _warnings_of_the_interpreter() -> Iterator[None]:
    with warnings.catch_warnings():
        if INTERPRETED:
            warnings.simplefilter("ignore")
        yield
