"""Imports flow one way, help starts without torch, and some things are written in one place only."""

import ast
import json
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import epireader

PACKAGE = Path(epireader.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

ORDER = ("text", "data", "layers", "readers", "evaluation", "training", "answer", "serve", "cli")
"""Every part may import those to its left."""
FREE = ("files", "settings", "stories")
"""May be imported by all, and import nothing of ours."""


def name_of(path: Path) -> str:
    """The dotted name of a module, without the package's own: `data.cbt`; empty for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports_of(source: str, package: str) -> Iterator[tuple[int, str]]:
    """Every module of ours that is imported anywhere in a file, inside functions too, with the line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            names = [f"{module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("import_module", "importlib.import_module"):
            names = [ast.unparse(node.args[0]).strip("f'\"")]
        else:
            continue
        yield from ((node.lineno, name) for name in names)


def of_ours(path: Path) -> Iterator[tuple[int, str]]:
    package = ".".join(("epireader", *path.relative_to(PACKAGE).parent.parts))
    for line, name in imports_of(path.read_text(encoding="utf-8"), package):
        if name.split(".")[0] == "epireader":
            yield line, name.removeprefix("epireader").removeprefix(".")


def may_import(importer: str, imported: str) -> bool:
    part, other = importer.split(".")[0], imported.split(".")[0]
    if part in ("", "__main__"):
        return True
    if part in FREE:
        return other == part
    if other == "__version__" or other in FREE:
        return True
    return other in ORDER and ORDER.index(other) <= ORDER.index(part)


def test_every_part_of_the_package_has_its_place_in_the_order() -> None:
    assert {name_of(path).split(".")[0] for path in FILES} - {"", "__main__"} <= {*ORDER, *FREE}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_flow_one_way_only(path: Path) -> None:
    wrong = [f"line {line} imports {name}" for line, name in of_ours(path) if not may_import(name_of(path), name)]
    assert wrong == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_what_is_imported_of_ours_is_there(path: Path) -> None:
    for line, name in of_ours(path):
        module = PACKAGE.joinpath(*name.split("."))
        here = [
            module.with_suffix(".py"),
            module / "__init__.py",
            module.parent.with_suffix(".py"),
            module.parent / "__init__.py",
        ]
        assert any(place.is_file() for place in here) or "{" in name, f"line {line}: there is no {name}"


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("data.cbt", "text.rules", True),
        ("text.rules", "data.cbt", False),
        ("readers.saved", "files", True),
        ("files", "settings", False),
        ("settings", "data.example", False),
        ("evaluation.predict", "training.run", False),
        ("training.run", "answer", False),
        ("data.prepare", "__version__", True),
        ("data.prepare", "Reader", False),
        ("training.run", "cli.show", False),
    ],
)
def test_the_order_of_imports_is_what_we_think(importer: str, imported: str, allowed: bool) -> None:
    assert may_import(importer, imported) is allowed


def test_imports_are_found_wherever_they_hide() -> None:
    source = (
        "import epireader.cli\nfrom ..data import x\ndef f():\n    from . import y\n    import_module('epireader.z')\n"
    )
    assert list(imports_of(source, "epireader.readers")) == [
        (1, "epireader.cli"),
        (2, "epireader.data.x"),
        (4, "epireader.readers.y"),
        (5, "epireader.z"),
    ]


def loaded_after(statement: str) -> set[str]:
    """The top-level modules that a fresh Python has after a statement."""
    code = f"{statement}; import sys, json; print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_help_and_the_package_itself_start_without_torch_and_numpy() -> None:
    assert not loaded_after("import epireader, epireader.cli.main") & {"torch", "numpy", "safetensors", "rich"}


def test_all_that_is_public_is_shown_by_help_and_completion() -> None:
    assert set(epireader.__all__) <= set(dir(epireader))
    assert "class Story" in pydoc.plain(pydoc.render_doc(epireader))
    assert not loaded_after("import epireader; dir(epireader)") & {"torch", "numpy"}


def test_no_commands_help_needs_torch_or_numpy() -> None:
    commands = ", ".join(f"epireader.cli.{path.stem}" for path in sorted((PACKAGE / "cli").glob("[a-z]*.py")))
    assert not loaded_after(f"import {commands}") & {"torch", "numpy"}


def test_training_and_answering_need_nothing_that_only_tests_or_servers_have() -> None:
    modules = ", ".join(f"epireader.training.{path.stem}" for path in sorted((PACKAGE / "training").glob("[a-z]*.py")))
    loaded = loaded_after(f"import {modules}, epireader.answer")
    assert "torch" in loaded
    assert not loaded & {"beartype", "spacy", "fastapi", "hypothesis", "pytest", "tensorboard"}


def test_an_answer_is_given_without_the_compiler_of_torch() -> None:
    asked = "Reader.load().answer('Ann had a goat.', 'XXXXX had a goat .')"
    assert not loaded_after(f"from epireader import Reader; {asked}") & {"sympy", "triton", "matplotlib"}


def outside_of(*folders: str) -> list[Path]:
    return [path for path in FILES if path.relative_to(PACKAGE).parts[0] not in folders]


@pytest.mark.parametrize("path", outside_of("cli"), ids=name_of)
def test_only_commands_print(path: Path) -> None:
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    written = {ast.unparse(call) for call in calls}
    assert not written & {"print", "click.echo", "sys.stdout.write", "sys.stderr.write", "breakpoint"}


def infinities(source: str) -> list[str]:
    """Whatever in a piece of code is an infinity: `math.inf`, `torch.inf`, `float("-inf")`, 1e999."""
    found = []
    for node in ast.walk(ast.parse(source)):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.lower().lstrip("+-")
        number = isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value in (1e999, -1e999)
        named = isinstance(node, ast.Attribute) and node.attr in ("inf", "Inf", "infty")
        imported = isinstance(node, ast.ImportFrom) and any(alias.name == "inf" for alias in node.names)
        if text in ("inf", "infinity") or number or named or imported:
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("code", ["math.inf", "-torch.inf", "float('-inf')", "from math import inf", "1e999", "np.inf"])
def test_an_infinity_is_known_in_all_its_forms(code: str) -> None:
    assert infinities(code)
    assert not infinities("'information', math.info, 1e30")


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.relative_to(PACKAGE).parts[0] in ("layers", "readers")], ids=name_of
)
def test_only_masking_writes_an_infinity(path: Path) -> None:
    assert bool(infinities(path.read_text())) == (name_of(path) == "layers.masking")
