"""Readers learn tasks that take their mechanism; the floors do not get off the ground."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from synthetic import TASKS, Task
from torch import Tensor, nn

from epireader.data.batches import BatchCutter, plan_epoch
from epireader.data.questions import Questions
from epireader.data.vocabulary import PAD_ID, Vocabulary
from epireader.evaluation.accuracy import evaluate
from epireader.evaluation.predict import predict
from epireader.layers.attention import TanhAttention
from epireader.readers import READERS
from epireader.readers.ensemble import load_members
from epireader.readers.saved import Model, build_model


@dataclass(frozen=True)
class Lesson:
    """What a reader is taught, with which settings other than small sizes, and for how long at the most."""

    task: str = "pointing"
    settings: dict[str, Any] = field(default_factory=dict)
    questions: int = 600
    learning_rate: float = 0.02
    most_epochs: int = 20
    given_vectors: bool = False
    """Whether word vectors begin as large as those made elsewhere are."""
    rename_entities: bool = False


# Readers that know answers by output vectors of their own are offered every answer word, also those that do not stand
# in the passage: they leave chance sooner. How these settings were found is in docs/experiments.md.
BY_OUTPUT_VECTORS = Lesson("keyed", {"embedding_dim": 256}, questions=2000, learning_rate=0.005, most_epochs=13)
LESSONS = {
    "as-reader": Lesson(),
    "epireader": Lesson(settings={"reasoner_weight": 1.0}),
    "attentive": BY_OUTPUT_VECTORS,
    "impatient": replace(BY_OUTPUT_VECTORS, task="crossing"),
    "deep-lstm": replace(BY_OUTPUT_VECTORS, most_epochs=30),
    "stanford": Lesson(
        "renamed",
        {"embedding_dim": 50, "hidden_dim": 64},
        questions=2000,
        learning_rate=0.003,
        most_epochs=15,
        given_vectors=True,
        rename_entities=True,
    ),
    "memory": Lesson("windows", {"window": 3}),
    "language-model": Lesson("next words"),
}
SMALL = {"embedding_dim": 32, "hidden_dim": 32, "filters": 4, "reasoner_hidden_dim": 4}
SEED = 0


def taught(name: str, lesson: Lesson) -> Model:
    """A small reader that has been through a lesson, until questions it does not learn from go well."""
    torch.manual_seed(SEED)
    task = TASKS[lesson.task]
    questions, check = task.questions(lesson.questions, seed=SEED), task.questions(200, seed=SEED + 1000)
    model = beginner(name, lesson, questions)
    cutter = BatchCutter(questions, model.vocabulary)
    optimizer = torch.optim.Adam(model.module.parameters(), lr=lesson.learning_rate)
    for epoch in range(lesson.most_epochs):
        model.module.train()
        for rows in plan_epoch(cutter.sizes.words, 32, seed=SEED, epoch=epoch):
            batch = cutter.cut(torch.from_numpy(rows), cutter.sizes.of(rows))
            optimizer.zero_grad()
            model.module.loss(model.module(batch), batch).total.backward()
            nn.utils.clip_grad_norm_(model.module.parameters(), 10.0)
            optimizer.step()
        if evaluate(predict([model], check), most=1).final.value >= 0.98:
            break
    return model


def beginner(name: str, lesson: Lesson, questions: Questions) -> Model:
    """A small reader before its lesson."""
    kind = READERS[name]
    sizes = {one.name: SMALL[one.name] for one in fields(kind.config) if one.name in SMALL}
    words = tuple(word for word, _ in questions.word_counts())
    vocabulary = Vocabulary(words, rename_entities=lesson.rename_entities)
    model = build_model(name, kind.config(**(sizes | lesson.settings)), vocabulary)
    if lesson.given_vectors:
        with torch.no_grad():
            model.module.embedding.weight[PAD_ID + 1 :].normal_(std=0.4)
    return model


def accuracy(members: list[Model], task: Task) -> float:
    return evaluate(predict(members, task.questions(400, seed=2000)), most=1).final.value


def test_every_reader_has_a_lesson() -> None:
    assert set(LESSONS) == set(READERS)


@pytest.mark.parametrize("name", LESSONS)
def test_a_reader_learns_what_takes_its_mechanism(name: str) -> None:
    lesson = LESSONS[name]
    assert accuracy([taught(name, lesson)], TASKS[lesson.task]) >= 0.9


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("floor", ["last-mentioned", "random"])
def test_a_floor_stays_near_chance(task: str, floor: str) -> None:
    assert accuracy(load_members(floor), TASKS[task]) < TASKS[task].chance + 0.1


@pytest.mark.parametrize("task", TASKS)
def test_the_most_frequent_candidate_is_as_good_as_a_guess(task: str) -> None:
    assert accuracy(load_members("most-frequent"), TASKS[task]) == pytest.approx(TASKS[task].chance, abs=0.08)


@pytest.mark.parametrize(
    ("name", "lesson"),
    [
        ("memory", Lesson("pointing", most_epochs=6)),
        ("memory", Lesson("keyed", {"window": 3}, most_epochs=6)),
        ("memory", Lesson("crossing", {"window": 3}, most_epochs=6)),
        ("language-model", Lesson("windows", most_epochs=6)),
    ],
    ids=lambda part: part if isinstance(part, str) else part.task,
)
def test_a_reader_without_the_mechanism_does_not_learn_it(name: str, lesson: Lesson) -> None:
    assert accuracy([taught(name, lesson)], TASKS[lesson.task]) < 0.7


def test_an_attention_blind_to_the_question_does_not_get_there_with_the_same_lesson(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeing = TanhAttention.forward

    def blind(self: TanhAttention, words: Tensor, wanted: Tensor, passage_mask: Tensor) -> Tensor:
        return seeing(self, words, torch.zeros_like(wanted), passage_mask)

    monkeypatch.setattr(TanhAttention, "forward", blind)
    lesson = LESSONS["attentive"]
    assert accuracy([taught("attentive", lesson)], TASKS[lesson.task]) < 0.9


def test_entities_that_are_not_renamed_are_too_many_to_learn() -> None:
    lesson = replace(LESSONS["stanford"], rename_entities=False, most_epochs=6)
    assert accuracy([taught("stanford", lesson)], TASKS[lesson.task]) < 0.7


@pytest.mark.parametrize("task", TASKS)
def test_every_place_in_the_list_of_candidates_is_right_equally_often(task: str) -> None:
    answers = TASKS[task].questions(600, seed=2).answers.numpy()
    assert answers.min() == 0
    assert np.bincount(answers)[:3].min() > 600 / 12
