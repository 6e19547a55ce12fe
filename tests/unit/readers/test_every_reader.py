"""What must be true of every reader in the table, those yet to be written too."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import batch_of, random_example, vocabulary
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cases import Case, Extra, batch_of_cases
from reference.odd import ODD, PLAIN, assert_sound
from reference.small import MORE, hard_cases, small, small_config
from torch import nn

from epireader.data.batches import Batch
from epireader.readers import READERS
from epireader.readers.epireader import EpiReader
from epireader.readers.saved import build_model, load_model, model_record, save_weights
from epireader.training.config import load_config, presets
from epireader.training.optimizer import l2_penalty

EVERY = pytest.mark.parametrize("name", READERS)
EVERY_AND_MORE = pytest.mark.parametrize("name", [*READERS, *MORE])

WIDER = [
    Extra(words=7),
    Extra(sentences=3),
    Extra(question=4),
    Extra(candidates=5),
    Extra(phrase=3),
    Extra(words=7, sentences=2, question=3, candidates=2, phrase=1),
]


def rows(batch: Batch, order: list[int]) -> Batch:
    """The batch with its questions in another order."""
    return Batch(**{field.name: getattr(batch, field.name)[order] for field in fields(Batch)})


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


@EVERY_AND_MORE
@pytest.mark.parametrize("extra", WIDER, ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_padding_changes_nothing(name: str, extra: Extra, training: bool) -> None:
    module, cases = small(name, 3).train(training), hard_cases(4, 6)
    if isinstance(module, EpiReader):
        with torch.no_grad():  # so that padding would win the maximum, if it could
            module.reasoner.sentence_filters.bias += 4
            module.reasoner.hypothesis_filters.bias += 4
    plain, padded = batch_of_cases(cases), batch_of_cases(cases, extra)
    tight, wider, count = module(plain), module(padded), plain.candidates.shape[1]
    for part in ("log_probs", "first_log_probs"):
        torch.testing.assert_close(getattr(wider, part)[:, :count], getattr(tight, part))
        assert not getattr(wider, part)[:, count:].exp().any()
    torch.testing.assert_close(loss_of(module, padded), loss_of(module, plain))


@EVERY_AND_MORE
@pytest.mark.parametrize("training", [True, False])
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_a_batch_is_read_as_its_questions_one_by_one(name: str, training: bool, seed: int) -> None:
    module, cases = small(name, seed).train(training), hard_cases(seed, 5, longest=9)
    batch, singles = batch_of_cases(cases), [batch_of_cases([case]) for case in cases]
    together = module(batch)
    for row, (case, single) in enumerate(zip(cases, singles, strict=True)):
        alone, count = module(single), len(case.candidates)
        torch.testing.assert_close(together.log_probs[row, :count], alone.log_probs[0])
        torch.testing.assert_close(together.first_log_probs[row, :count], alone.first_log_probs[0])
        if alone.log_attention is not None:
            torch.testing.assert_close(together.log_attention[row, : len(case.passage)], alone.log_attention[0])
    mean = torch.stack([loss_of(module, single) for single in singles]).mean()
    torch.testing.assert_close(loss_of(module, batch), mean)


@EVERY_AND_MORE
@pytest.mark.parametrize("training", [True, False])
def test_a_passage_that_was_read_before_gives_the_same_answers(name: str, training: bool) -> None:
    module, batch = small(name, 5).train(training), batch_of_cases(hard_cases(6, 4))
    states = module.read_passage(batch)
    assert torch.equal(module(batch, states).log_probs, module(batch).log_probs)
    other = replace(batch, question=batch.question.flip(0))
    torch.testing.assert_close(module(other, states).log_probs, module(other).log_probs)


@EVERY_AND_MORE
@pytest.mark.parametrize("count", [1, 3, 9])
@pytest.mark.parametrize("phrase", [1, 3])
def test_answers_are_the_same_whether_or_not_anything_is_to_be_learnt(name: str, count: int, phrase: int) -> None:
    module, cases = small(name, 13), hard_cases(14, count, phrase=phrase)
    cases = [replace(case, candidates=[words[:phrase] for words in case.candidates]) for case in cases]
    batch = batch_of_cases(cases, Extra(words=2, sentences=1))
    learning = module(batch)
    with torch.inference_mode():
        answering = module(batch)
    torch.testing.assert_close(answering.log_probs, learning.log_probs.detach())
    torch.testing.assert_close(answering.first_log_probs, learning.first_log_probs.detach())


@EVERY_AND_MORE
def test_reordering_the_batch_reorders_the_answers(name: str) -> None:
    module, batch = small(name, 7), batch_of_cases(hard_cases(8, 5))
    order = [3, 0, 4, 2, 1]
    before, after = module(batch), module(rows(batch, order))
    torch.testing.assert_close(after.log_probs, before.log_probs[order])
    torch.testing.assert_close(after.first_log_probs, before.first_log_probs[order])
    if before.evidence is not None:
        assert torch.equal(after.evidence.hypotheses, before.evidence.hypotheses[order])


@EVERY_AND_MORE
@pytest.mark.parametrize("training", [True, False])
def test_reordering_the_candidates_reorders_their_probabilities_and_keeps_the_loss(name: str, training: bool) -> None:
    module = small(name, 9).train(training)
    case = Case([[5, 6, 7], [8, 9], [5, 10]], [11, 1, 6], [[5], [6, 7], [8], [9], [10]], 3)
    order = [4, 2, 0, 3, 1]
    other = replace(case, candidates=[case.candidates[n] for n in order], answer=order.index(3))
    batch, moved = batch_of_cases([case]), batch_of_cases([other])
    before, after = module(batch), module(moved)
    torch.testing.assert_close(after.log_probs, before.log_probs[:, order])
    torch.testing.assert_close(after.first_log_probs, before.first_log_probs[:, order])
    torch.testing.assert_close(module.loss(after, moved).total, module.loss(before, batch).total)


@EVERY_AND_MORE
def test_changing_one_question_leaves_its_neighbours_alone(name: str) -> None:
    module, cases = small(name, 10), hard_cases(11, 4)
    changed = [*cases[:2], hard_cases(12, 1)[0], cases[3]]
    extra = Extra(words=30, sentences=4, question=9, candidates=6, phrase=3)
    before, after = module(batch_of_cases(cases, extra)), module(batch_of_cases(changed, extra))
    for row in (0, 1, 3):
        count = len(cases[row].candidates)
        torch.testing.assert_close(after.log_probs[row, :count], before.log_probs[row, :count])


@pytest.mark.parametrize(
    ("name", "more"),
    [
        *((name, {}) for name in READERS),
        ("as-reader", {"language_weight": 0.5}),
        ("as-reader", {"marks_question": True, "asks_at_blank": True}),
        ("epireader", {"marks_question": True, "asks_at_blank": True}),
        ("as-reader", {"aligns_question": True}),
        ("as-reader", {"marks_beside": 2}),
        ("epireader", {"marks_beside": 2, "sense_dim": 3}),
        ("epireader", {"language_weight": 0.5}),
        ("epireader", {"fits_blank": True}),
        ("epireader", {"reads_again": 2}),
        ("epireader", {"fits_blank": True, "language_weight": 0.5}),
    ],
)
def test_a_gradient_reaches_every_parameter(name: str, more: dict[str, float]) -> None:
    module, batch = small(name, 2, **more).train(), batch_of_cases(hard_cases(2, 8))
    loss_of(module, batch).backward()
    tables = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    for parameter_name, parameter in module.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.any(), parameter_name
        if parameter.dim() > 1 and id(parameter) not in tables:
            assert parameter.grad.flatten(1).any(dim=1).all(), f"every row of {parameter_name}"


@EVERY
def test_where_weights_are_no_numbers_the_loss_is_none_either(name: str) -> None:
    module, batch = small(name, 2).train(), batch_of_cases(hard_cases(3, 4))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(torch.nan)
    assert loss_of(module, batch).isnan()


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


@EVERY_AND_MORE
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_odd_questions_are_read_soundly_alone_and_together(name: str, training: bool, dtype: torch.dtype) -> None:
    module = small(name, 2).to(dtype).train(training)
    for cases in (*([case] for case in ODD.values()), list(ODD.values())):
        assert_sound(module, batch_of_cases(cases))


@EVERY_AND_MORE
@pytest.mark.parametrize("unknown", [-1, -2])
def test_nothing_is_learnt_from_a_question_whose_answer_is_unknown(name: str, unknown: int) -> None:
    module, batch = small(name, 1).train(), batch_of_cases([PLAIN, *hard_cases(3, 2)])
    batch.answer.fill_(unknown)
    loss = loss_of(module, batch)
    loss.backward()
    assert loss.item() == 0.0
    assert all(p.grad is None or not p.grad.any() for p in module.parameters())


@EVERY_AND_MORE
def test_half_precision_is_near_and_its_gradients_are_finite(name: str) -> None:
    batch = batch_of_cases([PLAIN, *hard_cases(6, 5), *ODD.values()])
    module = small(name, 5).float().train()
    full = module(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = module(batch)
        loss = module.loss(half, batch).total
    assert half.log_probs.dtype == torch.float32
    torch.testing.assert_close(half.first_log_probs.exp(), full.first_log_probs.exp(), atol=0.05, rtol=0)
    torch.testing.assert_close(half.log_probs.exp(), full.log_probs.exp(), atol=0.1, rtol=0)
    torch.testing.assert_close(loss, module.loss(full, batch).total, rtol=0.1, atol=0.05)
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
