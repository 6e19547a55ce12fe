"""The paper's comparison in small: trained, interrupted, gone on with, measured."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import household_book, write_books
from comparing import SETTINGS, SIZES, lines_of, small_cbt, without_the_clock
from running import call, result_of, saved_progress

from epireader.cli.train import Screen
from epireader.evaluation.results import read_results
from epireader.training import loop, reproduce

FLOORS = ("most-frequent", "last-mentioned", "random")
READERS = [word for name in (*FLOORS, "as-reader", "epireader") for word in ("--reader", name)]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_cbt(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison that was never interrupted."""
    out = tmp_path_factory.mktemp("whole") / "results"
    assert call("reproduce", corpus, *READERS, *SETTINGS, "--out", out, "--device", "cpu") == 0
    return out


def test_every_reader_has_a_row_with_all_that_a_table_needs(whole: Path) -> None:
    lines = lines_of(whole)
    assert [line["reader"] for line in lines] == [*FLOORS, "as-reader", "epireader"]
    assert {line["set"] for line in lines} == {"CBT-R NE"}, "these files are not as large as the official ones"
    assert [(line["preset"], line["seed"]) for line in lines[2:]] == [(None, None), ("as-reader", 0), ("cbt-ne", 0)]
    for line in lines:
        assert (line["valid"]["questions"], line["test"]["questions"]) == (24, 32)
        assert line["finished"]
        assert line["device"] == "CPU"
    for line in lines[3:]:
        assert line["overrides"] == list(SIZES)
        assert 1 <= line["best_epoch"] <= line["epochs"] == 2
        assert line["parameters"] > 100
        assert line["seconds"] > 0
    epireader = lines[-1]["test"]
    assert epireader["corrected"] - epireader["spoiled"] == round(
        32 * (epireader["accuracy"]["final"] - epireader["accuracy"]["extractor"])
    )


def test_the_bits_of_a_row_say_which_questions_were_right(whole: Path, corpus: Path, tmp_path: Path) -> None:
    line = lines_of(whole)[-1]
    run = next((whole / "runs/CBT-R_NE/cbt-ne").iterdir())
    said = tmp_path / "said.jsonl"
    assert call("evaluate", run, corpus, "--predictions", said, "--device", "cpu") == 0
    expected = [json.loads(one) for one in said.read_text().splitlines()]
    for stage, name in (("final", "correct"), ("extractor", "extractor_correct")):
        packed = np.frombuffer(bytes.fromhex(line["test"]["right"][stage]), np.uint8)
        assert np.unpackbits(packed, count=32).tolist() == [one[name] for one in expected]


def test_the_command_of_a_row_gives_that_row_again(
    whole: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = lines_of(whole)[3]
    shutil.copytree(corpus, tmp_path / "corpora" / corpus.name)
    monkeypatch.chdir(tmp_path)
    assert line["command"].startswith(f"epireader reproduce corpora/{corpus.name} --reader as-reader --seed 0 ")
    assert call(*line["command"].split()[1:], "--device", "cpu") == 0
    (again,) = lines_of(tmp_path / "results")
    assert without_the_clock(again) == without_the_clock(line)


def test_what_is_there_is_not_made_again(whole: Path, corpus: Path, capsys: Captured) -> None:
    before = (whole / "results.jsonl").read_bytes()
    assert call("reproduce", corpus, *READERS, *SETTINGS, "--out", whole, "--device", "cpu") == 0
    said = f"{whole / 'results.jsonl'} has all 5 rows; 'epireader table {whole}' shows them\n"
    assert capsys.readouterr() == ("", said)
    assert (whole / "results.jsonl").read_bytes() == before


@pytest.mark.parametrize("interrupted", ["as-reader", "cbt-ne"])
def test_ctrl_c_loses_nothing(
    whole: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, interrupted: str
) -> None:
    words = ["reproduce", corpus, *READERS, *SETTINGS, "--out", tmp_path / "out", "--device", "cpu"]
    place, steps = tmp_path / "out/runs/CBT-R_NE" / interrupted, 0

    def step(_: Screen) -> None:
        nonlocal steps
        steps += place.exists()
        if steps == 15:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Screen, "step", step)
        assert call(*words) == 130
    assert capsys.readouterr().err.endswith(
        f"stopped and saved in {tmp_path / 'out'}; give the same command to go on\n"
    )
    assert len(lines_of(tmp_path / "out")) == (3 if interrupted == "as-reader" else 4)
    (run,) = place.iterdir()
    assert saved_progress(run)["total_steps"] == 15
    assert call(*words) == 0
    assert "going on in epoch 2 after step 3 of 12" in capsys.readouterr().err
    assert [*map(without_the_clock, lines_of(tmp_path / "out"))] == [*map(without_the_clock, lines_of(whole))]
    assert result_of(run) == result_of(whole / run.relative_to(tmp_path / "out"))


def test_a_run_that_fails_does_not_keep_the_others_from_being_done(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    class OutOfMemoryError(RuntimeError):
        pass

    words = ["reproduce", corpus, *READERS, *SETTINGS, "--out", tmp_path / "out", "--device", "cpu"]
    real = loop.train

    def train(corpus: Any, config: Any, *rest: Any, **named: Any) -> Any:
        if config.reader == "as-reader":
            raise OutOfMemoryError("CUDA out of memory.\nTried to allocate")
        return real(corpus, config, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(reproduce, "train", train)
        assert call(*words) == 1
    said = capsys.readouterr().err.splitlines()
    failure = "CBT-R NE, as-reader, seed 0 failed: the GPU has too little memory for this;"
    assert [line.startswith(failure) for line in said].count(True) == 1
    assert said[-1] == "epireader: 1 of 5 rows failed; the same command tries them again"
    assert [line["reader"] for line in lines_of(tmp_path / "out")] == [*FLOORS, "epireader"]
    assert call(*words) == 0
    assert [line["reader"] for line in lines_of(tmp_path / "out")] == [*FLOORS, "epireader", "as-reader"]


def test_a_run_whose_time_is_over_counts_as_it_is_and_goes_on_when_there_is_more(
    whole: Path, corpus: Path, tmp_path: Path, capsys: Captured
) -> None:
    words = ["reproduce", corpus, "--reader", "as-reader", *SETTINGS, "--out", tmp_path / "out", "--device", "cpu"]
    short = ["--minutes", "0.00001"]
    assert call(*words, *short) == 0
    assert "(the time was over before it was finished)" in capsys.readouterr().err
    (line,) = lines_of(tmp_path / "out")
    assert (line["finished"], line["epochs"], line["best_epoch"], line["max_minutes"]) == (False, 0, 1, 0.00001)
    assert call(*words, *short) == 0
    assert len(lines_of(tmp_path / "out")) == 1, "there was no more time"
    assert call(*words) == 0
    (result,) = read_results(tmp_path / "out")
    assert result.finished
    expected = lines_of(whole)[3]
    assert (result.valid, result.test, result.epochs) == (expected["valid"], expected["test"], 2)


def test_a_corpus_that_is_none_of_the_papers_asks_for_a_preset(corpus: Path, tmp_path: Path, capsys: Captured) -> None:
    own = tmp_path / "mine"
    shutil.copytree(corpus, own)
    record = json.loads((own / "corpus.json").read_text())
    (own / "corpus.json").write_text(json.dumps({**record, "options": {}}))
    assert call("reproduce", own, "--out", tmp_path / "out") == 1
    said = capsys.readouterr().err
    assert f"{own} is none of the paper's sets" in said
    assert "--reader cbt-ne or --reader cbt-cn or --reader cnn in place of epireader" in said
    assert not (tmp_path / "out").exists()
    assert call("reproduce", own, "--reader", "cbt-cn", *SETTINGS, "--out", tmp_path / "out", "--device", "cpu") == 0
    (line,) = lines_of(tmp_path / "out")
    assert (line["set"], line["reader"], line["preset"]) == ("mine", "epireader", "cbt-cn")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--reader", "as-raeder"], "there is no reader 'as-raeder'; did you mean as-reader?"),
        (["--set", "training.seed=3"], "give training.seed with --seed, not with --set"),
        (["--set", "training.max_minutes=3"], "give training.max_minutes with --minutes, not with --set"),
        (["--set", "model.filter=3"], "there is no setting model.filter"),
        (["--reader", "as-reader", "--embeddings", "README.md"], "--embeddings is for stanford"),
        (["--ensemble"], "an ensemble is of two seeds or more; give --seeds 7, or --seed several times"),
        (["--seed", "3", "--seed", "3", "--ensemble"], "an ensemble is of two seeds or more"),
    ],
)
def test_a_comparison_that_cannot_be_had_is_refused_before_anything_is_trained(
    corpus: Path, tmp_path: Path, capsys: Captured, words: list[str], sentence: str
) -> None:
    (tmp_path / "README.md").write_text("word 1.0\n")
    words = [str(tmp_path / word) if word == "README.md" else word for word in words]
    assert call("reproduce", corpus, *words, "--out", tmp_path / "out") == 1
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_two_ways_to_give_seeds_are_one_too_many(corpus: Path, tmp_path: Path, capsys: Captured) -> None:
    assert call("reproduce", corpus, "--seeds", 2, "--seed", 1, "--out", tmp_path / "out") == 2
    assert "give either --seeds or --seed, not both" in capsys.readouterr().err


def test_the_rows_stand_in_the_table_in_each_of_its_forms(whole: Path, capsys: Captured) -> None:
    test = {line["reader"]: 100 * line["test"]["accuracy"]["final"] for line in lines_of(whole)}
    assert call("table", whole, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    lines = {line["name"]: line for part in shown["parts"] for line in part["lines"]}
    name = ", ".join(["AS Reader", *(setting.rpartition(".")[2] for setting in sorted(SIZES))])
    (column,) = lines[name]["columns"]
    assert (column["set"], column["published"], column["seeds"]) == ("CBT-R NE", False, [0])
    assert column["test"]["mean"] == pytest.approx(test["as-reader"])
    assert len(shown["commands"]) == 2, "floors, and readers of one seed"
    for form in ([], ["--markdown"]):
        assert call("table", whole / "results.jsonl", *form) == 0
        out = capsys.readouterr().out
        assert f" / {test['random']:4.1f}" in out.replace("|", "")
        assert "They are not CBT" in out
        assert all(command in out for command in shown["commands"])


def test_all_seeds_of_a_reader_can_be_trained_at_once(whole: Path, corpus: Path, tmp_path: Path) -> None:
    words = [
        "reproduce",
        corpus,
        "--reader",
        "as-reader",
        *SETTINGS,
        "--seeds",
        2,
        "--together",
        "--out",
        tmp_path / "r",
    ]
    assert call(*words, "--device", "cpu") == 0
    lines = lines_of(tmp_path / "r")
    assert [line["seed"] for line in lines] == [0, 1]
    alone = next(line for line in lines_of(whole) if line["reader"] == "as-reader")
    assert lines[0]["valid"]["accuracy"]["final"] == pytest.approx(alone["valid"]["accuracy"]["final"], abs=0.1)
    assert lines[0]["epochs"] == alone["epochs"]
    assert all(line["finished"] for line in lines)
    before = (tmp_path / "r/results.jsonl").read_bytes()
    assert call(*words, "--device", "cpu") == 0
    assert (tmp_path / "r/results.jsonl").read_bytes() == before, "rows that are there are not made again"


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_seeds_trained_at_once_are_not_trained_again_to_be_measured(
    corpus: Path, tmp_path: Path, capsys: Captured, rows: int
) -> None:
    words = ["reproduce", corpus, "--reader", "as-reader", *SETTINGS, "--seeds", 3, "--together", "--device", "cpu"]
    assert call(*words, "--out", tmp_path / "out") == 0
    whole = lines_of(tmp_path / "out")
    path = tmp_path / "out/results.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in whole[:rows]))
    capsys.readouterr()
    assert call(*words, "--out", tmp_path / "out") == 0
    assert "epoch 1:" not in capsys.readouterr().err
    assert [*map(without_the_clock, lines_of(tmp_path / "out"))] == [*map(without_the_clock, whole)]


def test_one_of_the_readers_trained_at_once_that_fails_does_not_keep_the_others_from_being_measured(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    words = ["reproduce", corpus, "--reader", "as-reader", *SETTINGS, "--seeds", 3, "--together", "--device", "cpu"]
    real = reproduce.load_model

    def load_model(folder: Path) -> Any:
        if folder.name.endswith("seed=1"):
            raise OSError("the disk is broken")
        return real(folder)

    monkeypatch.setattr(reproduce, "load_model", load_model)
    assert call(*words, "--out", tmp_path / "out") == 1
    said = capsys.readouterr().err
    assert "CBT-R NE, as-reader, seed 1 failed: the disk is broken" in said
    assert said.endswith("epireader: 1 of 3 rows failed; the same command tries them again\n")
    assert [line["seed"] for line in lines_of(tmp_path / "out")] == [0, 2]


def test_rows_with_other_settings_are_trained_from_the_beginning_beside_those_trained_at_once(
    corpus: Path, tmp_path: Path
) -> None:
    words = ["reproduce", corpus, "--reader", "as-reader", *SETTINGS, "--seeds", 2, "--together", "--device", "cpu"]
    other = [*words, "--set", "training.clip_norm=0.1"]
    for given, out in ((words, "both"), (other, "both"), (other, "apart")):
        assert call(*given, "--out", tmp_path / out) == 0
    lines = [without_the_clock(line) for line in lines_of(tmp_path / "both")]
    assert lines[2:] == [without_the_clock(line) for line in lines_of(tmp_path / "apart")]
    for run in (tmp_path / "apart").glob("runs/*/*/*seed=*"):
        assert result_of(run) == result_of(tmp_path / "both" / run.relative_to(tmp_path / "apart"))


def test_readers_taught_by_books_have_rows_of_their_own(corpus: Path, tmp_path: Path, capfd: Captured) -> None:
    tagged = [household_book(np.random.default_rng(n), f"Household {n}") for n in range(4)]
    assert call("prepare-books", write_books(tmp_path / "text.txt", tagged), tmp_path / "homes") == 0
    asked = ["reproduce", corpus, "--reader", "as-reader", *SETTINGS, "--out", tmp_path / "out", "--device", "cpu"]
    books = ["--books", tmp_path / "homes", "--set", "books.questions=32", "--seeds", 2, "--together"]
    assert call(*asked) == 0
    assert call(*asked, *books) == 0
    own, *taught = lines_of(tmp_path / "out")
    assert (own["books"], [(line["books"], line["seed"]) for line in taught]) == (None, [("homes", 0), ("homes", 1)])
    assert taught[0]["command"].endswith("--books corpora/homes --out out")
    assert call(*asked, *books) == 0
    assert len(lines_of(tmp_path / "out")) == 3, "what is there is not made again"
    capfd.readouterr()
    assert call("table", tmp_path / "out") == 0
    assert "AS Reader, with homes" in capfd.readouterr().out
