"""Every default has one home, and the command line is made from it."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from epireader.cli import serve as command
from epireader.cli.main import cli
from epireader.serve.settings import ServeSettings


@pytest.mark.parametrize("name", [field.name for field in fields(ServeSettings) if "least" in field.metadata])
def test_no_limit_can_be_below_its_least(name: str) -> None:
    least = next(field.metadata["least"] for field in fields(ServeSettings) if field.name == name)
    assert getattr(ServeSettings(**{name: least}), name) == least
    with pytest.raises(ValueError, match=f"{name} must be at least {least}, got {least - 1}"):
        ServeSettings(**{name: least - 1})


def test_a_port_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="65535"):
        ServeSettings(port=65_536)


def test_a_server_without_a_model_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one model"):
        ServeSettings(models=())


def test_help_tells_every_setting_with_its_default() -> None:
    text = CliRunner().invoke(cli, ["serve", "--help"], terminal_width=200).output
    for field in fields(ServeSettings):
        option = "--model" if field.name == "models" else f"--{field.name.replace('_', '-')}"
        assert option in text
        if "help" in field.metadata:
            assert field.metadata["help"] in text
            assert f"[default: {field.default}" in text


def test_the_command_line_becomes_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[ServeSettings] = []
    monkeypatch.setattr(command, "run_server", seen.append)
    arguments = ["--host", "::1", "--port", "0", "--model", "a", "--model", "b", "--queue", "7", "--body-bytes", "99"]
    assert CliRunner().invoke(cli, ["serve", *arguments]).exit_code == 0
    assert CliRunner().invoke(cli, ["serve"]).exit_code == 0
    assert seen == [
        ServeSettings(host="::1", port=0, models=("a", "b"), queue=7, body_bytes=99),
        ServeSettings(),
    ]


@pytest.mark.parametrize("arguments", [["--queue", "0"], ["--port", "65536"], ["--words", "many"]])
def test_a_limit_that_makes_no_sense_is_a_mistake_on_the_command_line(arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, ["serve", *arguments]).exit_code == 2


def test_an_address_in_use_is_told_before_models_are_loaded() -> None:
    with command.listening_socket(ServeSettings(port=0)) as taken:
        port = taken.getsockname()[1]
        done = CliRunner().invoke(cli, ["serve", "--port", str(port), "--model", "there-is-no-such-model"])
    assert done.exit_code == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in done.output


def test_the_limits_in_the_docs_are_the_limits() -> None:
    text = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if re.fullmatch(r"\|.*\| `--.*\|", line)]
    assert len(rows) >= 7
    for row in rows:
        for option in re.findall(r"`--([\w-]+)`", row):
            assert f"{getattr(ServeSettings(), option.replace('-', '_')):,}" in row, row
    assert all(f"--{name.replace('_', '-')}" in text for name in ("batch", "cache_words", "body_seconds"))
