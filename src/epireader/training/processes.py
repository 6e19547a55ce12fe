"""One process or several (`torchrun`), on the CPU or on GPUs."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

ASK_EVERY = 20
"""Several processes ask each other every so many steps whether to save or to stop."""


class NoSuchDevice(ValueError):
    """A device this machine does not have."""


@dataclass(frozen=True)
class Processes:
    """This process among all those that train together."""

    rank: int
    world: int
    device: torch.device

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def mean(self, value: Tensor) -> Tensor:
        """The mean of a value over all processes."""
        if self.world == 1:
            return value
        value = value.clone()
        dist.all_reduce(value)
        return value / self.world

    def any(self, flag: bool) -> bool:
        """Whether the flag is up in any process."""
        if self.world == 1:
            return flag
        raised = torch.tensor(float(flag), device=self.device)
        dist.all_reduce(raised, op=dist.ReduceOp.MAX)
        return bool(raised.item())

    def agree(self, flag: bool, step: int) -> bool:
        """Whether the flag is up in any process; asking takes a round trip, so it is not done at every step."""
        return flag if self.world == 1 else step % ASK_EVERY == 0 and self.any(flag)

    def wait(self) -> None:
        if self.world > 1:
            dist.barrier()


_joined: "list[dist.ProcessGroup | None]" = []
"""Groups, kept to the end of the process. What is trained in one can outlive it (in the traceback of an error), and must not be
the last to let it go: that waits, holding Python's lock, for a thread which may wait for the lock."""


FAREWELL = 0.5
"""Seconds. A group's threads may want Python's lock once more to let go of what they sent; one that asks for it when Python is
ending aborts the process."""


@contextmanager
def join_processes(device: str) -> Iterator[Processes]:
    """Join the other processes that torchrun started, if it did."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    chosen = choose_device(device, local_rank=int(os.environ.get("LOCAL_RANK", "0")))
    if world == 1:
        yield Processes(0, 1, chosen)
        return
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    _joined.append(dist.group.WORLD)
    try:
        yield Processes(dist.get_rank(), world, chosen)
    finally:
        dist.destroy_process_group()
        time.sleep(FAREWELL)


def choose_device(name: str, *, local_rank: int = 0) -> torch.device:
    """`auto`, `cpu` or `cuda` (or `cuda:1`) as a device that is really there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise NoSuchDevice(f"there is no device {name!r}; give auto, cpu or cuda") from None
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise NoSuchDevice("this machine has no GPU that torch can use; give --device cpu")
        device = torch.device("cuda", device.index if device.index is not None else local_rank)
        if device.index >= torch.cuda.device_count():
            raise NoSuchDevice(f"there is no {device}: this machine has {torch.cuda.device_count()} GPUs")
        torch.cuda.set_device(device)
    elif device.type != "cpu":
        raise NoSuchDevice(f"training runs on cpu or cuda, not on {device.type}")
    return device
