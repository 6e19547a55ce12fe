"""A run that is stopped, however rudely, and started again ends with the same bits as one that never was."""

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import builders
import numpy as np
import pytest
import torch
from builders import example, toy_corpus
from running import (
    SAVE_OFTEN,
    Watch,
    as_options,
    call,
    in_a_fork,
    metrics,
    result_of,
    saved_progress,
    tiny,
    train_and_die,
    train_here,
)
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from epireader.data.example import Example
from epireader.training import loop
from epireader.training.config import Config
from epireader.training.loop import Interrupted
from epireader.training.run import Progress

EPOCHS = "training.max_epochs=3"
EVERY_STEP = "training.checkpoint_minutes=0"
STEPS = 12  # of an epoch


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_corpus(tmp_path_factory.mktemp("toy") / "corpus", train=8 * STEPS, valid=24).folder


@pytest.fixture(scope="module")
def config() -> Config:
    return tiny("cbt-ne", EPOCHS, EVERY_STEP)


@pytest.fixture(scope="module")
def expected(corpus: Path, config: Config, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """What an uninterrupted run gives."""
    out = tmp_path_factory.mktemp("whole") / "run"
    train_here(corpus, out, config)
    return result_of(out)


def stray_files(run: Path) -> list[str]:
    return [path.name for path in run.iterdir() if path.name.startswith(".")]


def test_a_run_killed_again_and_again_ends_with_the_same_bits(
    corpus: Path, config: Config, expected: tuple[bytes, bytes], tmp_path: Path
) -> None:
    out, random, starts = tmp_path / "run", np.random.default_rng(), []
    for _ in range(4):
        at = int(random.integers(2, 8))
        assert in_a_fork(train_and_die, corpus, out, config, at) == -signal.SIGKILL
        starts.append(saved_progress(out)["total_steps"])
    assert starts == sorted(set(starts)), f"the run does not move on: {starts}"
    watch = Watch()
    train_here(corpus, out, config, watch)
    assert watch.steps == 3 * STEPS - starts[-1]
    assert result_of(out) == expected


@pytest.mark.parametrize("moment", ["before the rename", "after the rename"])
def test_a_run_killed_in_the_middle_of_a_save_never_loses_the_earlier_one(
    corpus: Path, config: Config, expected: tuple[bytes, bytes], tmp_path: Path, moment: str
) -> None:
    out = tmp_path / "run"
    assert in_a_fork(train_and_die, corpus, out, config, 5, moment) == -signal.SIGKILL
    assert saved_progress(out)["total_steps"] == (4 if moment == "before the rename" else 5)
    assert len(stray_files(out)) == (moment == "before the rename")
    train_here(corpus, out, config)
    assert stray_files(out) == []
    assert result_of(out) == expected


def test_a_run_killed_while_its_best_reader_is_saved_ends_with_the_same_bits(
    corpus: Path, config: Config, expected: tuple[bytes, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    rarely = tiny("cbt-ne", EPOCHS, "training.checkpoint_minutes=1000")
    assert in_a_fork(train_and_die, corpus, out, rarely, STEPS, "after the rename") == -signal.SIGKILL
    assert (out / "model.safetensors").exists()
    assert not (out / "resume.safetensors").exists(), "the run must begin again"
    train_here(corpus, out, rarely)
    assert result_of(out) == expected


def test_what_a_killed_save_left_behind_is_swept_away(
    corpus: Path, config: Config, expected: tuple[bytes, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with pytest.raises(Interrupted):
        train_here(corpus, out, config, Watch(5, lambda: signal.raise_signal(signal.SIGINT)))
    whole = (out / "resume.safetensors").read_bytes()
    for name in (".resume.safetensors.123.part", ".model.safetensors.124.part", ".tmpcqosby"):
        (out / name).write_bytes(whole[: len(whole) // 2])
    train_here(corpus, out, config)
    assert stray_files(out) == []
    assert result_of(out) == expected


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_asked_to_stop_saves_itself_and_goes_on_where_it_was(
    corpus: Path, tmp_path: Path, expected: tuple[bytes, bytes], number: signal.Signals
) -> None:
    rarely = tiny("cbt-ne", EPOCHS, "training.checkpoint_minutes=1000")
    before = signal.getsignal(number)
    for at, steps in ((5, 5), (STEPS, STEPS + 5)):
        with pytest.raises(Interrupted):
            train_here(corpus, tmp_path / "run", rarely, Watch(at, lambda: signal.raise_signal(number)))
        assert signal.getsignal(number) is before
        assert saved_progress(tmp_path / "run")["total_steps"] == steps
    watch = Watch()
    train_here(corpus, tmp_path / "run", rarely, watch)
    assert watch.began[0] == (1, STEPS, 5)
    assert result_of(tmp_path / "run") == expected


def twice() -> None:
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)


def test_a_request_that_is_sent_twice_is_one(corpus: Path, expected: tuple[bytes, bytes], tmp_path: Path) -> None:
    rarely = tiny("cbt-ne", EPOCHS, "training.checkpoint_minutes=1000")
    with pytest.raises(Interrupted):
        train_here(corpus, tmp_path / "run", rarely, Watch(5, twice))
    assert saved_progress(tmp_path / "run")["total_steps"] == 5
    train_here(corpus, tmp_path / "run", rarely)
    assert result_of(tmp_path / "run") == expected


def test_a_second_ctrl_c_stops_at_once_and_the_run_goes_on_from_its_last_save(
    corpus: Path, config: Config, expected: tuple[bytes, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "IN_EARNEST", 0.0)
    with pytest.raises(KeyboardInterrupt):
        train_here(corpus, tmp_path / "run", config, Watch(5, twice))
    assert saved_progress(tmp_path / "run")["total_steps"] == 4
    train_here(corpus, tmp_path / "run", config)
    assert result_of(tmp_path / "run") == expected


@pytest.mark.parametrize("step", [1, 6, STEPS, STEPS + 1])
def test_a_save_that_fails_ends_the_run_and_leaves_the_earlier_one(
    corpus: Path, config: Config, expected: tuple[bytes, bytes], tmp_path: Path, step: int
) -> None:
    out, real = tmp_path / "run", Path.replace
    with pytest.MonkeyPatch.context() as patch:

        def fail(beside: Path, target: Path) -> Path:
            if Path(target).name == "resume.safetensors" and watch.steps >= step:
                raise OSError(28, "No space left on device", str(target))
            return real(beside, target)

        watch = Watch()
        patch.setattr(Path, "replace", fail)
        with pytest.raises(OSError, match="No space left on device"):
            train_here(corpus, out, config, watch)
    assert stray_files(out) == []
    assert (saved_progress(out)["total_steps"] if step > 1 else 0) == step - 1
    train_here(corpus, out, config)
    assert result_of(out) == expected


def among_entities(random: np.random.Generator) -> Example:
    """`@entity3 met @entity1 .` and so on."""
    names = [f"@entity{n}" for n in random.permutation(8)[:4]]
    text = [f"{one} met {other} ." for one, other in itertools.pairwise(names)]
    return example(text, f"XXXXX met {names[1]} .", names, names[0])


def test_entities_that_trade_names_go_on_trading_them_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builders, "who_has_what", among_entities)
    corpus = toy_corpus(tmp_path / "corpus", train=8 * STEPS, valid=16).folder
    shuffled = tiny("as-reader", "training.max_epochs=2", "training.shuffle_entities=true", EVERY_STEP)
    train_here(corpus, tmp_path / "whole", shuffled)
    for at in (3, STEPS):
        with pytest.raises(Interrupted):
            train_here(corpus, tmp_path / "run", shuffled, Watch(at, lambda: signal.raise_signal(signal.SIGINT)))
    train_here(corpus, tmp_path / "run", shuffled)
    assert result_of(tmp_path / "run") == result_of(tmp_path / "whole")
    train_here(corpus, tmp_path / "plain", tiny("as-reader", "training.max_epochs=2"))
    assert result_of(tmp_path / "plain")[0] != result_of(tmp_path / "whole")[0]


@pytest.mark.parametrize(
    ("preset", "setting"),
    [
        ("stanford", "training.optimizer=sgd"),
        ("deep-lstm", "training.optimizer=sgd"),
        ("as-reader", "training.average=0.9"),
        ("as-reader", "training.strangers=0.5"),
    ],
)
def test_a_run_with_dropout_plain_gradient_descent_mean_weights_or_random_strangers_goes_on_bit_by_bit(
    corpus: Path, tmp_path: Path, preset: str, setting: str
) -> None:
    config = tiny(preset, "training.max_epochs=2", setting, EVERY_STEP)
    train_here(corpus, tmp_path / "whole", config)
    for at in (3, STEPS):
        with pytest.raises(Interrupted):
            train_here(corpus, tmp_path / "run", config, Watch(at, lambda: signal.raise_signal(signal.SIGINT)))
        torch.rand(7)  # somebody else draws in between
    train_here(corpus, tmp_path / "run", config)
    assert result_of(tmp_path / "run") == result_of(tmp_path / "whole")


def test_tensorboard_shows_every_point_once_after_a_run_was_killed(corpus: Path, tmp_path: Path) -> None:
    out, config = tmp_path / "run", tiny("as-reader", "training.max_epochs=2", "training.checkpoint_minutes=1000")
    assert in_a_fork(train_and_die, corpus, out, config, STEPS + 3) == -signal.SIGKILL
    assert metrics(out)[-1]["step"] == 14, "a line after the last save"
    assert saved_progress(out)["total_steps"] == STEPS
    time.sleep(1.1)  # TensorBoard tells files apart by the second
    train_here(corpus, out, config)
    events = EventAccumulator(str(out / "tensorboard")).Reload()
    for kind, name in (("train", "loss"), ("valid", "accuracy")):
        steps = [event.step for event in events.Scalars(f"{kind}/{name}")]
        assert steps == [line["step"] for line in metrics(out) if line["kind"] == kind]


def wait_for(run: Path, steps: int) -> None:
    """Wait until a run has saved itself after so many steps."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if saved_progress(run)["total_steps"] >= steps:
                return
        time.sleep(0.02)
    raise AssertionError("the run does not save itself")


def test_the_command_is_killed_and_interrupted_and_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    corpus, run = toy_corpus(tmp_path / "corpus", train=200, valid=24).folder, tmp_path / "run"
    settings = as_options("as-reader", "training.max_epochs=4", "training.patience=4")
    command = ["train", str(corpus), "--device", "cpu", *settings]
    often = [*command, "--set", SAVE_OFTEN, "--out", str(run)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    steps = 0
    for number in (signal.SIGKILL, signal.SIGINT):
        with subprocess.Popen(
            [sys.executable, "-m", "epireader", *often],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True,
        ) as started:  # fmt: skip
            wait_for(run, steps + 3)
            if number == signal.SIGKILL:
                started.send_signal(signal.SIGSTOP)  # it must not be done before it is asked who else is training here
                assert call(*often) == 1
                refused = f"epireader: another process is training in {run}; wait for it or give another --out\n"
                assert capfd.readouterr() == ("", refused)
            started.send_signal(number)
            out, err = started.communicate(timeout=60)
        assert started.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130)
        assert out == ""
        if number != signal.SIGKILL:
            assert err.endswith(f"stopped and saved in {run}; give the same command to go on\n")
        steps = saved_progress(run)["total_steps"]
        assert 0 < steps < 100, "it was stopped too late to prove anything"
    assert call(*often) == 0
    if steps % 25:
        assert f"going on in epoch {steps // 25 + 1} after step {steps % 25} of 25\n" in capfd.readouterr().err
    assert call(*command, "--out", tmp_path / "whole") == 0
    assert result_of(run) == result_of(tmp_path / "whole")


def test_a_stop_asked_for_while_the_last_epoch_is_validated_stops_what_would_come_next(
    corpus: Path, config: Config, expected: tuple[bytes, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, out = Watch(), tmp_path / "run"

    def at_last(progress: Progress, _: object) -> None:
        if progress.epoch == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(watch, "validated", at_last)
    with pytest.raises(Interrupted):
        train_here(corpus, out, config, watch)
    assert saved_progress(out)["finished"]
    assert result_of(out) == expected


def test_a_run_that_was_moved_goes_on(
    corpus: Path, config: Config, expected: tuple[bytes, bytes], tmp_path: Path
) -> None:
    with pytest.raises(Interrupted):
        train_here(corpus, tmp_path / "run", config, Watch(5, lambda: signal.raise_signal(signal.SIGINT)))
    (tmp_path / "deep").mkdir()
    moved = Path(shutil.move(tmp_path / "run", tmp_path / "deep" / "moved"))
    train_here(corpus, moved, config)
    assert result_of(moved) == expected
