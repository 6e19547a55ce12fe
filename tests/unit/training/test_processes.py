"""One process, and the device it runs on. Several are in the integration tests."""

import pytest
import torch

from epireader.training import processes
from epireader.training.processes import NoSuchDevice, Processes, choose_device, join_processes

ALONE = Processes(0, 1, torch.device("cpu"))


def test_a_process_alone_is_the_first_and_agrees_with_itself_at_every_step() -> None:
    assert ALONE.is_first
    assert not Processes(1, 2, torch.device("cpu")).is_first
    for step in (1, 7, 20):
        assert ALONE.agree(True, step)
        assert not ALONE.agree(False, step)
    assert ALONE.any(True)
    assert not ALONE.any(False)
    assert ALONE.mean(torch.tensor(3.0)).item() == 3
    ALONE.wait()


def test_several_processes_ask_each_other_only_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(Processes, "any", lambda _, flag: asked.append(flag) or True)
    two = Processes(0, 2, torch.device("cpu"))
    every = processes.ASK_EVERY
    assert [two.agree(False, step) for step in (1, every - 1, every, every + 1, 2 * every)] == [
        False, False, True, False, True,
    ]  # fmt: skip
    assert len(asked) == 2


def test_without_torchrun_there_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    with join_processes("cpu") as joined:
        assert joined == ALONE


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("cuda", "this machine has no GPU that torch can use; give --device cpu"),
        ("cuda:1", "this machine has no GPU that torch can use; give --device cpu"),
        ("gpu", "there is no device 'gpu'; give auto, cpu or cuda"),
        ("", "there is no device ''; give auto, cpu or cuda"),
        ("meta", "training runs on cpu or cuda, not on meta"),
    ],
)
def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, sentence: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(NoSuchDevice) as error:
        choose_device(name)
    assert str(error.value) == sentence


def test_auto_takes_a_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == choose_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    assert choose_device("auto") == torch.device("cuda", 0)
    assert choose_device("cuda", local_rank=1) == torch.device("cuda", 1)
    assert choose_device("cuda:0", local_rank=1) == torch.device("cuda", 0)
    assert chosen == [torch.device("cuda", n) for n in (0, 1, 0)]
    with pytest.raises(NoSuchDevice, match="there is no cuda:2: this machine has 2 GPUs"):
        choose_device("cuda:2")
