"""Readers learn: a gradient reaches every weight, one batch can be learnt by heart, and nothing is had for free."""

import numpy as np
import pytest
import torch
from builders import example, vocabulary
from reference.cases import batch_of_cases
from reference.small import as_reader, epireader, hard_cases, small_settings
from torch import nn

from epireader.data.batches import BatchCutter
from epireader.data.example import Example
from epireader.data.questions import Questions, QuestionsBuilder
from epireader.evaluation.accuracy import evaluate
from epireader.evaluation.predict import Predictions, predict
from epireader.readers import READERS
from epireader.readers.saved import build_model, reader_settings

EIGHT = {"embedding_dim": 8, "hidden_dim": 8, "hypotheses": 3, "filters": 4, "reasoner_hidden_dim": 4, "dropout": 0.0}
SIZES = {name: small_settings(name, EIGHT) for name in READERS}


def questions_of(examples: list[Example]) -> Questions:
    builder = QuestionsBuilder()
    for one in examples:
        builder.add(one)
    return builder.build()


def riddles(count: int, candidates: int) -> list[Example]:
    """Every candidate stands once in the passage; every word is the answer equally often, and at every place."""
    random = np.random.default_rng(0)
    names = [f"w{n}" for n in range(candidates)]
    examples = []
    for n in range(count):
        answer = names[n % candidates]
        order = [str(name) for name in random.permutation(names) if name != answer]
        order.insert(n // candidates % candidates, answer)
        question = f"w{random.integers(10, 20)} XXXXX w{random.integers(10, 20)}"
        examples.append(example([" ".join(random.permutation(names)), "w20 ."], question, order, answer))
    return examples


def accuracies(model, questions: Questions) -> tuple[float, float]:
    evaluation = evaluate(predict([model], questions), most=1)
    return evaluation.extractor.value, evaluation.final.value


def constant(questions: Questions, favour: int | None) -> Predictions:
    """A reader that always gives the candidate at one place; with None, one that cannot decide."""
    offsets = questions.candidates.offsets.numpy()
    probs = np.full(offsets[-1], 0.1, np.float32)
    if favour is not None:
        probs[offsets[:-1] + favour] = 0.2
    return Predictions(offsets, probs, probs, None, questions.answers.numpy())


@pytest.mark.parametrize("make", [as_reader, epireader])
def test_a_gradient_reaches_every_row_of_every_matrix(make) -> None:
    module, batch = make(1).train(), batch_of_cases(hard_cases(2, 8))
    module.loss(module(batch), batch).total.backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name
        if parameter.dim() > 1 and "embedding" not in name:
            assert parameter.grad.flatten(1).any(dim=1).all(), f"every row of {name}"


def test_the_reasoners_loss_reaches_the_extractor_through_its_probabilities() -> None:
    module, batch = epireader(1, margin=0.9).train(), batch_of_cases(hard_cases(2, 8))
    both = module.loss(module(batch), batch)
    alone = epireader(1, margin=0.9, reasoner_weight=0.0).train()
    gradients = []
    for one, loss in ((module, both), (alone, alone.loss(alone(batch), batch))):
        loss.total.backward()
        gradients.append(one.extractor.passage_encoder.forwards.recurrence.weight_ih_l0.grad)
    assert not torch.allclose(*gradients)


@pytest.mark.parametrize("name", ["as-reader", "epireader"])
def test_one_batch_of_riddles_can_be_learnt_by_heart(name: str) -> None:
    torch.manual_seed(0)
    questions = questions_of(riddles(12, 6))
    model = build_model(name, reader_settings(name, SIZES[name]), vocabulary(22))
    module, rows = model.module, np.arange(12)
    batch = BatchCutter(questions, model.vocabulary).cut(torch.from_numpy(rows), questions.sizes.of(rows))
    assert max(accuracies(model, questions)) < 0.7
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    module.train()
    for _ in range(120):
        optimizer.zero_grad()
        module.loss(module(batch), batch).total.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 10.0)
        optimizer.step()
    assert accuracies(model, questions) == (1.0, 1.0)


def test_the_reasoner_alone_can_learn_a_batch_by_heart() -> None:
    torch.manual_seed(0)
    questions = questions_of(riddles(12, 6))
    sizes = SIZES["epireader"] | {"hypotheses": 6, "filters": 8, "reasoner_hidden_dim": 8, "margin": 0.5}
    model = build_model("epireader", reader_settings("epireader", sizes), vocabulary(22))
    rows = np.arange(12)
    batch = BatchCutter(questions, model.vocabulary).cut(torch.from_numpy(rows), questions.sizes.of(rows))
    with torch.no_grad():
        for parameter in model.module.extractor.parameters():
            parameter.zero_()
            parameter.requires_grad_(requires_grad=False)
    optimizer = torch.optim.Adam([p for p in model.module.parameters() if p.requires_grad], lr=0.02)
    for _ in range(250):
        optimizer.zero_grad()
        model.module.loss(model.module(batch), batch).total.backward()
        optimizer.step()
    assert accuracies(model, questions) == (0.0, 1.0)


@pytest.mark.parametrize("favour", range(10))
def test_a_reader_that_always_answers_the_same_scores_no_more_than_chance(favour: int) -> None:
    assert evaluate(constant(questions_of(riddles(100, 10)), favour), most=1).final.value == 0.1


def test_a_reader_that_cannot_decide_is_never_right() -> None:
    questions = questions_of(riddles(40, 10))
    evaluation = evaluate(constant(questions, None), most=10)
    assert evaluation.final.value == 0.0
    assert [evaluation.recall_at[k].value for k in (1, 9, 10)] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("hypotheses", [1, 3, 20])
@pytest.mark.parametrize("name", SIZES)
def test_a_reader_whose_weights_are_all_zero_scores_no_more_than_chance(name: str, hypotheses: int) -> None:
    sizes = SIZES[name] | ({"hypotheses": hypotheses} if name == "epireader" else {})
    model = build_model(name, reader_settings(name, sizes), vocabulary(22))
    with torch.no_grad():
        for parameter in model.module.parameters():
            parameter.zero_()
    first, final = accuracies(model, questions_of(riddles(100, 10)))
    assert first == 0.0
    assert final == (0.1 if name == "epireader" and hypotheses == 1 else 0.0)
