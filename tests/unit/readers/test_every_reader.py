"""What must be true of every reader in the table, those yet to be written too."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import batch_of, random_example, vocabulary
from reference.cases import Case, Extra, batch_of_cases
from reference.small import hard_cases, small, small_config
from torch import nn

from epireader.data.batches import Batch
from epireader.readers import READERS
from epireader.readers.saved import build_model, load_model, model_record, save_weights
from epireader.training.config import load_config, presets
from epireader.training.optimizer import l2_penalty

EVERY = pytest.mark.parametrize("name", READERS)

ODD = {
    "a passage of one word": Case([[5]], [9, 1, 6], [[5]], 0),
    "an answer that is not in the passage": Case([[5, 6, 7]], [9, 1], [[5], [10], [6]], 1),
    "no candidate in the passage": Case([[5, 6, 7]], [9, 1], [[9], [10]], 1),
    "an answer that is not known": Case([[5, 6, 7]], [9, 1], [[5], [6]], None),
    "a question that is only the blank": Case([[5, 6, 7], [8]], [1], [[5], [6]], 0),
    "a phrase longer than the passage": Case([[5]], [1, 6], [[5, 6, 7, 8], [5]], 1),
    "two candidates read as the same words": Case([[5, 6]], [1, 6], [[5], [5]], 1),
}


def row_of(batch: Batch, row: int) -> Batch:
    return Batch(**{field.name: getattr(batch, field.name)[row : row + 1] for field in fields(Batch)})


def loss_of(module: nn.Module, batch: Batch) -> torch.Tensor:
    return module.loss(module(batch), batch).total


def learn(module: nn.Module, batch: Batch, steps: int) -> None:
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    module.train()
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(module, batch).backward()
        nn.utils.clip_grad_norm_(module.parameters(), 10.0)
        optimizer.step()


@EVERY
@pytest.mark.parametrize("training", [True, False])
def test_padding_changes_nothing(name: str, training: bool) -> None:
    module, cases = small(name, 1).train(training), hard_cases(2, 5)
    plain, padded = batch_of_cases(cases), batch_of_cases(cases, Extra(7, 2, 3, 2, 1))
    count = plain.candidates.shape[1]
    log_probs = module(padded).log_probs
    torch.testing.assert_close(log_probs[:, :count].exp(), module(plain).log_probs.exp())
    assert not log_probs[:, count:].exp().any()
    torch.testing.assert_close(loss_of(module, padded), loss_of(module, plain))


@EVERY
def test_a_batch_is_read_as_its_questions_one_by_one(name: str) -> None:
    module, cases = small(name, 3).eval(), hard_cases(4, 6)
    together = module(batch_of_cases(cases)).log_probs.exp()
    losses = []
    for row, case in enumerate(cases):
        alone = batch_of_cases([case])
        torch.testing.assert_close(together[row, : len(case.candidates)], module(alone).log_probs[0].exp())
        losses.append(loss_of(module.train(), alone))
        module.eval()
    torch.testing.assert_close(loss_of(module.train(), batch_of_cases(cases)), torch.stack(losses).mean())


@EVERY
def test_a_passage_that_was_read_before_gives_the_same_answers(name: str) -> None:
    module, batch = small(name, 5).eval(), batch_of_cases(hard_cases(6, 4))
    with torch.no_grad():
        states = module.read_passage(batch)
        torch.testing.assert_close(module(batch, states).log_probs, module(batch).log_probs)
        other = replace(batch, question=batch.question.flip(0))
        torch.testing.assert_close(module(other, states).log_probs, module(other).log_probs)


@EVERY
def test_a_gradient_reaches_every_parameter(name: str) -> None:
    module, batch = small(name, 1).train(), batch_of_cases(hard_cases(2, 8))
    loss_of(module, batch).backward()
    tables = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    for parameter_name, parameter in module.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.any(), parameter_name
        if parameter.dim() > 1 and id(parameter) not in tables:
            assert parameter.grad.flatten(1).any(dim=1).all(), f"every row of {parameter_name}"


@EVERY
def test_one_batch_can_be_learnt_by_heart(name: str) -> None:
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    kind, known = READERS[name], vocabulary(20)
    sizes = {"embedding_dim": 12, "hidden_dim": 12, "reasoner_weight": 1.0}
    settings = {field.name: sizes[field.name] for field in fields(kind.config) if field.name in sizes}
    module = kind.module(kind.config(**settings), len(known))
    examples = [random_example(random, words=20, candidates=6, sentences=3) for _ in range(10)]
    batch = batch_of([one for one in examples if len(one.candidates) > 2], known)
    learn(module, batch, 150)
    with torch.no_grad():
        assert torch.equal(module.eval()(batch).log_probs.argmax(dim=1), batch.answer)


@EVERY
@pytest.mark.parametrize("training", [True, False])
def test_odd_questions_are_read_soundly_alone_and_together(name: str, training: bool) -> None:
    for cases in (*([case] for case in ODD.values()), list(ODD.values())):
        module, batch = small(name, 7).float().train(training), batch_of_cases(cases)
        reading = module(batch)
        assert not reading.log_probs.isnan().any()
        assert (reading.log_probs < 1e-4).all()
        loss = module.loss(reading, batch).total
        assert loss.isfinite()
        if loss.requires_grad:
            with torch.autograd.set_detect_anomaly(True):
                loss.backward()
        for parameter_name, parameter in module.named_parameters():
            assert parameter.grad is None or parameter.grad.isfinite().all(), parameter_name


@EVERY
@pytest.mark.parametrize("unknown", [-1, -2])
def test_nothing_is_learnt_from_a_question_whose_answer_is_unknown(name: str, unknown: int) -> None:
    module, batch = small(name, 1).train(), batch_of_cases(hard_cases(3, 2))
    batch.answer.fill_(unknown)
    loss = loss_of(module, batch)
    loss.backward()
    assert loss.item() == 0.0
    assert all(p.grad is None or not p.grad.any() for p in module.parameters())


@EVERY
def test_half_precision_is_near_and_its_gradients_are_finite(name: str) -> None:
    module, batch = small(name, 5).float().train(), batch_of_cases(hard_cases(6, 5))
    full = loss_of(module, batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        reading = module(batch)
    loss = module.loss(reading, batch).total
    torch.testing.assert_close(loss, full, rtol=0.1, atol=0.05)
    loss.backward()
    for parameter_name, parameter in module.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name


@EVERY
def test_a_saved_reader_answers_as_before_bit_for_bit(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = build_model(name, small_config(name), vocabulary(9, strangers=3))
    (tmp_path / "config.json").write_text(json.dumps(model_record(model)))
    model.vocabulary.save(tmp_path / "vocab.txt")
    save_weights(tmp_path / "model.safetensors", model.module.state_dict(), {})
    random = np.random.default_rng(0)
    batch = batch_of([random_example(random, phrase=2) for _ in range(6)], model.vocabulary)
    with torch.no_grad():
        assert torch.equal(load_model(tmp_path).module(batch).log_probs, model.module.eval()(batch).log_probs)


@EVERY
def test_l2_can_be_asked_of_every_reader(name: str) -> None:
    assert l2_penalty(small(name)).isfinite()


def test_every_reader_has_a_preset() -> None:
    assert {load_config(preset).reader for preset in presets()} == set(READERS)
