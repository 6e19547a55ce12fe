"""Readers learn tasks that take their mechanism; the floors do not get off the ground."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pytest
import torch
from synthetic import TASKS, Task
from torch import nn

from epireader.data.batches import BatchCutter, plan_epoch
from epireader.data.vocabulary import Vocabulary
from epireader.evaluation.accuracy import evaluate
from epireader.evaluation.predict import predict
from epireader.readers import READERS
from epireader.readers.ensemble import load_members
from epireader.readers.saved import Model, build_model


@dataclass(frozen=True)
class Lesson:
    """What a reader is taught, and with which settings other than small sizes."""

    task: str = "pointing"
    settings: dict[str, Any] = field(default_factory=dict)
    epochs: int = 12


LESSONS = {
    "as-reader": Lesson(),
    "epireader": Lesson(settings={"reasoner_weight": 1.0}, epochs=7),
    "memory": Lesson("windows", {"window": 3}, epochs=6),
    "language-model": Lesson("next words", epochs=16),
}
SMALL = {"embedding_dim": 32, "hidden_dim": 32, "filters": 4, "reasoner_hidden_dim": 4}


def taught(name: str, lesson: Lesson) -> Model:
    """A small reader that has been through a lesson."""
    torch.manual_seed(0)
    questions, kind = TASKS[lesson.task].questions(600, seed=0), READERS[name]
    sizes = {one.name: SMALL[one.name] for one in fields(kind.config) if one.name in SMALL}
    words = Vocabulary(tuple(word for word, _ in questions.word_counts()))
    model = build_model(name, kind.config(**(sizes | lesson.settings)), words)
    cutter = BatchCutter(questions, words)
    model.module.train()
    optimizer = torch.optim.Adam(model.module.parameters(), lr=0.02)
    for epoch in range(lesson.epochs):
        for rows in plan_epoch(cutter.sizes.words, 32, seed=0, epoch=epoch):
            batch = cutter.cut(torch.from_numpy(rows), cutter.sizes.of(rows))
            optimizer.zero_grad()
            model.module.loss(model.module(batch), batch).total.backward()
            nn.utils.clip_grad_norm_(model.module.parameters(), 10.0)
            optimizer.step()
    return model


def accuracy(members: list[Model], task: Task) -> float:
    return evaluate(predict(members, task.questions(400, seed=1)), most=1).final.value


@pytest.mark.parametrize("name", LESSONS)
def test_a_reader_learns_what_takes_its_mechanism(name: str) -> None:
    lesson = LESSONS[name]
    assert accuracy([taught(name, lesson)], TASKS[lesson.task]) >= 0.9


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("floor", ["most-frequent", "last-mentioned", "random"])
def test_a_floor_stays_near_chance(task: str, floor: str) -> None:
    assert accuracy(load_members(floor), TASKS[task]) < TASKS[task].chance + 0.1


@pytest.mark.parametrize(("name", "task"), [("memory", "pointing"), ("language-model", "windows")])
def test_a_reader_without_the_mechanism_does_not_learn_it(name: str, task: str) -> None:
    assert accuracy([taught(name, Lesson(task, epochs=6))], TASKS[task]) < 0.7


@pytest.mark.parametrize("task", TASKS)
def test_every_place_in_the_list_of_candidates_is_right_equally_often(task: str) -> None:
    answers = TASKS[task].questions(600, seed=2).answers.numpy()
    assert answers.min() == 0
    assert np.bincount(answers)[:3].min() > 600 / 10
