"""What is told of runs."""

from pathlib import Path

import numpy as np
import pytest
import torch
from builders import random_example, vocabulary

from epireader.data.questions import Questions, QuestionsBuilder
from epireader.evaluation.accuracy import evaluate
from epireader.evaluation.compare import mcnemar
from epireader.evaluation.predict import predict
from epireader.evaluation.report import build_report, report_run, short_names
from epireader.readers.epireader import EpiReaderConfig
from epireader.readers.floors import floor_model
from epireader.readers.saved import Model, build_model


def questions_and_readers(members: int = 1) -> tuple[Questions, list[Model]]:
    random, builder = np.random.default_rng(0), QuestionsBuilder()
    for _ in range(60):
        builder.add(random_example(random, sentences=6))
    torch.manual_seed(0)
    settings = EpiReaderConfig(embedding_dim=4, hidden_dim=3, hypotheses=3, filters=2, reasoner_hidden_dim=3)
    return builder.build(), [build_model("epireader", settings, vocabulary()) for _ in range(members)]


def test_a_run_is_told_by_its_figures_and_its_most_telling_questions() -> None:
    questions, members = questions_and_readers()
    for parameter in members[0].module.parameters():
        parameter.data.mul_(8)  # so that the Reasoner has a say
    told = report_run("epi", members, questions, examples=2)
    said = predict(members, questions)
    assert told.evaluation == evaluate(said, most=3)
    assert told.reader == "epireader"
    assert told.reranks
    assert told.curve is None
    assert told.right_final.sum() == told.evaluation.final.count
    assert told.right_first.sum() == told.evaluation.extractor.count
    assert told.evaluation.corrected >= 2
    assert told.evaluation.spoiled >= 2
    assert [one.corrected for one in told.corrections] == [True, True]
    assert [one.corrected for one in told.spoilings] == [False, False]
    assert told.p_value == mcnemar(told.evaluation.corrected, told.evaluation.spoiled)


def test_no_examples_are_made_where_none_are_wanted_or_nothing_is_reranked() -> None:
    questions, members = questions_and_readers()
    assert report_run("epi", members, questions, examples=0).corrections == ()
    floor = report_run("floor", [floor_model("most-frequent")], questions, examples=3)
    assert not floor.reranks
    assert floor.corrections == floor.spoilings == ()


def test_several_that_vote_are_called_an_ensemble() -> None:
    questions, members = questions_and_readers(members=2)
    assert report_run("both", members, questions, examples=0).reader == "ensemble of 2: epireader"


def test_every_question_with_an_answer_is_in_a_bin_of_each_kind() -> None:
    questions, members = questions_and_readers()
    told = report_run("epi", members, questions, examples=0)
    report = build_report("toys", questions, [told])
    assert report.questions == 60
    for breakdown in (report.by_length, report.by_mentions, report.by_distance):
        shares = breakdown.accuracy(told.right_final)
        assert sum(share.total for share in shares) == 60
        assert sum(share.count for share in shares) == told.evaluation.final.count


@pytest.mark.parametrize(
    ("given", "short"),
    [
        (["runs/epi", "runs/as"], ["epi", "as"]),
        (["a/run", "b/run", "c"], ["a/run", "b/run", "c"]),
        (["default"], ["default"]),
        (["/x/one/", "most-frequent"], ["one", "most-frequent"]),
        (["run", "x/run"], ["run", "x/run"]),
    ],
)
def test_runs_are_called_by_as_little_of_their_paths_as_tells_them_apart(given: list[str], short: list[str]) -> None:
    assert short_names(given) == short


def test_the_folder_one_is_in_has_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "epi").mkdir()
    monkeypatch.chdir(tmp_path / "epi")
    assert short_names(["."]) == ["epi"]
    assert short_names([".."]) == [tmp_path.name]
