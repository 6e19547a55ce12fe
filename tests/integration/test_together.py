"""Readers that differ in their seeds alone, trained at once: each becomes what it would have become alone."""

import json
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import builders
import numpy as np
import pytest
import torch
from builders import toy_corpus, who_has_what
from running import Watch, call

from epireader.data.corpus import Corpus
from epireader.data.example import Example
from epireader.readers.saved import load_model
from epireader.settings import BadSetting
from epireader.training.config import Config, load_config
from epireader.training.loop import Interrupted, train
from epireader.training.processes import Processes
from epireader.training.run import Progress, RunRefused
from epireader.training.together import train_together

HERE = Processes(0, 1, torch.device("cpu"))
SMALL = ["model.embedding_dim=12", "training.batch_size=12", "training.max_epochs=2", "training.log_every=3"]
SEEDS = (3, 4, 8)


def config(preset: str, seed: int, *more: str) -> Config:
    size = [] if preset == "memory" else ["model.hidden_dim=16"]
    return load_config(preset, [*SMALL, *size, f"training.seed={seed}", *more])


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_model(folder).module.state_dict()


def together(corpus: Corpus, configs: list[Config], out: Path, watch: Watch | None = None) -> dict[Path, Progress]:
    runs = {out / f"seed-{config.training.seed}": config for config in configs}
    return train_together(corpus, runs, out / "resume.safetensors", HERE, watch or Watch())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return toy_corpus(tmp_path_factory.mktemp("together") / "corpus")


@pytest.mark.parametrize(
    ("preset", "more"),
    [
        ("as-reader", []),
        ("as-reader", ["training.average=0.5"]),
        ("cbt-ne", []),
        ("news", ["model.dropout=0", "training.average=0"]),
        ("impatient", []),
        ("deep-lstm", []),
        ("memory", []),
    ],
)
def test_each_becomes_what_it_would_have_become_alone(
    corpus: Corpus, tmp_path: Path, preset: str, more: list[str]
) -> None:
    check_that_they_become_what_they_would_alone(
        corpus, [config(preset, seed, "training.max_epochs=1", *more) for seed in SEEDS], tmp_path
    )


def test_each_is_asked_by_its_passages_what_it_would_have_been_asked_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builders, "who_has_what", told_twice)
    corpus = toy_corpus(tmp_path / "corpus", train=60)
    settings = ["training.max_epochs=1", "training.own_questions=1"]
    check_that_they_become_what_they_would_alone(
        corpus, [config("as-reader", seed, *settings) for seed in SEEDS], tmp_path
    )


def told_twice(random: np.random.Generator) -> Example:
    """Who has what, twice over, so that a passage can ask it itself."""
    once = who_has_what(random)
    return replace(once, sentences=once.sentences * 2)


def check_that_they_become_what_they_would_alone(corpus: Corpus, configs: list[Config], tmp_path: Path) -> None:
    progresses = together(corpus, configs, tmp_path / "together")
    assert list(progresses) == [tmp_path / "together" / f"seed-{seed}" for seed in SEEDS]
    for seed, own, (folder, progress) in zip(SEEDS, configs, progresses.items(), strict=True):
        alone = train(corpus, own, tmp_path / f"alone-{seed}", HERE, Watch())
        assert (progress.epoch, progress.total_steps, progress.finished) == (alone.epoch, alone.total_steps, True)
        assert progress.best_accuracy == pytest.approx(
            alone.best_accuracy, abs=0.06
        )  # two of forty: rounding may tip one
        for name, weight in weights(tmp_path / f"alone-{seed}").items():
            if progress.best_epoch == alone.best_epoch:
                np.testing.assert_allclose(weights(folder)[name], weight, rtol=2e-2, atol=2e-3, err_msg=name)


def test_readers_trained_at_once_are_different_readers(corpus: Corpus, tmp_path: Path) -> None:
    folders = list(together(corpus, [config("as-reader", s) for s in SEEDS], tmp_path / "t"))
    first, second = weights(folders[0]), weights(folders[1])
    assert all(not torch.equal(first[name], second[name]) for name in first if "bias" not in name)


def test_the_losses_are_those_of_single_runs(corpus: Corpus, tmp_path: Path) -> None:
    folder = next(iter(together(corpus, [config("cbt-ne", s) for s in SEEDS], tmp_path / "t")))
    train(corpus, config("cbt-ne", SEEDS[0]), tmp_path / "alone", HERE, Watch())
    joint, alone = ((place / "metrics.jsonl").read_text().splitlines() for place in (folder, tmp_path / "alone"))
    assert len(joint) == len(alone)
    for left, right in zip(map(json.loads, joint), map(json.loads, alone), strict=True):
        kind = left.pop("kind")
        assert right.pop("kind") == kind
        assert left.keys() == right.keys()
        if kind == "train":
            assert left == pytest.approx(right, rel=1e-2)


def test_a_stopped_training_goes_on_as_if_it_had_not_been_stopped(corpus: Corpus, tmp_path: Path) -> None:
    configs = [config("as-reader", seed) for seed in SEEDS]
    whole = together(corpus, configs, tmp_path / "whole")
    with pytest.raises(Interrupted):
        together(corpus, configs, tmp_path / "stopped", Watch(4, lambda: signal.raise_signal(signal.SIGINT)))
    resumed = together(corpus, configs, tmp_path / "stopped")
    for left, right in zip(whole, resumed, strict=True):
        for name, weight in weights(left).items():
            assert torch.equal(weight, weights(right)[name])
        assert (left / "metrics.jsonl").read_text() == (right / "metrics.jsonl").read_text()


def test_a_finished_reader_is_a_finished_run_of_its_own(corpus: Corpus, tmp_path: Path) -> None:
    configs = [config("as-reader", seed) for seed in SEEDS]
    folders = list(together(corpus, configs, tmp_path / "t"))
    watching = Watch()
    assert train(corpus, configs[1], folders[1], HERE, watching).finished
    assert together(corpus, configs, tmp_path / "t", watching)[folders[1]].finished
    assert watching.steps == 0


def test_other_readers_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    together(corpus, [config("as-reader", seed) for seed in SEEDS], tmp_path / "t")
    with pytest.raises(RunRefused, match="not written by this training"):
        together(corpus, [config("as-reader", seed) for seed in SEEDS[:2]], tmp_path / "t")


def test_where_readers_stood_is_not_taken_for_where_others_stand(corpus: Corpus, tmp_path: Path) -> None:
    for folder in together(corpus, [config("as-reader", seed) for seed in SEEDS], tmp_path / "t"):
        shutil.rmtree(folder)
    with pytest.raises(RunRefused, match="not written by this training"):
        together(corpus, [config("as-reader", seed, "training.l2=0.5") for seed in SEEDS], tmp_path / "t")


def test_a_run_that_went_its_way_alone_is_not_begun_again_with_others(corpus: Corpus, tmp_path: Path) -> None:
    configs = [config("as-reader", seed) for seed in SEEDS]
    train(corpus, configs[1], tmp_path / "t" / f"seed-{SEEDS[1]}", HERE, Watch())
    with pytest.raises(RunRefused, match=f"seed-{SEEDS[1]} holds a run that goes on alone only; give another --out"):
        together(corpus, configs, tmp_path / "t")


def test_readers_that_cannot_be_trained_at_once_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="language-model cannot be trained at once"):
        together(corpus, [config("language-model", seed) for seed in SEEDS], tmp_path / "t")


def test_several_processes_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="without torchrun"):
        train_together(
            corpus, {tmp_path: config("as-reader", 0)}, tmp_path, Processes(0, 2, torch.device("cpu")), Watch()
        )


def test_the_command_trains_several_readers_that_make_an_ensemble(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = [option for setting in [*SMALL, "model.hidden_dim=16"] for option in ("--set", setting)]
    out = tmp_path / "two"
    assert call("train", corpus.folder, "--preset", "as-reader", "--seeds", 2, *small, "--out", out, "--json") == 0
    runs = [found["run"] for found in json.loads(capsys.readouterr().out)["runs"]]
    assert [Path(found).name for found in runs] == ["seed-0", "seed-1"]
    assert call("ensemble", *runs, "--out", tmp_path / "both") == 0
    assert call("train", corpus.folder, "--preset", "as-reader", "--seed", 1, "--seeds", 2, "--out", "x") == 2
    assert "either --seed or --seeds" in capsys.readouterr().err


def test_when_its_time_is_over_each_can_be_gone_on_with_alone(corpus: Corpus, tmp_path: Path) -> None:
    cut = [config("as-reader", seed, "training.max_minutes=0.0001") for seed in SEEDS]
    folder, progress = next(iter(together(corpus, cut, tmp_path / "t").items()))
    assert not progress.finished
    assert progress.epoch == 1
    whole = train(corpus, config("as-reader", SEEDS[0]), tmp_path / "alone", HERE, Watch())
    resumed = train(corpus, config("as-reader", SEEDS[0]), folder, HERE, Watch())
    assert resumed.total_steps == whole.total_steps
    for name, weight in weights(tmp_path / "alone").items():
        if resumed.best_epoch == whole.best_epoch:
            np.testing.assert_allclose(weights(folder)[name], weight, rtol=2e-2, atol=2e-3, err_msg=name)


def test_the_first_epoch_is_taken_to_its_end_however_little_time_there_is(corpus: Corpus, tmp_path: Path) -> None:
    hurried = [config("as-reader", seed, "training.max_minutes=1e-9") for seed in SEEDS]
    with pytest.raises(Interrupted):
        together(corpus, hurried, tmp_path / "t", Watch(4, lambda: signal.raise_signal(signal.SIGINT)))
    for folder, progress in together(corpus, hurried, tmp_path / "t").items():
        assert (progress.epoch, progress.best_epoch, progress.finished) == (1, 0, False)
        load_model(folder)
