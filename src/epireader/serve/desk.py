"""Where questions are answered: the models, the passages that were read lately, and answers as JSON.

Only the worker thread comes here, so nothing is locked.
"""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from epireader.answer import Answer, Asked, Reader, Story
from epireader.serve.errors import Refusal
from epireader.serve.metrics import Metrics
from epireader.serve.settings import ServeSettings

CHARACTERS_OF_A_WORD = 6
"""A passage of few, endless words is counted by its characters."""
DIGITS = 6


@dataclass(frozen=True)
class Task:
    """What one request wants: questions about a passage, or with none of them, only its words and sentences."""

    model: str
    passage: str
    questions: tuple[Asked, ...] = ()
    top: int = 1
    single: bool = False
    """Whether one question was asked by itself; its answer then stands at the top of the response."""


@dataclass(frozen=True)
class Kept:
    """A passage that was read, and its words and sentences as they stand in every response about it."""

    story: Story
    outline: bytes

    @property
    def size(self) -> int:
        return max(len(self.story.words), len(self.story.text) // CHARACTERS_OF_A_WORD)


@dataclass(frozen=True)
class Opened:
    """A task with its passage at hand."""

    task: Task
    kept: Kept


class Desk:
    def __init__(self, readers: Mapping[str, Reader], settings: ServeSettings, metrics: Metrics) -> None:
        self._readers = readers
        self._settings = settings
        self._metrics = metrics
        self._stories = StoryCache(settings.cache_words)

    def answer_all(self, tasks: list[Task]) -> list[bytes | Exception]:
        """A response for each task. Questions are read together, whoever asked them and about whatever passage."""
        self._metrics.batch.observe(len(tasks))
        responses: dict[int, bytes | Exception] = {}
        groups: dict[tuple[str, int], dict[int, Opened]] = {}
        for number, task in enumerate(tasks):
            try:
                groups.setdefault((task.model, task.top), {})[number] = self._open(task)
            except Exception as error:
                responses[number] = error
        for group in groups.values():
            responses.update(zip(group, self._answer_group(list(group.values())), strict=True))
        self._metrics.kept.set(self._stories.size)
        return [responses[number] for number in range(len(tasks))]

    def _open(self, task: Task) -> Opened:
        """Whatever is wrong with a task itself is found here, before it is read with others."""
        kept = self._passage(task)
        for asked in task.questions:
            kept.story.example(asked)
        return Opened(task, kept)

    def _answer_group(self, opened: list[Opened]) -> list[bytes | Exception]:
        """Responses to tasks for one model. If one of them fails, each is tried by itself: it spoils no other."""
        try:
            return [*self._answer_together(opened)]
        except Exception as error:
            return [error] if len(opened) == 1 else [self._answer_group([one])[0] for one in opened]

    def _answer_together(self, opened: list[Opened]) -> Iterator[bytes]:
        questions = [(one.kept.story, asked) for one in opened for asked in one.task.questions]
        first = opened[0].task
        answers = iter(self._readers[first.model].answer_all(questions, top=first.top, why=True))
        self._metrics.questions.inc(len(questions))
        for one in opened:
            yield encoded(one.task, one.kept, list(islice(answers, len(one.task.questions))))

    def _passage(self, task: Task) -> Kept:
        kept = self._stories.get(task.model, task.passage)
        self._metrics.passages.labels("miss" if kept is None else "hit").inc()
        if kept is not None:
            return kept
        story = self._readers[task.model].read(task.passage)
        if len(story.words) > self._settings.words:
            raise Refusal(
                413, f"the passage has {len(story.words):,} words; at most {self._settings.words:,} are read at once"
            )
        kept = Kept(story, outline(story))
        self._stories.put(task.model, kept)
        return kept


class StoryCache:
    """The passages read last, as many as fit a number of words."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._stories: OrderedDict[tuple[str, str], Kept] = OrderedDict()
        self.size = 0

    def get(self, model: str, text: str) -> Kept | None:
        kept = self._stories.get((model, text))
        if kept is not None:
            self._stories.move_to_end((model, text))
        return kept

    def put(self, model: str, kept: Kept) -> None:
        self._stories[model, kept.story.text] = kept
        self.size += kept.size
        while self.size > self._most:
            _, oldest = self._stories.popitem(last=False)
            self.size -= oldest.size

    def __len__(self) -> int:
        return len(self._stories)


def load_readers(names: Sequence[str]) -> dict[str, Reader]:
    """The models by the names requests call them: a folder's own name, whatever leads to it."""
    readers: dict[str, Reader] = {}
    for name in names:
        short = Path(name).resolve().name if Path(name).is_dir() else name
        if short in readers:
            raise ValueError(f"two models are called {short!r}; rename the folder of one of them")
        readers[short] = Reader.load(name)
    return readers


def encoded(task: Task, kept: Kept, answers: list[list[Answer]]) -> bytes:
    """The response to a task, as schemas.py describes it."""
    if not task.questions:
        return kept.outline
    results = [answered(asked, found) for asked, found in zip(task.questions, answers, strict=True)]
    body = {"model": task.model, **(results[0] if task.single else {"results": results})}
    return _json(body)[:-1] + b"," + kept.outline[1:]


def outline(story: Story) -> bytes:
    words = [
        {"text": word.text, "start": word.start, "end": word.end, "sentence": number}
        for number, sentence in enumerate(story.sentences)
        for word in sentence
    ]
    sentences = [{"start": sentence[0].start, "end": sentence[-1].end} for sentence in story.sentences]
    return _json({"words": words, "sentences": sentences})


def answered(asked: Asked, answers: list[Answer]) -> dict[str, Any]:
    return {
        "question": asked.question,
        "answers": [_answer(answer) for answer in answers],
        "attention": _rounded(answers[0].attention),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "text": answer.text,
        "p": answer.p,
        "e": answer.e,
        "pi": answer.pi,
        "mentions": [{"start": mention.start, "end": mention.end} for mention in answer.mentions],
        "evidence": _rounded(answer.evidence),
        "fits_blank": answer.fits_blank,
        "read_again": answer.read_again,
    }


def _rounded(values: Sequence[float] | None) -> list[float] | None:
    return None if values is None else np.round(np.asarray(values), DIGITS).tolist()


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
