"""`epireader table`: what is printed."""

import json
from pathlib import Path

import pytest
from builders import result
from running import call

from epireader.evaluation.results import append_result

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two seeds of the AS Reader and an EpiReader that was not finished."""
    for seed, accuracy in enumerate((0.60, 0.64)):
        figures = {"accuracy": {"final": accuracy, "extractor": accuracy}}
        command = f"epireader reproduce corpora/cbt-ne --reader as-reader --seed {seed} --out results"
        append_result(tmp_path / "results.jsonl", result(seed=seed, valid=figures, test=figures, command=command))
    command = "epireader reproduce corpora/cbt-ne --reader cbt-ne --seed 0 --out results"
    append_result(
        tmp_path / "results.jsonl", result(reader="epireader", preset="cbt-ne", finished=False, command=command)
    )
    return tmp_path


def printed(capsys: Captured, *words: object) -> list[str]:
    assert call("table", *words) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return str(out).splitlines()


def test_measured_figures_stand_beside_the_published_ones(results: Path, capsys: Captured) -> None:
    lines = printed(capsys, results)
    assert lines[0] == "Children's Book Test: accuracy on validation / test, %"
    assert lines[2].split("  ")[-1].strip() == "CBT CN"
    assert [word for word in lines[2].split() if word not in ("NE", "CN")] == ["CBT", "CBT-R", "CBT"]
    assert lines[3].split() == ["published", "measured", "published"]
    reader = next(line for line in lines if line.startswith("AS Reader [2]"))
    assert reader.split(None, 3)[3] == "73.8 / 68.6  62.0±2.8 / 62.0±2.8 (2)  68.8 / 63.4"
    final = next(line for line in lines if line.startswith("EpiReader [3]"))
    assert "75.3 / 69.7  75.0 / 75.0 (1)*" in final


def test_a_long_name_goes_on_below_its_figures_and_is_broken_at_commas(results: Path, capsys: Captured) -> None:
    changed = ["model.asks_at_blank=false", "model.hidden_dim=128", "model.marks_beside=32", "training.average=0.999"]
    append_result(results / "results.jsonl", result(overrides=changed))
    lines = printed(capsys, results)
    first = next(n for n, line in enumerate(lines) if line.startswith("AS Reader, "))
    assert lines[first].split("  ")[0] == "AS Reader, no asks_at_blank, hidden_dim=128,"
    assert lines[first].endswith("75.0 / 75.0 (1)")
    assert lines[first + 1] == "  marks_beside=32, average=0.999"
    page = "\n".join(printed(capsys, results, "--markdown"))
    assert "| AS Reader, no asks_at_blank, hidden_dim=128, marks_beside=32, average=0.999 |" in page


def test_distances_and_notes_and_commands_follow(results: Path, capsys: Captured) -> None:
    lines = printed(capsys, results)
    start = lines.index("Children's Book Test: points over the AS Reader on test")
    distance = next(line for line in lines[start:] if line.startswith("EpiReader  "))
    assert distance.split() == ["EpiReader", "+1.1", "+13.0", "+4.0"]
    text = "\n".join(lines)
    assert "CBT-R: questions rebuilt in the form of CBT. They are not CBT, and these figures compare with" in text
    assert "(n): so many seeds" in text
    assert "*: training was not finished" in text
    assert lines[-3:] == [
        "Measured with:",
        "epireader reproduce corpora/cbt-ne --reader as-reader --seed 0 --seed 1 --out results",
        "epireader reproduce corpora/cbt-ne --reader cbt-ne --seed 0 --out results",
    ]


def test_an_ensemble_is_one_figure_and_no_seeds(results: Path, capsys: Captured) -> None:
    assert "as one" not in "\n".join(printed(capsys, results))
    append_result(results / "results.jsonl", result(seed=None, members=[0, 1]))
    lines = printed(capsys, results)
    reader = next(line for line in lines if line.startswith("AS Reader (ensemble) [2]"))
    assert "74.5 / 70.6  75.0 / 75.0 (2 as one) " in reader
    assert "(n as one): so many seeds, of whose probabilities the mean was taken." in lines
    start = lines.index("Children's Book Test: points over the AS Reader on test")
    distance = next(line for line in lines[start:] if line.startswith("AS Reader (ensemble)"))
    assert distance.split()[-3:] == ["+2.0", "+13.0", "+5.5"]


def test_without_results_the_figures_of_the_package_are_shown(capsys: Captured) -> None:
    lines = printed(capsys)
    assert any(line.startswith("AS Reader [2]") and " 73.0±0.2 / 65.2±0.4" in line for line in lines)
    assert any(line.startswith("Most frequent candidate") for line in lines)


def test_a_page_gets_tables_that_are_whole(results: Path, capsys: Captured) -> None:
    lines = printed(capsys, results, "--markdown")
    rows = [line for line in lines if line.startswith("|")]
    assert rows[0] == "|  | CBT NE, published | CBT-R NE, measured | CBT CN, published |"
    assert "| AS Reader [2] | 73.8 / 68.6 | 62.0±2.8 / 62.0±2.8 (2) | 68.8 / 63.4 |" in rows
    counts = {line.count("|") for line in rows}
    assert counts == {5, 3}
    assert lines[-1] == "```"


def test_a_script_gets_one_line(results: Path, capsys: Captured) -> None:
    (line,) = printed(capsys, results, "--json")
    said = json.loads(line)
    (reader,) = (one for one in said["parts"][0]["lines"] if one["name"] == "AS Reader")
    published, measured, _ = reader["columns"]
    assert (published["set"], published["published"], published["test"]["mean"]) == ("CBT NE", True, 68.6)
    assert (measured["set"], measured["published"], measured["seeds"]) == ("CBT-R NE", False, [0, 1])
    assert measured["test"]["mean"] == pytest.approx(62.0)
    assert len(said["commands"]) == 2


def test_several_files_are_one_table_and_the_later_wins(results: Path, tmp_path: Path, capsys: Captured) -> None:
    figures = {"accuracy": {"final": 0.7, "extractor": 0.7}}
    append_result(tmp_path / "more/results.jsonl", result(seed=1, valid=figures, test=figures))
    append_result(tmp_path / "more/results.jsonl", result(set="mine"))
    lines = printed(capsys, results, tmp_path / "more")
    assert any("65.0±7.1 / 65.0±7.1 (2)" in line for line in lines)
    assert "mine: accuracy on validation / test, %" in lines


def test_a_picture_is_drawn_beside_the_table(results: Path, tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("matplotlib")
    assert call("table", results, "--png", tmp_path / "table.png") == 0
    out, err = capsys.readouterr()
    assert out.startswith("Children's Book Test")
    assert err == f"drawn in {tmp_path / 'table.png'}\n"
    assert (tmp_path / "table.png").stat().st_size > 10_000


def test_mistakes_are_named(results: Path, tmp_path: Path, capsys: Captured) -> None:
    assert call("table", results, "--markdown", "--json") == 2
    assert "give either --markdown or --json, not both" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert call("table", tmp_path / "empty") == 1
    assert "'epireader reproduce' makes them" in capsys.readouterr().err
