"""All seeds of a reader as one: measured after them, once, and shown in the table."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from comparing import SETTINGS, lines_of, small_cbt, without_the_clock
from running import call

from epireader.evaluation.results import read_results
from epireader.training import reproduce

READERS = [word for name in ("random", "as-reader", "epireader") for word in ("--reader", name)]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_cbt(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def words(corpus: Path) -> list[object]:
    return ["reproduce", corpus, *READERS, *SETTINGS, "--seeds", 2, "--device", "cpu"]


@pytest.fixture(scope="module")
def pairs(words: list[object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of two readers, each pair also as one."""
    out = tmp_path_factory.mktemp("pairs") / "results"
    assert call(*words, "--ensemble", "--out", out) == 0
    return out


def as_readers(corpus: Path, out: Path) -> list[object]:
    words = ["reproduce", corpus, "--reader", "as-reader", *SETTINGS, "--seeds", 2, "--ensemble"]
    return [*words, "--out", out, "--device", "cpu"]


def test_after_its_seeds_a_reader_has_a_row_of_them_as_one_and_floors_have_none(pairs: Path) -> None:
    lines = lines_of(pairs)
    assert [(line["reader"], line["seed"], line["members"]) for line in lines] == [
        ("random", None, []),
        ("as-reader", 0, []), ("epireader", 0, []),
        ("as-reader", 1, []), ("epireader", 1, []),
        ("as-reader", None, [0, 1]), ("epireader", None, [0, 1]),
    ]  # fmt: skip
    for single, ensemble in zip(lines[1:3], lines[-2:], strict=True):
        assert ensemble["parameters"] == 2 * single["parameters"]
        assert (ensemble["finished"], ensemble["epochs"], ensemble["best_epoch"]) == (True, 0, 0)
        same = ("set", "corpus", "preset", "overrides", "embeddings", "books", "max_minutes")
        assert [ensemble[name] for name in same] == [single[name] for name in same]


def test_it_answers_as_the_ensemble_of_these_runs_does(pairs: Path, corpus: Path, tmp_path: Path) -> None:
    runs = sorted((pairs / "runs/CBT-R_NE/cbt-ne").iterdir())
    assert call("ensemble", *runs, "--out", tmp_path / "both") == 0
    assert call("evaluate", tmp_path / "both", corpus, "--predictions", tmp_path / "said", "--device", "cpu") == 0
    expected = [json.loads(one)["correct"] for one in (tmp_path / "said").read_text().splitlines()]
    *_, ensemble = lines_of(pairs)
    packed = np.frombuffer(bytes.fromhex(ensemble["test"]["right"]["final"]), np.uint8)
    assert np.unpackbits(packed, count=32).tolist() == expected
    assert ensemble["test"]["accuracy"]["final"] == pytest.approx(np.mean(expected))


def test_of_runs_that_are_there_it_is_made_without_training_and_once(
    pairs: Path, words: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(pairs, tmp_path / "out")
    path, lines = tmp_path / "out/results.jsonl", (pairs / "results.jsonl").read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:5]))
    monkeypatch.delattr(reproduce, "train")
    for _ in range(2):
        assert call(*words, "--together", "--ensemble", "--out", tmp_path / "out") == 0
        assert [*map(without_the_clock, lines_of(tmp_path / "out"))] == [*map(without_the_clock, lines_of(pairs))]


def test_its_command_gives_it_again(pairs: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = lines_of(pairs)[-2]
    shutil.copytree(corpus, tmp_path / "corpora" / corpus.name)
    monkeypatch.chdir(tmp_path)
    assert " --reader as-reader --seed 0 --seed 1 --ensemble --set " in expected["command"]
    assert call(*expected["command"].split()[1:], "--device", "cpu") == 0
    *_, again = lines_of(tmp_path / "results")
    assert without_the_clock(again) == without_the_clock(expected)


def test_without_one_of_its_members_it_fails_and_is_made_when_that_is_there(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    words = as_readers(corpus, tmp_path / "out")
    real = reproduce.train

    def train(corpus: Any, config: Any, *rest: Any, **named: Any) -> Any:
        if config.training.seed == 1:
            raise OSError("the disk is full")
        return real(corpus, config, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(reproduce, "train", train)
        assert call(*words) == 1
    said = capsys.readouterr().err
    missing = "CBT-R NE, as-reader, ensemble of 2 failed: its member CBT-R NE, as-reader, seed 1 is not there"
    assert missing in said
    assert "2 of 3 rows failed" in said
    assert call(*words) == 0
    assert [line["members"] for line in lines_of(tmp_path / "out")] == [[], [], [0, 1]]


def test_it_is_finished_when_its_members_are(corpus: Path, tmp_path: Path) -> None:
    words = as_readers(corpus, tmp_path / "out")
    assert call(*words, "--minutes", "0.00001") == 0
    assert [result.finished for result in read_results(tmp_path / "out")] == [False] * 3
    assert call(*words) == 0
    assert [(result.finished, result.members) for result in read_results(tmp_path / "out")] == [
        (True, []), (True, []), (True, [0, 1]),
    ]  # fmt: skip
    assert len(lines_of(tmp_path / "out")) == 6


def test_the_table_shows_it_in_each_of_its_forms(pairs: Path, tmp_path: Path, capsys: Captured) -> None:
    expected = 100 * lines_of(pairs)[-1]["test"]["accuracy"]["final"]
    assert call("table", pairs, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    (line,) = (
        line
        for line in shown["parts"][0]["lines"]
        if line["name"].startswith("EpiReader, embedding_dim=") and line["name"].endswith(", ensemble of 2")
    )
    (column,) = line["columns"]
    assert (column["seeds"], column["members"]) == ([], [0, 1])
    assert column["test"] == {"mean": pytest.approx(expected), "spread": None}
    assert len(shown["commands"]) == 2, "the floor, and the ensembles with their members"
    for form in ([], ["--markdown"]):
        assert call("table", pairs, *form) == 0
        assert f" / {expected:4.1f} (2 as one)" in capsys.readouterr().out
