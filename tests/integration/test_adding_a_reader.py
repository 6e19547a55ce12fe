"""docs/adding-a-reader.md is followed to the letter, in a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from builders import toy_corpus

import epireader

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/adding-a-reader.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`(src/\S+)`\n\n```\w+\n(.*?)```", PAGE, flags=re.DOTALL | re.MULTILINE))
TABLE = "src/epireader/readers/__init__.py"
ENTRY = re.search(r'```python\n(    "\S+": ReaderKind.*?\n)```', PAGE)
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL) for line in block.splitlines()]


FOLLOW = """
import json, shlex, sys
QUIET = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
from click.testing import CliRunner
from epireader.cli.main import cli
for line in json.loads(sys.argv[1]):
    words = shlex.split(line)
    if words[0] == "epireader":
        result = CliRunner().invoke(cli, [*words[1:], *([] if words[1] == "train" else ["--json"])])
        assert result.exit_code == 0, (line, result.output, result.exception)
        print(result.stdout.strip())
    else:
        import pytest
        assert words[:3] == ["python", "-m", "pytest"], line
        print(int(pytest.main([*words[3:], "-p", "no:cacheprovider", *QUIET])))
"""
"""Runs the commands of the page, one after the other but in one process: most of their time is importing torch."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which the page has been followed."""
    place = tmp_path_factory.mktemp("checkout")
    left_out = shutil.ignore_patterns("pretrained", "__pycache__", "pages")
    shutil.copytree(Path(epireader.__file__).parent, place / "src/epireader", ignore=left_out)
    for name in ("tests", "pyproject.toml"):
        (place / name).symlink_to(ROOT / name)
    for path, content in FILES.items():
        if path != TABLE:
            assert not (place / path).exists(), "the page must add files, not replace them"
            (place / path).write_text(content, encoding="utf-8")
    table, (_, start, rest) = place / TABLE, (place / TABLE).read_text().partition("READERS = {\n")
    assert ENTRY
    before = table.read_text().partition(start)[0]
    table.write_text(before.replace("\n\n\n", f"\n{FILES[TABLE]}\n\n", 1) + start + ENTRY[1] + rest)
    toy_corpus(place / "corpora/cbt-ne", train=400, valid=60)
    return place


def test_the_page_has_one_file_one_line_one_preset() -> None:
    assert [Path(path).suffix for path in FILES] == [".py", ".py", ".toml"]
    assert ENTRY
    assert ENTRY[1].count("\n") == FILES[TABLE].count("\n") == 1


def test_the_reader_of_the_page_is_trained_measured_compared_and_proved(folder: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", FOLLOW, json.dumps(COMMANDS)]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    measured, compared = said[-2:]
    assert measured["accuracy"]["final"] > 0.9
    assert compared["accuracy"]["runs/bag"] > 0.9 > 0.5 > compared["accuracy"]["most-frequent"]
    assert done.stdout.splitlines()[-1] == "0", done.stdout
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) > 10
