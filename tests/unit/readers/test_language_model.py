"""The LSTM language model."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import language as slow
from reference.cases import Case, Extra, batch_of_cases
from reference.small import hard_cases, language_model
from reference.weights import weights_of

from epireader.readers import language_model as module_of_language_model
from epireader.readers.language_model import filled_in, left_aligned, right_aligned

extras = st.builds(Extra, *[st.integers(0, 2)] * 5)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 3), extra=extras)
def test_the_language_model_agrees_with_its_definition(seed: int, count: int, extra: Extra) -> None:
    module, cases = language_model(seed), hard_cases(seed, count)
    batch, weights = batch_of_cases(cases, extra), weights_of(module)
    reading = module.eval()(batch)
    for row, case in zip(reading.log_probs.exp().tolist(), cases, strict=True):
        expected = slow.probabilities(case, weights)
        assert row == pytest.approx(expected + [0.0] * (len(row) - len(expected)), rel=1e-6)
    loss = sum(slow.loss(case, weights) for case in cases) / count
    for training in (True, False):
        reading = module.train(training)(batch)
        assert module.loss(reading, batch).total.item() == pytest.approx(loss, rel=1e-6, abs=1e-9)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 3), extra=extras, words=st.integers(2, 12))
def test_it_can_learn_from_the_last_words_alone(seed: int, count: int, extra: Extra, words: int) -> None:
    module, cases = language_model(seed), hard_cases(seed, count)
    batch, weights = batch_of_cases(cases, extra), weights_of(module)
    answers = module.eval()(batch).log_probs
    module.learns_from = words
    assert torch.equal(module(batch).log_probs, answers)
    loss = sum(slow.loss(case, weights, words) for case in cases) / count
    assert module.loss(module(batch), batch).total.item() == pytest.approx(loss, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("words", [-1, 1])
def test_it_cannot_learn_what_follows_from_one_word(words: int) -> None:
    with pytest.raises(ValueError, match=rf"model.learns_from must be 0, for all words, or at least 2, got {words}"):
        module_of_language_model.LanguageModelConfig(learns_from=words)


def test_questions_are_filled_in_and_passages_moved_to_the_right_as_worked_by_hand() -> None:
    batch = batch_of_cases([Case([[5, 6]], [7, 1, 8], [[9], [10, 11]], 0), Case([[5, 6, 7]], [1], [[9], [10]], 0)])
    assert right_aligned(batch.passage).tolist() == [[0, 5, 6], [5, 6, 7]]
    assert left_aligned(right_aligned(batch.passage)).tolist() == batch.passage.tolist()
    every = torch.tensor([[0, 1], [0, 1]])
    assert filled_in(batch, every).tolist() == [
        [[7, 9, 8, 0], [7, 10, 11, 8]],
        [[9, 0, 0, 0], [10, 0, 0, 0]],
    ]


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_how_many_words_are_scored_at_once_does_not_matter(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def gradients() -> list[torch.Tensor]:
        module, batch = language_model(1), batch_of_cases(hard_cases(2, 3))
        module.loss(module(batch), batch).total.backward()
        return [parameter.grad for parameter in module.parameters()]

    expected = gradients()
    monkeypatch.setattr(module_of_language_model, "WORDS_AT_ONCE", at_once)
    for given_, wanted in zip(gradients(), expected, strict=True):
        torch.testing.assert_close(given_, wanted)


def test_padding_does_not_make_gradients_grow() -> None:
    """An LSTM whose states grow from step to step, beside a text that is much longer than its own."""
    cases = [Case([[5, 6] * 400], [7, 1], [[5], [6]], 0), Case([[5, 6]], [7, 1], [[5], [6]], 0)]
    gradients = []
    for batch in (batch_of_cases(cases[1:]), batch_of_cases(cases)):
        module = language_model(1).train()
        with torch.no_grad():
            module.recurrence.weight_hh_l0 *= 20.0
        module(batch).log_likelihood[-1].backward()
        gradients.append([parameter.grad for parameter in module.parameters()])
    for alone, beside in zip(*gradients, strict=True):
        torch.testing.assert_close(beside, alone)


def test_while_training_only_the_answer_is_read() -> None:
    module, batch = language_model(1).train(), batch_of_cases([Case([[5, 6]], [7, 1], [[5], [6], [8]], 1)])
    assert module(batch).log_probs.exp().tolist() == [[0.0, 1.0, 0.0]]


def test_the_blank_is_never_read_nor_said() -> None:
    module, batch = language_model(1), batch_of_cases(hard_cases(2, 3))
    before = module(batch).log_probs
    with torch.no_grad():
        module.embedding.weight[1] += 5.0
    assert torch.equal(module(batch).log_probs, before)
    assert len(module.next_word.bias) == len(module.embedding.weight) - 2


def test_no_loss_is_made_up_where_the_passage_was_not_read() -> None:
    module, batch = language_model(1), batch_of_cases(hard_cases(2, 3))
    reading = module(batch, module.read_passage(batch))
    with pytest.raises(ValueError, match="needs a reading made with gradients"):
        module.loss(reading, batch)


def test_a_forget_gate_starts_open() -> None:
    torch.manual_seed(0)
    fresh = module_of_language_model.LanguageModelReader(module_of_language_model.LanguageModelConfig(), 10)
    biases = fresh.recurrence.weight_ih_l0[:, -1].view(4, -1)
    assert [set(gate.tolist()) for gate in biases] == [{0.0}, {1.0}, {0.0}, {0.0}]
