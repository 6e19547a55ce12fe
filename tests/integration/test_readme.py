"""Every command of the README is run, from an empty folder, as a new user would run it."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from builders import household_book, who_has_what, write_books
from click.testing import CliRunner

from epireader.cli.answer import DEMONSTRATION
from epireader.cli.main import COMMANDS, cli
from epireader.data.writing import cbt_record

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)
LINES = [line.split("  #")[0].strip() for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]
COMMAND_LINES = [line for line in LINES if line.startswith("epireader ")]
QUICK = ["model.embedding_dim=8", "model.hidden_dim=6", "training.max_epochs=1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder with the files the README's user is said to have."""
    place = tmp_path_factory.mktemp("user")
    random = np.random.default_rng(0)
    (place / "CBTest/data").mkdir(parents=True)
    for split, count in {"train": 40, "valid_2000ex": 10, "test_2500ex": 10}.items():
        records = "".join(cbt_record(who_has_what(random)) for _ in range(count))
        (place / f"CBTest/data/cbtest_CN_{split}.txt").write_text(records)
    (place / "story.txt").write_text("Ann had a goat. 'Come in,' said Tom. The goat ran in.")
    (place / "questions.jsonl").write_text('{"passage": "Ann had a goat.", "question": "The XXXXX ran ."}\n')
    (place / "grid.toml").write_text('preset = "cbt-cn"\n[grid]\n"training.seed" = [0, 1]\n')
    (place / "book.txt").write_text(
        "\n".join(
            f"One day old Ann met Tom and Sue near the mill of Max, and Bob saw them. Day {n} went by."
            for n in range(40)
        )
    )
    write_books(place / "tales.txt", [household_book(random, "Household")])
    return place


def test_every_command_of_the_readme_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert COMMAND_LINES
    for line in COMMAND_LINES:
        words = shlex.split(line)[1:]
        if words[0] == "serve":
            continue  # it runs until it is stopped; tests/integration/test_serve_*.py starts it
        if words[0] == "train":
            quick = QUICK[2:] if "--from" in words else QUICK  # what it begins with says how large a reader is
            words += [part for setting in quick for part in ("--set", setting)]
        if words[0] == "reproduce":
            words += [part for setting in (QUICK[0], QUICK[2]) for part in ("--set", setting)]
        if words[0] == "grid":
            (folder / "grid.toml").write_text(grid_with(QUICK))
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception!r}"
        for copy in ("other", "cn-0", "cn-1"):
            if (folder / "runs/cn").exists() and not (folder / "runs" / copy).exists():
                shutil.copytree(folder / "runs/cn", folder / "runs" / copy)


def test_the_python_of_the_readme_works(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    code = "\n".join(block for kind, block in BLOCKS if kind == "python")
    exec(compile(code, "README", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) == 10


def test_what_the_readme_shows_of_make_answer_is_what_it_prints() -> None:
    blocks = re.findall(r"```\w*\n(.*?)```", README, flags=re.DOTALL)
    shown = next(block for block in blocks if DEMONSTRATION[1] in block)
    assert CliRunner().invoke(cli, ["answer", "--demo"]).stdout.split() == shown.split()


def test_every_command_stands_in_the_readme() -> None:
    for command in COMMANDS:
        assert f"epireader {command}" in README, command


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))])
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!http)([^)]+)\)", page.read_text(encoding="utf-8")):
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not heading or heading in anchors(target), link


def anchors(page: Path) -> list[str]:
    """The names by which the headings of a page are linked to."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def grid_with(settings: list[str]) -> str:
    lines = "\n".join(f'"{name}" = [{value}]' for name, value in (setting.split("=") for setting in settings))
    return f'preset = "cbt-cn"\n[grid]\n"training.seed" = [0, 1]\n{lines}\n'
