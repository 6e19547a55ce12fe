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


class Desk:
    def __init__(self, readers: Mapping[str, Reader], settings: ServeSettings, metrics: Metrics) -> None:
        self._readers = readers
        self._settings = settings
        self._metrics = metrics
        self._stories = StoryCache(settings.cache_words)

    def answer_all(self, tasks: list[Task]) -> list[bytes | Exception]:
        """A response for each task. Questions about the same passage are read together, whoever asked them."""
        self._metrics.batch.observe(len(tasks))
        groups: dict[tuple[str, str], list[int]] = {}
        for number, task in enumerate(tasks):
            groups.setdefault((task.model, task.passage), []).append(number)
        responses: dict[int, bytes | Exception] = {}
        for numbers in groups.values():
            together = [tasks[number] for number in numbers]
            responses.update(zip(numbers, self._answer_group(together), strict=True))
        self._metrics.kept.set(self._stories.size)
        return [responses[number] for number in range(len(tasks))]

    def _answer_group(self, tasks: list[Task]) -> list[bytes | Exception]:
        """Responses to tasks about one passage. If one of them fails, each is tried by itself: it spoils no other."""
        try:
            return [*self._answer_together(tasks)]
        except Exception as error:
            return [error] if len(tasks) == 1 else [self._answer_group([task])[0] for task in tasks]

    def _answer_together(self, tasks: list[Task]) -> Iterator[bytes]:
        kept = self._passage(tasks[0])
        questions = [asked for task in tasks for asked in task.questions]
        answers = iter(self._ask(kept.story, questions, max(task.top for task in tasks)))
        for task in tasks:
            yield encoded(task, kept, list(islice(answers, len(task.questions))))

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

    def _ask(self, story: Story, questions: list[Asked], top: int) -> list[list[Answer]]:
        """Answers in passes of bounded size: a pass holds every sentence padded to the longest, for each question."""
        slots = len(story.sentences) * max(len(sentence) for sentence in story.sentences)
        at_once = max(1, self._settings.batch_slots // slots)
        answers: list[list[Answer]] = []
        for start in range(0, len(questions), at_once):
            answers += story.ask_all(questions[start : start + at_once], top=top)
        self._metrics.questions.inc(len(questions))
        return answers


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
    results = [answered(asked, found, task.top) for asked, found in zip(task.questions, answers, strict=True)]
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


def answered(asked: Asked, answers: list[Answer], top: int) -> dict[str, Any]:
    return {
        "question": asked.question,
        "answers": [_answer(answer) for answer in answers[:top]],
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
    }


def _rounded(values: Sequence[float] | None) -> list[float] | None:
    return None if values is None else np.round(np.asarray(values), DIGITS).tolist()


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
