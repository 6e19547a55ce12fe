"""Where questions are answered: the models, the passages that were read lately, and answers as JSON.

Only the worker thread comes here, so nothing is locked.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        try:
            story = self._story(tasks[0])
        except Exception as error:
            return [error] * len(tasks)
        try:
            answers = self._ask(
                story, [asked for task in tasks for asked in task.questions], max(task.top for task in tasks)
            )
        except Exception as error:  # one bad question must not spoil the others
            return [error] if len(tasks) == 1 else [self._answer_group([task])[0] for task in tasks]
        ready, start = [], 0
        for task in tasks:
            ready.append(encoded(task, story, answers[start : start + len(task.questions)]))
            start += len(task.questions)
        return [*ready]

    def _story(self, task: Task) -> Story:
        story = self._stories.get(task.model, task.passage)
        self._metrics.passages.labels("miss" if story is None else "hit").inc()
        if story is not None:
            return story
        story = self._readers[task.model].read(task.passage)
        if len(story.words) > self._settings.words:
            raise Refusal(
                413, f"the passage has {len(story.words):,} words; at most {self._settings.words:,} are read at once"
            )
        self._stories.put(task.model, story)
        return story

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
        self._stories: OrderedDict[tuple[str, str], Story] = OrderedDict()
        self.size = 0

    def get(self, model: str, text: str) -> Story | None:
        story = self._stories.get((model, text))
        if story is not None:
            self._stories.move_to_end((model, text))
        return story

    def put(self, model: str, story: Story) -> None:
        self._stories[model, story.text] = story
        self.size += _size(story)
        while self.size > self._most:
            _, oldest = self._stories.popitem(last=False)
            self.size -= _size(oldest)

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


def encoded(task: Task, story: Story, answers: list[list[Answer]]) -> bytes:
    """The response to a task, as schemas.py describes it."""
    body: dict[str, Any] = {"model": task.model} if task.questions else {}
    results = [answered(asked, found, task.top) for asked, found in zip(task.questions, answers, strict=True)]
    body.update(results[0] if task.single else {"results": results} if results else {})
    body["words"] = [
        {"text": word.text, "start": word.start, "end": word.end, "sentence": number}
        for number, sentence in enumerate(story.sentences)
        for word in sentence
    ]
    body["sentences"] = [{"start": sentence[0].start, "end": sentence[-1].end} for sentence in story.sentences]
    return json.dumps(body, allow_nan=False, separators=(",", ":")).encode("ascii")


def answered(asked: Asked, answers: list[Answer], top: int) -> dict[str, Any]:
    attention = answers[0].attention
    return {
        "question": asked.question,
        "answers": [_answer(answer) for answer in answers[:top]],
        "attention": None if attention is None else [round(weight, DIGITS) for weight in attention],
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "text": answer.text,
        "p": answer.p,
        "e": answer.e,
        "pi": answer.pi,
        "mentions": [{"start": mention.start, "end": mention.end} for mention in answer.mentions],
        "evidence": None if answer.evidence is None else [round(score, DIGITS) for score in answer.evidence],
    }


def _size(story: Story) -> int:
    return max(len(story.words), len(story.text) // CHARACTERS_OF_A_WORD)
