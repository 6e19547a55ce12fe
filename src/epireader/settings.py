"""Settings are dataclasses; this turns plain mappings (TOML, JSON, `--set`) into them and refuses what does not fit."""

import dataclasses
import difflib
import tomllib
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class BadSetting(ValueError):
    """A setting that does not exist or cannot have the value given."""


def from_mapping(cls: type[T], values: Mapping[str, Any], section: str = "") -> T:
    """An instance of a settings dataclass; what is not said keeps its default."""
    hints = typing.get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    checked = {}
    for name, value in values.items():
        place = f"{section}.{name}" if section else name
        if name not in names:
            raise BadSetting(f"there is no setting {place}{nearest(name, names, section)}")
        checked[name] = _checked(hints[name], value, place)
    try:
        return cls(**checked)
    except ValueError as error:
        raise BadSetting(str(error)) from None


def refuse_below_one(settings: object, section: str, *names: str) -> None:
    """Counts and sizes must be at least 1."""
    for name in names:
        if getattr(settings, name) < 1:
            raise ValueError(f"{section}.{name} must be at least 1, got {getattr(settings, name)}")


def refuse_no_share(settings: object, section: str, *names: str) -> None:
    """A share that is left out, or kept of the past, must be at least 0 and leave something."""
    for name in names:
        if not 0 <= getattr(settings, name) < 1:
            raise ValueError(f"{section}.{name} must be at least 0 and below 1, got {getattr(settings, name)}")


def refuse_negative(settings: object, section: str, *names: str) -> None:
    """A weight must not turn what is to be made small into what is to be made large."""
    for name in names:
        if not getattr(settings, name) >= 0:
            raise ValueError(f"{section}.{name} must be at least 0, got {getattr(settings, name)}")


def nearest(name: str, names: Iterable[str], section: str = "") -> str:
    """A hint at the name that was probably meant."""
    prefix = f"{section}." if section else ""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.4)
    return f"; did you mean {prefix}{close[0]}?" if close else f"; there are {', '.join(prefix + n for n in names)}"


def parse_override(text: str) -> tuple[str, str, Any]:
    """The section, name and value of a `--set section.name=value`."""
    path, equals, value = text.partition("=")
    section, _, name = path.strip().rpartition(".")
    if not equals or not name:
        raise BadSetting(f"--set takes section.name=value, for example training.batch_size=64; got {text!r}")
    return section, name, parse_value(value.strip())


def parse_value(text: str) -> Any:
    """A value as TOML writes it; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _checked(wanted: type, value: Any, place: str) -> Any:
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        kind = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}.get(
            wanted, wanted.__name__
        )
        raise BadSetting(f"{place} must be {kind}, got {value!r}")
    return value
