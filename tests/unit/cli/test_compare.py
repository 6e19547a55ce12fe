"""`epireader compare` on files that `evaluate --predictions` wrote."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from running import call

Captured = pytest.CaptureFixture[str]
ANSWERS = ("Ann", "Bob", "Ann", "Cy")


def predictions(path: Path, right: Sequence[bool | None], answers: Sequence[str | None] = ANSWERS) -> Path:
    """A file of predictions, as far as `compare` reads it."""
    said = zip(answers, right, strict=True)
    lines = [{"question": n, "answer": answer, "correct": correct} for n, (answer, correct) in enumerate(said)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_files_of_predictions_are_compared_on_the_questions_with_a_known_answer(
    tmp_path: Path, capsys: Captured
) -> None:
    answers = (*ANSWERS, None, None)  # the last has an answer that is not among its candidates
    files = [
        predictions(tmp_path / f"{name}.jsonl", right, answers)
        for name, right in {
            "one": (True, True, False, True, None, False),
            "two": (False, True, False, False, None, False),
        }.items()
    ]
    assert call("compare", *files, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["questions"] == 5
    assert list(said["accuracy"].values()) == [0.6, 0.2]
    assert (said["pairs"][0]["only_first"], said["pairs"][0]["only_second"]) == (2, 0)


@pytest.mark.parametrize("answers", [("Ann", "Bob", "Cy", "Cy"), ("Ann", "Bob", "Ann")])
def test_files_about_different_questions_are_not_compared(
    tmp_path: Path, capsys: Captured, answers: tuple[str, ...]
) -> None:
    one = predictions(tmp_path / "one.jsonl", [True] * 4)
    two = predictions(tmp_path / "two.jsonl", [False] * len(answers), answers)
    assert call("compare", one, two) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"epireader: {one} and {two} are about different questions; ask both readers the same ones\n"


@pytest.mark.parametrize("option", [("--split", "test"), ("--kind", "NE"), ("--questions", "one.jsonl")])
def test_what_to_ask_is_refused_where_the_answers_are_there_already(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, option: tuple[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one.jsonl", "two.jsonl"):
        predictions(Path(name), [True] * 4)
    assert call("compare", "one.jsonl", "two.jsonl", *option) == 2
    assert "leave out --questions, --split and --kind" in capsys.readouterr().err
