"""Plain mappings into settings, and what is refused on the way."""

from dataclasses import dataclass
from typing import Any

import pytest

from epireader.settings import BadSetting, from_mapping, nearest, parse_override, parse_value


@dataclass(frozen=True, kw_only=True)
class Kettle:
    litres: int = 2
    power: float = 1.5
    whistles: bool = False
    colour: str = "red"

    def __post_init__(self) -> None:
        if self.litres < 1:
            raise ValueError(f"kettle.litres must be at least 1, got {self.litres}")


def test_what_is_not_said_keeps_its_default() -> None:
    assert from_mapping(Kettle, {}) == Kettle()
    assert from_mapping(Kettle, {"whistles": True}) == Kettle(whistles=True)


def test_an_unknown_setting_is_refused_with_the_nearest_right_one() -> None:
    with pytest.raises(BadSetting, match=r"^there is no setting kettle\.litre; did you mean kettle\.litres\?$"):
        from_mapping(Kettle, {"litre": 1}, "kettle")


def test_where_no_name_is_near_all_of_them_are_listed() -> None:
    with pytest.raises(BadSetting, match=r"no setting zzz; there are litres, power, whistles, colour$"):
        from_mapping(Kettle, {"zzz": 1})


def test_a_whole_number_may_stand_for_a_number() -> None:
    power = from_mapping(Kettle, {"power": 3}).power
    assert power == 3.0
    assert isinstance(power, float)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("litres", 1.0, "a whole number"),
        ("litres", "1", "a whole number"),
        ("litres", True, "a whole number"),
        ("litres", None, "a whole number"),
        ("power", "much", "a number"),
        ("power", True, "a number"),
        ("whistles", 1, "true or false"),
        ("whistles", "yes", "true or false"),
        ("colour", 5, "text"),
        ("colour", ["red"], "text"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_the_right_kind(name: str, value: Any, kind: str) -> None:
    with pytest.raises(BadSetting) as error:
        from_mapping(Kettle, {name: value}, "kettle")
    assert str(error.value) == f"kettle.{name} must be {kind}, got {value!r}"


def test_a_value_the_settings_themselves_refuse_is_a_bad_setting() -> None:
    with pytest.raises(BadSetting, match=r"kettle\.litres must be at least 1, got 0"):
        from_mapping(Kettle, {"litres": 0})


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("training.batch_size=64", ("training", "batch_size", 64)),
        (" training.l2 = 1e-3 ", ("training", "l2", 0.001)),
        ("reader=as-reader", ("", "reader", "as-reader")),
        ("a.b.c=true", ("a.b", "c", True)),
        ("a.b=x=y", ("a", "b", "x=y")),
        ('a.b="64"', ("a", "b", "64")),
        ("a.b=", ("a", "b", "")),
    ],
)
def test_an_override_is_a_section_a_name_and_a_value(text: str, parsed: tuple[str, str, Any]) -> None:
    assert parse_override(text) == parsed


@pytest.mark.parametrize("text", ["", "training.batch_size", "=3", "training.=3", "64"])
def test_an_override_that_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadSetting, match=r"takes section\.name=value, for example training\.batch_size=64; got "):
        parse_override(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("3.0", 3.0), ("false", False), ("bf16", "bf16"), ("[1, 2]", [1, 2]), ("True", "True")],
)
def test_a_value_is_read_as_toml_and_a_bare_word_as_text(text: str, value: Any) -> None:
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_the_nearest_name_carries_its_section() -> None:
    assert nearest("batchsize", ["batch_size", "l2"], "training") == "; did you mean training.batch_size?"
    assert nearest("qqq", ["a", "b"], "s") == "; there are s.a, s.b"
