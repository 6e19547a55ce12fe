"""The paper's comparison in small, for tests."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from builders import who_has_what
from running import call

from epireader.data.writing import cbt_record

SIZES = ("model.embedding_dim=8", "model.hidden_dim=6", "training.batch_size=8", "training.max_epochs=2")
SETTINGS = [word for setting in SIZES for word in ("--set", setting)]


def small_cbt(folder: Path) -> Path:
    """A corpus prepared from files that are named as CBT's are."""
    random = np.random.default_rng(0)
    (folder / "data").mkdir()
    for split, count in {"train": 96, "valid_2000ex": 24, "test_2500ex": 32}.items():
        records = "".join(cbt_record(who_has_what(random)) for _ in range(count))
        (folder / f"data/cbtest_NE_{split}.txt").write_text(records)
    assert call("prepare", folder / "data", folder / "toys", "--kind", "NE") == 0
    return folder / "toys"


def lines_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]


def without_the_clock(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in ("seconds", "date", "command")}
