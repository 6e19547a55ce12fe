"""The Extractor, which on its own is the AS Reader."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.agreement import assert_agreement
from reference.cases import Case, Extra, batch_of_cases
from reference.fitting import language_loss
from reference.small import as_reader, epireader, hard_cases, roughened
from reference.weights import weights_of
from reference.whole import extract

from epireader.readers.epireader import EpiReader, EpiReaderConfig
from epireader.readers.extractor import AttentionSumConfig, AttentionSumReader
from epireader.readers.fitting import MOST_PLACES
from epireader.readers.marking import WIDTH, MarksBeside

seeds = st.integers(0, 10_000)
extras = st.builds(Extra, *[st.integers(0, 2)] * 5)


@settings(max_examples=25)
@given(
    seed=seeds,
    count=st.integers(1, 4),
    extra=extras,
    marks=st.sampled_from(
        [{}, {"marks_question": True}, {"marks_beside": 3}, {"aligns_question": True, "marks_question": True}]
    ),
    at_blank=st.booleans(),
)
def test_the_as_reader_agrees_with_equations_1_2_and_5(
    seed: int, count: int, extra: Extra, marks: dict[str, float], at_blank: bool
) -> None:
    module, cases = as_reader(seed, asks_at_blank=at_blank, **marks), hard_cases(seed, count)
    assert_agreement(module, extract, cases, extra)
    with torch.no_grad():  # few sequences are then read in another way
        assert_agreement(module, extract, cases, extra)


@pytest.mark.parametrize("reader", [AttentionSumReader, EpiReader])
def test_first_weights_are_as_they_are_asked_to_be(reader: type[AttentionSumReader] | type[EpiReader]) -> None:
    config = AttentionSumConfig if reader is AttentionSumReader else EpiReaderConfig
    module = reader(config(embedding_dim=4, hidden_dim=6, initial_range=0.1, orthogonal=True), 500)
    assert 0.0995 < module.embedding.weight.abs().max() <= 0.1
    for encoder in (module.extractor.passage_encoder, module.extractor.question_encoder):
        gate = encoder.forwards.recurrence.weight_ih_l0.detach()[:6]
        torch.testing.assert_close(gate.mT @ gate, torch.eye(4), atol=1e-5, rtol=0)


def test_a_word_is_marked_only_where_its_own_question_has_it() -> None:
    module = as_reader(3, marks_question=True)
    passage = [[5, 6, 7], [6, 8]]
    cases = [Case(passage, question, [[5], [6], [7]], 0) for question in ([6, 1], [7, 1], [9, 1])]
    with torch.no_grad():
        together = module(batch_of_cases(cases)).log_probs
        alone = torch.cat([module(batch_of_cases([case])).log_probs for case in cases])
        torch.testing.assert_close(together, alone)
        module.extractor.mark.zero_()
        unmarked = module(batch_of_cases(cases)).log_probs
    assert [torch.equal(*pair) for pair in zip(alone, unmarked, strict=True)] == [False, False, True]


def test_neither_the_blank_nor_padding_is_marked() -> None:
    batch = batch_of_cases([Case([[5, 1, 6]], [1, 6, 6], [[5]], 0), Case([[5, 7]], [7, 1], [[5]], 0)], Extra(words=2))
    assert batch.in_question.tolist() == [[False, False, True, False, False], [False, True, False, False, False]]


def test_a_passage_with_marks_or_aligned_with_its_question_cannot_be_read_before_the_question_is_known() -> None:
    batch = batch_of_cases(hard_cases(1, 2))
    for reader in (as_reader, epireader):
        assert reader(marks_question=True).read_passage(batch) is None
        assert reader(aligns_question=True).read_passage(batch) is None
        assert reader(asks_at_blank=True, marks_beside=2).read_passage(batch) is not None


def test_a_filter_beside_the_passage_sees_the_questions_words_alone_and_no_further_than_it_reaches() -> None:
    module = roughened(MarksBeside(embedding_dim=4, state_dim=6, filters=3), 9)
    drawn = torch.Generator().manual_seed(1)
    words, states = (torch.randn(1, 40, width, generator=drawn, dtype=torch.double) for width in (4, 6))
    question = torch.randn(1, 6, generator=drawn, dtype=torch.double)

    def scores(*marked: int) -> torch.Tensor:
        places = torch.zeros(1, 40, dtype=torch.bool)
        places[0, list(marked)] = True
        return module(words, places, states, question)[0]

    changed = (scores(15) != scores()).nonzero().flatten().tolist()
    assert changed == list(range(15 - WIDTH // 2, 15 + WIDTH // 2 + 1))
    other = words.clone()
    other[0, 16] += 1
    assert torch.equal(module(other, torch.zeros(1, 40, dtype=torch.bool), states, question)[0], scores())


@settings(max_examples=25)
@given(seed=seeds, count=st.integers(1, 4), extra=extras)
def test_it_may_learn_words_by_those_around_them(seed: int, count: int, extra: Extra) -> None:
    module, cases = as_reader(seed, language_weight=0.4).train(), hard_cases(seed, count)
    batch = batch_of_cases(cases, extra)
    reading = module(batch)
    loss = module.loss(reading, batch)
    learnt = language_loss(cases, weights_of(module), "wanted", MOST_PLACES)
    assert loss.parts["language"].item() == pytest.approx(learnt, rel=1e-6, abs=1e-9)
    pointed = as_reader(seed).train()
    pointed.load_state_dict({name: value for name, value in module.state_dict().items() if "wanted" not in name})
    alone = pointed.loss(pointed(batch), batch).total.item()
    assert loss.total.item() == pytest.approx(alone + 0.4 * learnt, rel=1e-6)
    assert module.eval()(batch).log_likelihood is None


def test_dropout_is_drawn_in_training_alone() -> None:
    module, batch = as_reader(dropout=0.5), batch_of_cases(hard_cases(8, 3))
    without = as_reader()
    without.load_state_dict(module.state_dict())
    assert torch.equal(module.eval()(batch).log_probs, without.eval()(batch).log_probs)
    assert not torch.equal(module.train()(batch).log_probs, module(batch).log_probs)


def test_the_as_reader_is_the_epireaders_extractor_to_the_last_bit() -> None:
    whole, alone = epireader(4), as_reader(5)
    shared = {name: value for name, value in whole.state_dict().items() if not name.startswith("reasoner.")}
    alone.load_state_dict(shared)
    batch = batch_of_cases(hard_cases(6, 5))
    of_whole, of_alone = whole(batch), alone(batch)
    assert torch.equal(of_whole.first_log_probs, of_alone.log_probs)
    assert torch.equal(of_whole.log_attention, of_alone.log_attention)
    assert torch.equal(of_alone.first_log_probs, of_alone.log_probs)
    assert whole.loss(of_whole, batch).parts["extractor"].item() == alone.loss(of_alone, batch).total.item()


def test_passage_and_question_are_read_by_encoders_of_their_own() -> None:
    module = as_reader()
    encoders = (module.extractor.passage_encoder, module.extractor.question_encoder)
    owned = [{parameter.data_ptr() for parameter in encoder.parameters()} for encoder in encoders]
    assert len(owned[0]) == len(owned[1]) == 8
    assert not owned[0] & owned[1]


def test_the_extractor_sees_words_not_sentences() -> None:
    module = as_reader()
    whole = Case([[5, 6, 7, 8, 9]], [6, 1], [[5], [8]], 0)
    split = Case([[5, 6], [7], [8, 9]], [6, 1], [[5], [8]], 0)
    assert torch.equal(module(batch_of_cases([whole])).log_probs, module(batch_of_cases([split])).log_probs)


def test_where_the_blank_stands_in_the_question_matters() -> None:
    module = as_reader()
    cases = [Case([[5, 6, 7]], question, [[5], [6]], 0) for question in ([1, 8, 9], [8, 1, 9], [8, 9, 1])]
    log_probs = module(batch_of_cases(cases)).log_probs[:, 0]
    assert len(set(log_probs.tolist())) == 3


def test_the_order_of_the_words_of_the_passage_matters() -> None:
    module = as_reader()
    cases = [Case([words], [8, 1, 9], [[5], [6]], 0) for words in ([5, 6, 7], [7, 6, 5], [6, 5, 7])]
    assert len(set(module(batch_of_cases(cases)).log_probs[:, 0].tolist())) == 3


def test_probabilities_of_all_distinct_words_add_up_to_one() -> None:
    case = hard_cases(7, 1)[0]
    every = Case(case.sentences, case.question, [[word] for word in dict.fromkeys(case.passage)], None)
    assert as_reader()(batch_of_cases([every])).log_probs.exp().sum().item() == pytest.approx(1.0)
