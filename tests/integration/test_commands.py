"""The commands one after the other, as a person gives them."""

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import who_has_what
from running import as_options, call, result_of

from epireader.data.prepare import open_questions
from epireader.evaluation.predict import predict
from epireader.readers.ensemble import load_members

FIXTURES = Path(__file__).parents[1] / "fixtures"
CBT = FIXTURES / "cbtest_CN_valid_2000ex.txt"
Captured = pytest.CaptureFixture[str]


def question_lines(count: int, seed: int) -> str:
    """Toy questions in the form of people's own data."""
    random, lines = np.random.default_rng(seed), []
    for one in (who_has_what(random) for _ in range(count)):
        lines.append(
            {
                "passage": [" ".join(sentence) for sentence in one.sentences],
                "question": " ".join(one.question),
                "candidates": [" ".join(candidate) for candidate in one.candidates],
                "answer": " ".join(one.answer or ()),
            }
        )
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where a corpus was prepared and three readers were trained."""
    folder = tmp_path_factory.mktemp("work")
    for seed, (split, count) in enumerate({"train": 96, "valid": 30, "test": 40}.items()):
        (folder / f"toy.{split}.jsonl").write_text(question_lines(count, seed))
    sources = [folder / f"toy.{split}.jsonl" for split in ("train", "valid", "test")]
    assert call("prepare", *sources, folder / "corpus") == 0
    for name, preset, seed in (("epi", "cbt-ne", 0), ("as-0", "as-reader", 0), ("as-1", "as-reader", 1)):
        settings = as_options(preset, "training.max_epochs=1")
        assert call("train", folder / "corpus", *settings, "--seed", seed, "--out", folder / name) == 0
    return folder


def json_of(capsys: Captured, *words: object) -> dict[str, Any]:
    """The one line of JSON that a command prints; the rest must go elsewhere."""
    capsys.readouterr()
    assert call(*words, "--json") == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert out.endswith("\n")
    return dict(json.loads(out))


def printed(capsys: Captured, *words: object) -> tuple[str, str]:
    capsys.readouterr()
    assert call(*words) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_prepare_prints_the_statistics_and_says_the_size(work: Path, tmp_path: Path, capsys: Captured) -> None:
    out, err = printed(capsys, "prepare", work / "toy.train.jsonl", work / "toy.test.jsonl", tmp_path / "corpus")
    assert out.splitlines()[0].split() == ["train", "test"]
    assert out.splitlines()[1].split() == ["questions", "96", "40"]
    assert err.startswith(f"{tmp_path / 'corpus'}: ")
    record = json_of(capsys, "prepare", work / "toy.train.jsonl", tmp_path / "again")
    assert record["splits"]["train"]["questions"] == 96
    assert record["bytes"] == sum(file.stat().st_size for file in (tmp_path / "again").iterdir())


def test_train_prints_its_result_and_says_how_it_goes(work: Path, tmp_path: Path, capsys: Captured) -> None:
    settings = as_options("cbt-ne", "training.max_epochs=2")
    record = json_of(capsys, "train", work / "corpus", *settings, "--out", tmp_path / "run")
    assert record.keys() == {"run", "best_epoch", "valid_accuracy", "epochs", "finished", "steps", "seconds"}
    assert (record["run"], record["epochs"], record["steps"]) == (str(tmp_path / "run"), 2, 24)
    assert call("train", work / "corpus", *settings, "--out", tmp_path / "other") == 0
    captured = capsys.readouterr()
    assert captured.out == (
        f"{tmp_path / 'other'}: validation accuracy {100 * record['valid_accuracy']:.2f}"
        f" after epoch {record['best_epoch']}\n"
    )
    first, second = captured.err.splitlines()
    assert first.startswith("epoch 1: validation accuracy ")
    assert first.endswith("(best so far)")
    assert second.startswith("epoch 2: validation accuracy ")
    assert second.endswith("(best so far)") == (record["best_epoch"] == 2)


def test_a_finished_run_says_so_and_changes_nothing(work: Path, capsys: Captured) -> None:
    files = [path for path in (work / "epi").rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    settings = as_options("cbt-ne", "training.max_epochs=1")
    out, err = printed(capsys, "train", work / "corpus", *settings, "--seed", 0, "--out", work / "epi")
    assert out.startswith(f"{work / 'epi'}: validation accuracy ")
    assert err == f"nothing was left to do in {work / 'epi'}\n"
    assert {path: path.read_bytes() for path in (work / "epi").rglob("*") if path.is_file()} == before


def test_evaluate_gives_its_figures_as_one_object(work: Path, capsys: Captured) -> None:
    figures = json_of(capsys, "evaluate", work / "epi", work / "corpus")
    assert figures["questions"] == 40
    assert set(figures["accuracy"]) == {"extractor", "final"}
    recall = figures["recall_at_k"]
    assert list(recall) == ["1", "2", "3"]
    assert recall["1"] == figures["accuracy"]["extractor"] <= recall["2"] <= recall["3"] <= 1
    gained = figures["corrected"] - figures["spoiled"]
    assert gained == round(40 * (figures["accuracy"]["final"] - figures["accuracy"]["extractor"]))
    low, high = figures["interval_95"]["final"]
    assert low <= figures["accuracy"]["final"] <= high
    assert json_of(capsys, "evaluate", work / "epi", work / "corpus", "--split", "valid")["questions"] == 30


def test_evaluate_prints_the_same_figures_for_a_person(work: Path, capsys: Captured) -> None:
    figures = json_of(capsys, "evaluate", work / "epi", work / "corpus")
    out, err = printed(capsys, "evaluate", work / "epi", work / "corpus")
    assert err == ""
    shares = {line.rsplit("   ", 1)[0].rsplit(None, 1)[0]: line.split()[-4] for line in out.splitlines()[1:6]}
    assert shares["accuracy, final"] == f"{100 * figures['accuracy']['final']:.2f}"
    assert shares["recall@2, Extractor"] == f"{100 * figures['recall_at_k']['2']:.2f}"
    assert out.splitlines()[-1] == "40 questions"


@pytest.mark.parametrize("reader", ["as-0", "most-frequent"])
def test_evaluate_tells_nothing_of_a_reasoner_where_there_is_none(work: Path, capsys: Captured, reader: str) -> None:
    model = work / reader if reader == "as-0" else reader
    out, _ = printed(capsys, "evaluate", model, work / "corpus")
    assert [line.split()[0] for line in out.splitlines()[1:]] == [
        "accuracy",
        *(f"recall@{k}" for k in range(1, 6)),
        "40",
    ]
    assert "Extractor" not in out
    assert "Reasoner" not in out


def test_evaluate_needs_no_preparation(work: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "data").mkdir()
    shutil.copy(CBT, tmp_path / "data")
    with tarfile.open(tmp_path / "cbt.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "data", "CBTest/data")
    figures = json_of(capsys, "evaluate", work / "epi", CBT)
    assert figures["questions"] == 2
    for source in (tmp_path / "data", tmp_path / "cbt.tar.xz"):
        assert json_of(capsys, "evaluate", work / "epi", source) == figures
    assert json_of(capsys, "evaluate", work / "epi", work / "toy.test.jsonl") == json_of(
        capsys, "evaluate", work / "epi", work / "corpus"
    )


def test_predictions_are_one_line_a_question_and_agree_with_the_figures(
    work: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "said.jsonl"
    figures = json_of(capsys, "evaluate", work / "epi", work / "corpus", "--predictions", file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["question"] for line in lines] == list(range(40))
    assert sum(line["correct"] for line in lines) / 40 == figures["accuracy"]["final"]
    assert sum(line["extractor_correct"] for line in lines) / 40 == figures["accuracy"]["extractor"]
    for line in lines:
        assert line["predicted"] == line["hypotheses"][0]["text"]
        assert sum(hypothesis["pi"] for hypothesis in line["hypotheses"]) == pytest.approx(1, abs=1e-4)


def test_predictions_are_not_written_over_the_questions(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.jsonl").write_text(question_lines(3, 7))
    assert call("evaluate", "random", "mine.jsonl", "--predictions", tmp_path / "mine.jsonl") == 2
    assert "mine.jsonl holds the questions; choose another name" in " ".join(capsys.readouterr().err.split())
    assert Path("mine.jsonl").read_text() == question_lines(3, 7)


def test_compare_tests_pairs_on_the_validation_questions_the_runs_know(
    work: Path, tmp_path: Path, capsys: Captured
) -> None:
    names = [str(work / name) for name in ("epi", "as-0", "as-1")]
    result = json_of(capsys, "compare", *names)
    assert result["questions"] == 30
    assert [(pair["first"], pair["second"]) for pair in result["pairs"]] == [
        (names[0], names[1]), (names[0], names[2]), (names[1], names[2]),
    ]  # fmt: skip
    for pair in result["pairs"]:
        difference = result["accuracy"][pair["first"]] - result["accuracy"][pair["second"]]
        assert pair["difference"] == pytest.approx(difference)
        assert pair["only_first"] - pair["only_second"] == round(30 * difference)
    out, err = printed(capsys, "compare", *names)
    assert out.count(" against ") == 6
    assert err == f"asking the valid questions of {work / 'corpus'}\n"
    for name in names[:2]:
        file = tmp_path / f"{Path(name).name}.jsonl"
        assert call("evaluate", name, work / "corpus", "--split", "valid", "--predictions", file) == 0
    files = [tmp_path / "epi.jsonl", tmp_path / "as-0.jsonl"]
    assert json_of(capsys, "compare", *files)["pairs"][0]["p_value"] == result["pairs"][0]["p_value"]


def test_compare_asks_nobody_where_one_is_no_reader(work: Path, capsys: Captured) -> None:
    capsys.readouterr()
    assert call("compare", work / "epi", "nobody") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("epireader: there is no model 'nobody'")


def test_compare_takes_the_mean_over_the_seeds_of_a_folder(work: Path, tmp_path: Path, capsys: Captured) -> None:
    for seed in (0, 1):
        shutil.copytree(work / f"as-{seed}", tmp_path / "both" / f"seed-{seed}")
    names = [str(work / "epi"), str(tmp_path / "both")]
    result = json_of(capsys, "compare", *names)
    single = json_of(capsys, "compare", *(work / name for name in ("epi", "as-0", "as-1")))["accuracy"]
    mean = (single[str(work / "as-0")] + single[str(work / "as-1")]) / 2
    assert result["seeds"] == {names[0]: 1, names[1]: 2}
    assert result["accuracy"][names[1]] == pytest.approx(mean)
    assert result["pairs"][0]["difference"] == pytest.approx(single[names[0]] - mean)
    assert 0 < result["pairs"][0]["p_value"] <= 1
    out, _ = printed(capsys, "compare", *names)
    spread = abs(single[str(work / "as-0")] - single[str(work / "as-1")]) / 2**0.5
    assert result["spread"] == {names[0]: None, names[1]: pytest.approx(spread)}
    assert f"{100 * mean:.2f}  {names[1]} (±{100 * spread:.2f}, 2 seeds)" in out
    assert "right alone" not in out


def test_an_ensemble_is_a_model_for_evaluate(work: Path, tmp_path: Path, capsys: Captured) -> None:
    members = [work / "epi", work / "as-0", work / "as-1"]
    out, err = printed(capsys, "ensemble", *members, "--out", tmp_path / "three")
    assert (out, err) == ("", f"{tmp_path / 'three'}: 3 members\n")
    assert json_of(capsys, "evaluate", tmp_path / "three", work / "corpus")["questions"] == 40
    assert call("ensemble", *members, "--out", tmp_path / "three") == 1
    assert "exists already" in capsys.readouterr().err


def test_members_without_evidence_have_no_part_in_it(work: Path) -> None:
    asked = open_questions(work / "corpus")
    alone = predict(load_members(str(work / "epi")), asked)
    members = [member for name in ("as-0", "epi", "as-1") for member in load_members(str(work / name))]
    together = predict(members, asked)
    assert together.evidence is not None
    np.testing.assert_allclose(together.evidence, alone.evidence, atol=1e-6)
    apart = [predict([member], asked).final for member in members]
    np.testing.assert_allclose(together.final, np.mean(apart, axis=0), atol=1e-6)


def test_grid_trains_every_point_once_and_ranks_them(work: Path, tmp_path: Path, capsys: Captured) -> None:
    first_weights = ("model.initial_range=0.1", "model.orthogonal=true")  # the preset's, which this one must have too
    settings = [word for word in as_options("as-reader", "training.max_epochs=1", *first_weights) if "=" in word]
    preset = tmp_path / "tiny.toml"
    sections = {
        name: [line.split(".", 1)[1] for line in settings if line.startswith(name)] for name in ("model", "training")
    }
    tables = "\n".join(f"[{name}]\n" + "\n".join(lines) for name, lines in sections.items())
    preset.write_text(f'reader = "as-reader"\n{tables}\n')
    (tmp_path / "grid.toml").write_text(f'preset = "{preset}"\n[grid]\n"training.seed" = [0, 1]\n')
    words = ["grid", tmp_path / "grid.toml", work / "corpus", "--out", tmp_path / "runs"]
    assert call("train", work / "corpus", "--preset", preset, "--out", tmp_path / "runs" / "seed=0") == 0
    ranked = json_of(capsys, *words)["runs"]
    assert [run["valid_accuracy"] for run in ranked] == sorted((run["valid_accuracy"] for run in ranked), reverse=True)
    assert {run["run"] for run in ranked} == {str(tmp_path / "runs" / f"seed={seed}") for seed in (0, 1)}
    assert result_of(tmp_path / "runs" / "seed=0") == result_of(work / "as-0")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.safetensors")}
    out, err = printed(capsys, *words)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert err == "".join(f"run {n} of 2: seed={n - 1}\nnothing was left to do\n" for n in (1, 2))
    assert len(out.splitlines()) == 2


def test_grid_tries_the_rest_where_a_setting_does_not_do(work: Path, tmp_path: Path, capsys: Captured) -> None:
    grid, out = tmp_path / "grid.toml", tmp_path / "runs"
    sizes = '"model.embedding_dim" = [8]\n"model.hidden_dim" = [6]\n"training.batch_size" = [8]\n"training.max_epochs" = [1]'
    for rates, done in (("1e38, 0.001", 1), ("1e38", 0)):
        grid.write_text(f'preset = "as-reader"\n[grid]\n"training.learning_rate" = [{rates}]\n{sizes}\n')
        assert call("grid", grid, work / "corpus", "--out", out, "--json") == (0 if done else 1)
        ranked, said = capsys.readouterr()
        assert "the loss is no longer a number" in said
        assert [
            run["run"].count("learning_rate=0.001") for line in ranked.splitlines() for run in json.loads(line)["runs"]
        ] == [1] * done


@pytest.mark.parametrize("command", ["prepare", "evaluate"])
def test_bad_questions_stop_a_command_or_are_skipped_and_listed(
    work: Path, tmp_path: Path, capsys: Captured, command: str
) -> None:
    source = tmp_path / "mixed.test.jsonl"
    source.write_text("{\n" + question_lines(3, 7) + '{"passage": "a", "question": "no blank"}\n')
    words = ["prepare", source, tmp_path / "out"] if command == "prepare" else ["evaluate", work / "epi", source]
    assert call(*words) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"epireader: {source}:1: ")
    assert err.count("\n") == 1
    _, err = printed(capsys, *words, "--skip-bad")
    assert [line.split(": ")[0] for line in err.splitlines()[:2]] == [f"skipped {source}:1", f"skipped {source}:5"]
    assert err.splitlines()[2] == "skipped 2 questions in all"


def test_floors_are_measured_and_compared_by_name(work: Path, capsys: Captured) -> None:
    for floor in ("most-frequent", "last-mentioned", "random"):
        said = json_of(capsys, "evaluate", floor, work / "corpus")
        assert said["questions"] == 40
        assert said["accuracy"]["final"] < 0.5
    compared = json_of(capsys, "compare", "random", work / "as-0", "last-mentioned")
    assert list(compared["accuracy"]) == ["random", str(work / "as-0"), "last-mentioned"]
    assert call("compare", "random", "most-frequent") == 2
    assert "random was trained on nothing; name the questions with --questions" in capsys.readouterr().err


def test_compare_asks_what_a_file_holds_whatever_its_name_says(work: Path, capsys: Captured) -> None:
    named = ("--questions", work / "toy.test.jsonl")
    assert json_of(capsys, "compare", "random", "most-frequent", *named)["questions"] == 40
    assert json_of(capsys, "compare", "random", "most-frequent", "--questions", work / "corpus")["questions"] == 30
