"""The parts of the loop. Whole runs are in the integration tests."""

import signal
import time

import pytest
import torch
from running import Watch

from epireader.training import loop
from epireader.training.loop import Clock, Watcher, shared_module, stop_requests
from epireader.training.processes import Processes
from epireader.training.run import Progress

CPU = torch.device("cpu")


def test_the_clock_counts_earlier_sessions_and_begins_anew_with_every_save(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    clock = Clock(60.0)
    now[0] += 90
    assert clock.minutes_since_saved() == 1.5
    progress = Progress(epoch=3)
    assert clock.stamped(progress) is progress
    assert progress.seconds == 150
    assert clock.minutes_since_saved() == 0
    now[0] += 30
    assert clock.stamped(progress).seconds == 180


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_signal_is_a_question_and_a_second_one_stops_at_once_unless_it_is_the_same_sent_twice(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(loop.time, "monotonic", lambda: now[0])
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt), stop_requests() as stop_requested:  # noqa: PT012
        assert not stop_requested()
        signal.raise_signal(number)
        signal.raise_signal(number)
        assert stop_requested()
        now[0] += 1.0
        signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before


def test_one_process_trains_the_reader_itself() -> None:
    module = torch.nn.Linear(1, 1)
    assert shared_module(module, Processes(0, 1, CPU)) is module


@pytest.mark.parametrize(("precision", "high"), [("fp32", False), ("tf32", True), ("bf16", True)])
def test_only_a_gpu_is_told_how_to_round(monkeypatch: pytest.MonkeyPatch, precision: str, high: bool) -> None:
    told: list[str] = []
    monkeypatch.setattr(torch, "set_float32_matmul_precision", told.append)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", not high)
    loop.set_precision(precision, CPU)
    assert told == []
    assert torch.backends.cudnn.allow_tf32 is not high
    loop.set_precision(precision, torch.device("cuda"))
    assert told == ["high" if high else "highest"]
    assert torch.backends.cudnn.allow_tf32 is high


def test_whoever_has_the_three_methods_can_watch() -> None:
    assert isinstance(Watch(), Watcher)


@pytest.mark.parametrize(
    ("seconds", "epochs", "part", "late"),
    [
        (599.0, 0, 0.0, False),
        (600.0, 0, 0.0, True),
        (599.0, 0, 0.9, False),  # a first epoch goes on until the time is over
        (400.0, 2, 0.0, True),  # a third one would end at 600
        (399.0, 2, 0.0, False),
        (500.0, 2, 0.5, True),  # this one as well
        (499.0, 2, 0.5, False),
    ],
)
def test_no_epoch_begins_that_would_not_end_in_time(
    monkeypatch: pytest.MonkeyPatch, seconds: float, epochs: int, part: float, late: bool
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    clock = Clock(seconds)
    assert clock.too_late(10.0, epochs, part) is late
    assert clock.too_late(0.0, epochs, part) is False
