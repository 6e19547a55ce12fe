"""Readers learn tasks that take their mechanism; the floors do not get off the ground."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from synthetic import TASKS, Task
from torch import Tensor, nn

from epireader.data.batches import Batch, BatchCutter, plan_epoch
from epireader.data.questions import Questions
from epireader.data.vocabulary import PAD_ID, Vocabulary
from epireader.evaluation.accuracy import evaluate
from epireader.evaluation.predict import predict
from epireader.layers.attention import TanhAttention
from epireader.readers import READERS
from epireader.readers.deep_lstm import DeepLSTMReader
from epireader.readers.ensemble import load_members
from epireader.readers.language_model import LanguageModelReader
from epireader.readers.saved import Model, build_model

pytestmark = pytest.mark.usefixtures("unchecked")


@dataclass(frozen=True)
class Lesson:
    """What a reader is taught, with which settings other than small sizes, and for how long at the most."""

    task: str = "pointing"
    settings: dict[str, Any] = field(default_factory=dict)
    questions: int = 600
    learning_rate: float = 0.02
    most_epochs: int = 20
    batch: int = 32
    vector_deviation: float | None = None
    """How far from zero word vectors begin, if not as near as a reader puts them; those made elsewhere are at about 0.4."""
    rename_entities: bool = False


# How these settings were found is in docs/experiments.md.
LOOKING = Lesson("link", questions=8000, learning_rate=0.005, batch=128, vector_deviation=5.0)
LESSONS = {
    "as-reader": Lesson(vector_deviation=0.4),
    "epireader": Lesson(
        "together",
        {"reasoner_weight": 1.0, "filters": 8, "reasoner_hidden_dim": 8},
        questions=4000,
        learning_rate=0.01,
        vector_deviation=0.4,
    ),
    "attentive": LOOKING,
    "impatient": replace(LOOKING, task="chain"),
    "deep-lstm": Lesson("keyed", {"embedding_dim": 256}, questions=2000, learning_rate=0.005, most_epochs=30),
    "stanford": Lesson(
        "renamed",
        {"embedding_dim": 50, "hidden_dim": 64},
        questions=2000,
        learning_rate=0.003,
        most_epochs=15,
        vector_deviation=0.4,
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
    questions, check = task.lesson(lesson.questions, seed=SEED), task.questions(200, seed=SEED + 1000)
    model = beginner(name, lesson, questions)
    cutter = BatchCutter(questions, model.vocabulary)
    optimizer = torch.optim.Adam(model.module.parameters(), lr=lesson.learning_rate)
    for epoch in range(lesson.most_epochs):
        model.module.train()
        for rows in plan_epoch(cutter.sizes.words, lesson.batch, seed=SEED, epoch=epoch):
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
    if lesson.vector_deviation is not None:
        with torch.no_grad():
            model.module.embedding.weight[PAD_ID + 1 :].normal_(std=lesson.vector_deviation)
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
        ("attentive", replace(LESSONS["as-reader"], most_epochs=6)),
        ("as-reader", replace(LESSONS["epireader"], settings={}, most_epochs=2)),
        ("attentive", replace(LESSONS["impatient"], most_epochs=8)),
        ("stanford", replace(LESSONS["stanford"], rename_entities=False, most_epochs=6)),
        ("memory", replace(LESSONS["memory"], settings={"window": 1}, most_epochs=6)),
        ("memory", Lesson("pointing", most_epochs=6)),
        ("memory", Lesson("keyed", {"window": 3}, most_epochs=6)),
        ("language-model", Lesson("windows", most_epochs=6)),
    ],
    ids=lambda part: part if isinstance(part, str) else part.task,
)
def test_a_reader_without_the_mechanism_does_not_learn_it(name: str, lesson: Lesson) -> None:
    assert accuracy([taught(name, lesson)], TASKS[lesson.task]) < 0.7


def test_an_attention_blind_to_the_question_does_not_find_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    seeing = TanhAttention.forward

    def blind(self: TanhAttention, words: Tensor, wanted: Tensor, passage_mask: Tensor) -> Tensor:
        return seeing(self, words, torch.zeros_like(wanted), passage_mask)

    monkeypatch.setattr(TanhAttention, "forward", blind)
    lesson = replace(LESSONS["attentive"], most_epochs=4)
    assert accuracy([taught("attentive", lesson)], TASKS[lesson.task]) < 0.7


def test_an_lstm_that_reads_the_question_last_does_not_know_what_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    question_first = DeepLSTMReader._one_sequence

    def question_last(self: DeepLSTMReader, batch: Batch) -> tuple[Tensor, Tensor]:
        one_sentence = torch.zeros_like(batch.question)
        swapped = replace(batch, passage=batch.question, sentence_of=one_sentence, question=batch.passage)
        return question_first(self, swapped)

    monkeypatch.setattr(DeepLSTMReader, "_one_sequence", question_last)
    lesson = replace(LESSONS["deep-lstm"], most_epochs=16)
    assert accuracy([taught("deep-lstm", lesson)], TASKS[lesson.task]) < 0.7


def test_a_language_model_that_stops_at_the_blank_does_not_see_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    to_the_end = LanguageModelReader._continue

    def to_the_blank(self: LanguageModelReader, passage_states: Tensor, statements: Tensor) -> Tensor:
        return to_the_end(self, passage_states, statements[..., :2])  # "the hen"

    monkeypatch.setattr(LanguageModelReader, "_continue", to_the_blank)
    lesson = replace(LESSONS["language-model"], most_epochs=6)
    assert accuracy([taught("language-model", lesson)], TASKS[lesson.task]) < 0.7


@pytest.mark.parametrize("task", TASKS)
def test_every_place_in_the_list_of_candidates_is_right_equally_often(task: str) -> None:
    answers = TASKS[task].questions(600, seed=2).answers.numpy()
    assert answers.min() == 0
    assert np.bincount(answers)[:3].min() > 600 / 12
