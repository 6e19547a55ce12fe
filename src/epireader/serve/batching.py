"""One worker thread, one bounded queue: what waits while the worker is busy is the next batch.

No request waits for company: a lone one is taken at once, and batches grow only as fast as the load does.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

_log = logging.getLogger(__name__)


class QueueFull(Exception):
    """More waits already than may wait."""


class Closed(Exception):
    """The worker takes no more."""


@dataclass
class _Waiting(Generic[Task, Result]):
    task: Task
    future: "Future[Result]" = field(default_factory=Future)


class Batcher(Generic[Task, Result]):
    """Hands tasks to `work` in batches. `work` returns a result or an error for each task, in order."""

    def __init__(
        self, work: Callable[[list[Task]], Sequence[Result | Exception]], *, length: int, at_once: int
    ) -> None:
        self._work = work
        self._length = length
        self._at_once = at_once
        self._queue: deque[_Waiting[Task, Result]] = deque()
        self._changed = threading.Condition()
        self._closed = True
        self._thread: threading.Thread | None = None
        self.open()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive() and not self._closed

    def open(self) -> None:
        """Start working, or start again after `close`."""
        if not self.alive:
            self._closed = False
            self._thread = threading.Thread(target=self._run, name="epireader-batches", daemon=True)
            self._thread.start()

    def submit(self, task: Task) -> "Future[Result]":
        """Put a task in the queue. Raises QueueFull or Closed at once where there is no place for it."""
        waiting: _Waiting[Task, Result] = _Waiting(task)
        with self._changed:
            if self._closed:
                raise Closed
            if len(self._queue) >= self._length:
                raise QueueFull
            self._queue.append(waiting)
            self._changed.notify()
        return waiting.future

    def close(self) -> None:
        """Take no more, finish what is in the queue, and return when that is done."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while batch := self._next():
            begun = [waiting for waiting in batch if waiting.future.set_running_or_notify_cancel()]
            if begun:
                self._finish(begun)

    def _next(self) -> list[_Waiting[Task, Result]]:
        """The next batch; empty when all is done and no more will come."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed)
            return [self._queue.popleft() for _ in range(min(self._at_once, len(self._queue)))]

    def _finish(self, batch: list[_Waiting[Task, Result]]) -> None:
        try:
            results = self._work([waiting.task for waiting in batch])
            assert len(results) == len(batch)
        except Exception as error:
            _log.exception("a batch of %d failed", len(batch))
            results = [error] * len(batch)
        for waiting, result in zip(batch, results, strict=True):
            if isinstance(result, Exception):
                waiting.future.set_exception(result)
            else:
                waiting.future.set_result(result)
