"""A search over settings: every combination of the values a grid file lists (section 5.1)."""

import itertools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epireader.settings import BadSetting
from epireader.training.config import Config, as_file_name, load_config, run_name


@dataclass(frozen=True)
class GridPoint:
    """One combination, and the name of its run."""

    name: str
    config: Config


def load_grid(path: Path) -> list[GridPoint]:
    """The points of a grid file: `preset = "..."` and a table `[grid]` of `"section.name" = [values]`."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSetting(f"{path}: {error}") from None
    axes = values.get("grid")
    if not isinstance(values.get("preset"), str) or not isinstance(axes, dict) or set(values) != {"preset", "grid"}:
        raise BadSetting(f'{path} must have a line preset = "..." and a table [grid], and nothing else')
    for name, choices in axes.items():
        if not isinstance(choices, list) or not choices:
            raise BadSetting(f"{path}: {name} must be a list of values, got {choices!r}")
    return [
        _point(values["preset"], dict(zip(axes, chosen, strict=True))) for chosen in itertools.product(*axes.values())
    ]


def _point(preset: str, chosen: dict[str, Any]) -> GridPoint:
    overrides = [f"{name}={_toml(value)}" for name, value in chosen.items()]
    return GridPoint(run_name(chosen) or as_file_name(preset), load_config(preset, overrides))


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
