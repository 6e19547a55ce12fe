"""`epireader` itself: help, exit codes, and what becomes of errors."""

import json
import subprocess
import sys
import time

import click
import pytest
from running import call

from epireader import __version__
from epireader.cli.main import COMMANDS, cli, explained
from epireader.data.corpus import BadCorpus
from epireader.training.journal import Diverged

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_commands_help_has_a_sentence_and_an_example(command: str, capsys: Captured) -> None:
    assert call(command, "--help") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"Usage: epireader {command}")
    _, title, examples = out.partition("Example")
    assert title
    assert f"  epireader {command}" in examples
    assert call(command, "-h") == 0
    assert capsys.readouterr().out == out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_does(command: str) -> None:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    wordless = [option.name for option in found.params if isinstance(option, click.Option) and not option.help]
    assert wordless == []


def test_the_first_help_lists_every_command(capsys: Captured) -> None:
    assert call("--help") == 0
    out = capsys.readouterr().out
    assert "Example" in out
    for command, sentence in COMMANDS.items():
        assert f"{command} " in out
        assert sentence[:30] in out


def test_help_answers_at_once_and_without_torch() -> None:
    code = (
        "import sys, json; from epireader.cli.main import main\n"
        f"for words in [[], *([name] for name in {list(COMMANDS)})]:\n"
        "    sys.argv = ['epireader', *words, '--help']; main()\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(json.loads(done.stdout.splitlines()[-1])) & {
        "torch",
        "numpy",
        "safetensors",
        "rich",
        "epireader.readers",
    }
    start = time.monotonic()
    subprocess.run([sys.executable, "-m", "epireader", "--help"], capture_output=True, check=True)
    assert time.monotonic() - start < 1.0


def test_the_version_is_the_packages(capsys: Captured) -> None:
    assert call("--version") == 0
    assert capsys.readouterr().out == f"epireader, version {__version__}\n"


def test_without_a_command_help_is_shown_as_a_mistake(capsys: Captured) -> None:
    assert call() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Commands:" in err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BadCorpus("the corpus is bad"), 1, "epireader: the corpus is bad\n"),
        (Diverged("the loss is gone"), 1, "epireader: the loss is gone\n"),
        (ValueError("no such thing"), 1, "epireader: no such thing\n"),
        (
            FileNotFoundError(2, "No such file or directory", "x.txt"),
            1,
            "epireader: No such file or directory: x.txt\n",
        ),
        (FileExistsError("out exists already"), 1, "epireader: out exists already\n"),
        (OSError(28, "No space left on device"), 1, "epireader: No space left on device\n"),
        (
            UnicodeEncodeError("ascii", "Zoë", 2, 3, "x"),
            1,
            "epireader: '\\xeb' cannot be written in ascii; terminal and text must be UTF-8 (PYTHONIOENCODING=utf-8)\n",
        ),
        (click.UsageError("not so"), 2, "Error: not so\n"),
        (click.Abort(), 130, ""),
        (KeyboardInterrupt(), 130, "\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_what_goes_wrong_becomes_one_sentence_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, error: BaseException, code: int, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(click.Command, "invoke", fail)
    assert call("tokenize", "-") == code
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    "error", [RuntimeError("x"), KeyError("x"), UnicodeDecodeError("utf-8", b"", 0, 1, "x"), ZeroDivisionError()]
)
def test_our_own_mistakes_show_where_they_are(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    assert explained(error) is None
    monkeypatch.setattr(click.Command, "invoke", fail)
    with pytest.raises(type(error)):
        call("tokenize", "-")


def test_too_little_gpu_memory_is_known_by_its_name() -> None:
    class OutOfMemoryError(RuntimeError):
        pass

    assert "smaller training.batch_size" in (explained(OutOfMemoryError("CUDA out of memory")) or "")
