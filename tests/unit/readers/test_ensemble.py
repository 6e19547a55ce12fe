"""Several readers as one."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import random_example, vocabulary

from epireader.data.questions import QuestionsBuilder
from epireader.evaluation.predict import predict
from epireader.readers.ensemble import load_members, save_ensemble
from epireader.readers.extractor import AttentionSumConfig
from epireader.readers.saved import BadModel, build_model, load_model, model_record, save_weights


def save(folder: Path, seed: int) -> Path:
    torch.manual_seed(seed)
    model = build_model("as-reader", AttentionSumConfig(embedding_dim=4, hidden_dim=3), vocabulary(6))
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(model_record(model)))
    model.vocabulary.save(folder / "vocab.txt")
    save_weights(folder / "model.safetensors", model.module.state_dict(), {})
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [save(tmp_path / "all" / "runs" / f"run-{n}", n) for n in range(2)]


@pytest.fixture
def ensemble(runs: list[Path], tmp_path: Path) -> Path:
    save_ensemble(tmp_path / "all" / "both", runs)
    return tmp_path / "all" / "both"


def test_an_ensemble_has_its_members_in_order(ensemble: Path, runs: list[Path]) -> None:
    members = load_members(str(ensemble))
    assert len(members) == 2
    for member, run in zip(members, runs, strict=True):
        assert torch.equal(member.module.embedding.weight, load_model(run).module.embedding.weight)


def test_an_ensemble_votes_with_the_mean_of_its_members(ensemble: Path, runs: list[Path]) -> None:
    builder, random = QuestionsBuilder(), np.random.default_rng(0)
    for _ in range(5):
        builder.add(random_example(random))
    asked = builder.build()
    alone = [predict(load_members(str(run)), asked).final for run in runs]
    np.testing.assert_allclose(predict(load_members(str(ensemble)), asked).final, np.mean(alone, axis=0), atol=1e-7)


def test_an_ensemble_and_its_runs_can_be_moved_together(ensemble: Path, tmp_path: Path) -> None:
    shutil.move(tmp_path / "all", tmp_path / "elsewhere")
    assert len(load_members(str(tmp_path / "elsewhere" / "both"))) == 2


def test_a_run_is_a_model_of_one_member(runs: list[Path]) -> None:
    assert len(load_members(str(runs[0]))) == 1


def test_an_ensemble_of_fewer_than_two_is_refused(runs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least two members, got 1"):
        save_ensemble(tmp_path / "out", runs[:1])


def test_a_member_that_cannot_be_loaded_is_refused_at_once(runs: list[Path], tmp_path: Path) -> None:
    (runs[1] / "model.safetensors").write_bytes(b"")
    with pytest.raises(BadModel, match="run-1"):
        save_ensemble(tmp_path / "out", runs)
    assert not (tmp_path / "out").exists()


def test_an_ensemble_is_never_made_over_what_is_there(ensemble: Path, runs: list[Path]) -> None:
    with pytest.raises(FileExistsError, match="exists already"):
        save_ensemble(ensemble, runs)


def test_a_member_that_is_gone_is_named(ensemble: Path, runs: list[Path]) -> None:
    shutil.rmtree(runs[1])
    with pytest.raises(BadModel, match="run-1 holds no reader"):
        load_members(str(ensemble))


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"members": []}', '{"format": "epireader-ensemble", "members": []}', "\xff"]
    + [f'{{"format": "epireader-ensemble", "members": {members}}}' for members in ("5", "[5]", "null")]
    + ['{"format": "other", "members": ["../runs/run-0"]}'],
)
def test_a_damaged_or_foreign_ensemble_is_refused_in_one_sentence(ensemble: Path, content: str) -> None:
    (ensemble / "ensemble.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(BadModel, match=r"ensemble\.json does not describe an ensemble") as error:
        load_members(str(ensemble))
    assert "\n" not in str(error.value)
