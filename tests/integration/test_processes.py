"""Several processes train the reader that one trains with the joined batch."""

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from builders import toy_corpus
from running import (
    as_options,
    call,
    free_port,
    in_forks,
    metrics,
    saved_progress,
    tiny,
    train_here,
    train_together,
)
from safetensors.torch import load_file

from epireader.training.config import Config
from epireader.training.processes import ASK_EVERY, Processes

STEPS = 12  # of an epoch


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_corpus(tmp_path_factory.mktemp("toy") / "corpus", train=8 * STEPS - 2, valid=24).folder


def two_processes(corpus: Path, out: Path, config: Config, stop: tuple[int, int] = (0, 0)) -> list[int]:
    """Train in two processes; each is asked to stop at a step of its own, where that is not 0."""
    port = free_port()
    return in_forks([(train_together, corpus, out, config, rank, 2, port, stop[rank]) for rank in range(2)])


def assert_same_run(one: Path, other: Path) -> None:
    """The same losses, accuracies and weights, but for rounding."""
    first, second = metrics(one), metrics(other)
    assert len(first) == len(second)
    for line, same in zip(first, second, strict=True):
        close = {key: pytest.approx(value, abs=1e-5) for key, value in same.items() if key != "kind"}
        assert line == {**close, "kind": same["kind"]}
    left, right = load_file(one / "model.safetensors"), load_file(other / "model.safetensors")
    for name, tensor in left.items():
        torch.testing.assert_close(right[name], tensor, rtol=1e-3, atol=1e-4)


def test_two_processes_train_the_reader_that_one_trains_with_the_joined_batch(corpus: Path, tmp_path: Path) -> None:
    config = tiny("as-reader", "training.max_epochs=2", "training.clip_norm=0.5")
    train_here(corpus, tmp_path / "one", config)
    assert two_processes(corpus, tmp_path / "two", config) == [0, 0]
    assert_same_run(tmp_path / "two", tmp_path / "one")


def test_processes_stop_together_when_one_is_asked_to_and_go_on_together(corpus: Path, tmp_path: Path) -> None:
    config = tiny("cbt-ne", "training.max_epochs=3", "training.checkpoint_minutes=0", "training.log_every=9")
    train_here(corpus, tmp_path / "one", config)
    assert two_processes(corpus, tmp_path / "two", config, stop=(0, 3)) == [130, 130]
    stopped = saved_progress(tmp_path / "two")
    assert (stopped["epoch"], stopped["step"], stopped["total_steps"]) == (1, ASK_EVERY - STEPS, ASK_EVERY)
    assert stopped["loss_steps"] == 2, "a line of losses must be under way"
    assert two_processes(corpus, tmp_path / "two", config) == [0, 0]
    assert_same_run(tmp_path / "two", tmp_path / "one")


def test_a_batch_that_cannot_be_shared_out_evenly_is_refused(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    three = Processes(0, 3, torch.device("cpu"))
    monkeypatch.setattr("epireader.training.processes.join_processes", lambda _: nullcontext(three))
    assert call("train", corpus, *as_options(), "--out", tmp_path / "run") == 1
    assert capsys.readouterr() == ("", "epireader: training.batch_size must be a multiple of the 3 processes, got 8\n")
    assert not (tmp_path / "run").exists()


def test_torchrun_starts_the_command_in_two_processes(corpus: Path, tmp_path: Path) -> None:
    settings = as_options("as-reader", "training.max_epochs=1")
    words = ["train", str(corpus), "--device", "cpu", *settings, "--json", "--out", str(tmp_path / "two")]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*torchrun, "-m", "epireader", *words],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1, "only the first process says anything"
    assert done.stderr.count("epoch 1: validation accuracy") == 1
    train_here(corpus, tmp_path / "one", tiny("as-reader", "training.max_epochs=1"))
    assert_same_run(tmp_path / "two", tmp_path / "one")
