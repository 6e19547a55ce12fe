"""The whole EpiReader against the twins of its equations, and what must happen to its answers when a batch changes."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cases import Case, Extra, batch_of_cases
from reference.small import EVERY, epireader, hard_cases
from reference.weights import weights_of
from reference.whole import reason, training_losses
from torch import nn

from epireader.data.batches import Batch
from epireader.readers.reading import Reading

seeds = st.integers(0, 10_000)
extras = st.builds(Extra, *[st.integers(0, 2)] * 5)
WIDER = [
    Extra(words=7),
    Extra(sentences=3),
    Extra(question=4),
    Extra(candidates=5),
    Extra(phrase=3),
    Extra(words=3, sentences=1, question=2, candidates=2, phrase=1),
]


def filled(values: list[float], like: torch.Tensor) -> torch.Tensor:
    return torch.tensor(values + [0.0] * (len(like) - len(values)), dtype=like.dtype)


def rows(batch: Batch, order: list[int]) -> Batch:
    """The batch with its questions in another order."""
    return Batch(**{name: getattr(batch, name)[order] for name in Batch.__dataclass_fields__})


def one_by_one(module: nn.Module, cases: list[Case]) -> list[Reading]:
    return [module(batch_of_cases([case])) for case in cases]


@pytest.mark.parametrize("training", [True, False])
@settings(deadline=None, max_examples=25)
@given(
    seed=seeds,
    count=st.integers(1, 4),
    extra=extras,
    width=st.sampled_from([1, 2, 3, 5]),
    hypotheses=st.integers(1, 7),
    wide=st.booleans(),
    reasoner_weight=st.sampled_from([1.0, 50.0]),
)
def test_the_whole_reader_agrees_with_the_paper(
    training: bool, seed: int, count: int, extra: Extra, width: int, hypotheses: int, wide: bool, reasoner_weight: float
) -> None:
    settings = {"filter_width": width, "hypotheses": hypotheses, "wide_convolution": wide}
    module = epireader(seed, reasoner_weight=reasoner_weight, margin=0.3, **settings).train(training)
    cases = hard_cases(seed, count)
    batch = batch_of_cases(cases, extra)
    reading = module(batch)
    slow = [reason(case, weights_of(module), count=hypotheses, wide=wide, training=training) for case in cases]
    evidence = reading.evidence
    assert evidence is not None
    for row, one in enumerate(slow):
        real = len(one.hypotheses)
        assert evidence.hypotheses[row, :real].tolist() == one.hypotheses
        for fast, expected in (
            (reading.first_log_probs[row], one.extracted.probabilities),
            (reading.log_attention[row], one.extracted.attention),
            (evidence.log_probs[row], one.evidence),
            (evidence.combined_log_probs[row], one.combined),
            (reading.log_probs[row], one.final),
        ):
            torch.testing.assert_close(fast.exp(), filled(expected, fast), rtol=1e-6, atol=1e-9)
        for number, scores in enumerate(one.by_sentence):
            assert evidence.by_sentence[row, number, : len(scores)].tolist() == pytest.approx(scores)
    loss = module.loss(reading, batch)
    fast = (loss.parts["extractor"].item(), loss.parts["reasoner"].item(), loss.total.item())
    assert fast == pytest.approx(training_losses(cases, slow, margin=0.3, weight=reasoner_weight), rel=1e-6)


def test_in_training_the_answer_is_always_a_hypothesis_and_at_other_times_only_if_it_was_proposed() -> None:
    module = epireader(hypotheses=1)
    cases = [Case([[5, 6, 7, 8]], [9, 1], [[5], [6], [7], [8]], answer) for answer in range(4)]
    batch = batch_of_cases(cases)
    assert module.train()(batch).evidence.hypotheses[:, 0].tolist() == [0, 1, 2, 3]
    proposed = module.eval()(batch)
    assert len(set(proposed.evidence.hypotheses[:, 0].tolist())) == 1
    assert (proposed.log_probs.isfinite().sum(dim=1) == 1).all(), "all others are ruled out"


@pytest.mark.parametrize("extra", WIDER, ids=str)
@pytest.mark.parametrize("make", EVERY)
def test_answers_do_not_depend_on_padding(make, extra: Extra) -> None:
    module, cases = make(3), hard_cases(4, 6)
    if isinstance(module, type(epireader())):
        with torch.no_grad():  # so that padding would win the maximum, if it could
            module.reasoner.sentence_filters.bias += 4
            module.reasoner.hypothesis_filters.bias += 4
    tight, wider = module(batch_of_cases(cases)), module(batch_of_cases(cases, extra))
    width = tight.log_probs.shape[1]
    for name in ("log_probs", "first_log_probs"):
        torch.testing.assert_close(getattr(wider, name)[:, :width], getattr(tight, name))
        assert not getattr(wider, name)[:, width:].exp().any()
    losses = [
        module.loss(module(batch_of_cases(cases, more)), batch_of_cases(cases, more)) for more in (extra, Extra())
    ]
    torch.testing.assert_close(losses[0].total, losses[1].total)


@pytest.mark.parametrize("make", EVERY)
@settings(deadline=None, max_examples=8)
@given(seed=seeds)
def test_a_batch_is_read_as_its_questions_are_one_by_one(make, seed: int) -> None:
    module, cases = make(seed), hard_cases(seed, 5, longest=9)
    together = module(batch_of_cases(cases))
    for row, (case, alone) in enumerate(zip(cases, one_by_one(module, cases), strict=True)):
        count, words = len(case.candidates), len(case.passage)
        torch.testing.assert_close(together.log_probs[row, :count], alone.log_probs[0])
        torch.testing.assert_close(together.first_log_probs[row, :count], alone.first_log_probs[0])
        if alone.log_attention is not None:
            torch.testing.assert_close(together.log_attention[row, :words], alone.log_attention[0])


@pytest.mark.parametrize("make", EVERY)
def test_the_loss_of_a_batch_is_the_mean_of_its_questions(make) -> None:
    module, cases = make(5), hard_cases(6, 7)
    batch = batch_of_cases(cases)
    singles = [batch_of_cases([case]) for case in cases]
    expected = torch.stack([module.loss(module(one), one).total for one in singles]).mean()
    torch.testing.assert_close(module.loss(module(batch), batch).total, expected)


@pytest.mark.parametrize("make", EVERY)
def test_a_passage_that_was_read_before_is_answered_alike(make) -> None:
    module, batch = make(7), batch_of_cases(hard_cases(8, 4))
    assert torch.equal(module(batch, module.read_passage(batch)).log_probs, module(batch).log_probs)


@pytest.mark.parametrize("make", EVERY)
def test_reordering_the_batch_reorders_the_answers(make) -> None:
    module, batch = make(7), batch_of_cases(hard_cases(8, 5))
    order = [3, 0, 4, 2, 1]
    before, after = module(batch), module(rows(batch, order))
    torch.testing.assert_close(after.log_probs, before.log_probs[order])
    torch.testing.assert_close(after.first_log_probs, before.first_log_probs[order])
    if before.evidence is not None:
        assert torch.equal(after.evidence.hypotheses, before.evidence.hypotheses[order])


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize("training", [True, False])
def test_reordering_the_candidates_reorders_their_probabilities_and_keeps_the_loss(make, training: bool) -> None:
    module = make(9).train(training)
    case = Case([[5, 6, 7], [8, 9], [5, 10]], [11, 1, 6], [[5], [6, 7], [8], [9], [10]], 3)
    order = [4, 2, 0, 3, 1]
    other = replace(case, candidates=[case.candidates[n] for n in order], answer=order.index(3))
    batch, moved = batch_of_cases([case]), batch_of_cases([other])
    before, after = module(batch), module(moved)
    torch.testing.assert_close(after.log_probs, before.log_probs[:, order])
    torch.testing.assert_close(after.first_log_probs, before.first_log_probs[:, order])
    torch.testing.assert_close(module.loss(after, moved).total, module.loss(before, batch).total)


@pytest.mark.parametrize("make", EVERY)
def test_changing_one_question_leaves_its_neighbours_alone(make) -> None:
    module, cases = make(10), hard_cases(11, 4)
    changed = [*cases[:2], hard_cases(12, 1)[0], cases[3]]
    extra = Extra(words=30, sentences=4, question=9, candidates=6, phrase=3)
    before, after = module(batch_of_cases(cases, extra)), module(batch_of_cases(changed, extra))
    for row in (0, 1, 3):
        count = len(cases[row].candidates)
        torch.testing.assert_close(after.log_probs[row, :count], before.log_probs[row, :count])


def test_blanks_at_different_places_of_one_batch_are_each_read_where_they_are() -> None:
    module = epireader(13)
    questions = [[1, 8, 9, 10], [8, 1, 9, 10], [8, 9, 10, 1], [1], [9, 1]]
    cases = [Case([[5, 6], [7, 8]], question, [[5], [6, 7], [8]], 0) for question in questions]
    together = module(batch_of_cases(cases)).log_probs
    alone = torch.cat([reading.log_probs for reading in one_by_one(module, cases)])
    torch.testing.assert_close(together, alone)
    assert len({round(value, 9) for value in together[:, 0].tolist()}) == len(questions)


def test_the_order_of_sentences_matters_to_the_reasoner_beyond_what_it_does_to_the_extractor() -> None:
    module = epireader(14)
    with torch.no_grad():
        for parameter in module.extractor.parameters():
            parameter.zero_()
    orders = ([[5, 6], [7, 8]], [[7, 8], [5, 6]])
    reading = module(batch_of_cases([Case(sentences, [9, 1], [[5], [8]], 0) for sentences in orders]))
    assert torch.equal(reading.first_log_probs[0], reading.first_log_probs[1])
    assert (reading.log_probs[0] != reading.log_probs[1]).all()
