"""The queue is bounded, batches are what waits, and nobody gets another's answer."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from epireader.serve.batching import Batcher, Closed, QueueFull

SECONDS = 10


class Slow:
    """Work that goes on only when told to, and remembers its batches."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Event()
        self.batches: list[list[int]] = []

    def __call__(self, tasks: list[int]) -> list[int | Exception]:
        self.batches.append(tasks)
        self.begun.set()
        assert self.go.wait(SECONDS)
        return [ValueError("odd") if task == 13 else 10 * task for task in tasks]


@pytest.fixture
def work() -> Slow:
    return Slow()


@pytest.fixture
def batcher(work: Slow) -> Iterator[Batcher[int, int]]:
    batcher: Batcher[int, int] = Batcher(work, length=4, at_once=3)
    yield batcher
    work.go.set()
    batcher.close()


def begin(batcher: Batcher[int, int], work: Slow) -> "Future[int]":
    """A first task, which the worker is busy with from now on."""
    first = batcher.submit(1)
    assert work.begun.wait(SECONDS)
    return first


def test_what_waits_while_the_worker_is_busy_is_the_next_batch(batcher: Batcher[int, int], work: Slow) -> None:
    first = begin(batcher, work)
    others = [batcher.submit(task) for task in (2, 3, 4, 5)]
    work.go.set()
    assert [future.result(SECONDS) for future in (first, *others)] == [10, 20, 30, 40, 50]
    assert work.batches == [[1], [2, 3, 4], [5]]


def test_a_full_queue_refuses_at_once_and_takes_again_when_there_is_room(
    batcher: Batcher[int, int], work: Slow
) -> None:
    begin(batcher, work)
    others = [batcher.submit(task) for task in (2, 3, 4, 5)]
    assert batcher.waiting == 4
    with pytest.raises(QueueFull):
        batcher.submit(6)
    work.go.set()
    assert others[-1].result(SECONDS) == 50
    assert batcher.submit(7).result(SECONDS) == 70


def test_an_error_reaches_only_the_one_it_belongs_to(batcher: Batcher[int, int], work: Slow) -> None:
    begin(batcher, work)
    good, bad = batcher.submit(2), batcher.submit(13)
    work.go.set()
    assert good.result(SECONDS) == 20
    with pytest.raises(ValueError, match="odd"):
        bad.result(SECONDS)


def test_closing_finishes_what_is_in_the_queue_and_takes_no_more(work: Slow) -> None:
    batcher: Batcher[int, int] = Batcher(work, length=4, at_once=1)
    futures = [begin(batcher, work), batcher.submit(2), batcher.submit(3)]
    closing = threading.Thread(target=batcher.close)
    closing.start()
    while batcher.alive:
        pass
    with pytest.raises(Closed):
        batcher.submit(4)
    assert not any(future.done() for future in futures)
    work.go.set()
    closing.join(SECONDS)
    assert [future.result(0) for future in futures] == [10, 20, 30]


def test_what_was_closed_can_be_opened_again() -> None:
    batcher: Batcher[int, int] = Batcher(lambda tasks: [task + 1 for task in tasks], length=4, at_once=4)
    for _ in range(3):
        assert batcher.submit(1).result(SECONDS) == 2
        batcher.close()
        assert not batcher.alive
        batcher.open()
    batcher.close()


def test_one_who_went_away_is_not_worked_for(batcher: Batcher[int, int], work: Slow) -> None:
    begin(batcher, work)
    gone, stays = batcher.submit(2), batcher.submit(3)
    assert gone.cancel()
    work.go.set()
    assert stays.result(SECONDS) == 30
    assert work.batches == [[1], [3]]


def test_work_that_fails_fails_its_batch_and_nothing_after_it(caplog: pytest.LogCaptureFixture) -> None:
    def work(tasks: list[int]) -> list[int | Exception]:
        if 0 in tasks:
            raise ZeroDivisionError("no")
        return [*tasks]

    batcher: Batcher[int, int] = Batcher(work, length=4, at_once=4)
    with pytest.raises(ZeroDivisionError):
        batcher.submit(0).result(SECONDS)
    assert batcher.submit(5).result(SECONDS) == 5
    assert "a batch of 1 failed" in caplog.text
    batcher.close()


def test_many_at_once_each_get_their_own_answer() -> None:
    batcher: Batcher[int, int] = Batcher(lambda tasks: [task * task for task in tasks], length=64, at_once=8)
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda n: batcher.submit(n).result(SECONDS), range(500)))
    batcher.close()
    assert results == [n * n for n in range(500)]
