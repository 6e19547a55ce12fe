"""The data sets that lie beside the repository on some machines, and are never part of it."""

from pathlib import Path

import pytest


def shared_data(name: str) -> Path:
    """The path of `name` in ../shared/data; the test is skipped where it is not there."""
    path = Path(__file__).parents[2] / "shared" / "data" / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path
