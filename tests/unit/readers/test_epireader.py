"""The whole EpiReader against the twins of its equations. What it shares with every reader is in test_every_reader.py."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cases import Case, Extra, batch_of_cases
from reference.fitting import language_loss
from reference.losses import extractor_loss
from reference.sense import sense_loss
from reference.small import STRANGERS, epireader, hard_cases
from reference.weights import weights_of
from reference.whole import reason, training_losses

from epireader.readers.epireader import REASONER_LOSSES
from epireader.readers.fitting import MOST_PLACES
from epireader.readers.sense import CONTEXT

seeds = st.integers(0, 10_000)
extras = st.builds(Extra, *[st.integers(0, 2)] * 5)


def filled(values: list[float], like: torch.Tensor) -> torch.Tensor:
    return torch.tensor(values + [0.0] * (len(like) - len(values)), dtype=like.dtype)


@pytest.mark.parametrize("training", [True, False])
@settings(max_examples=25)
@given(
    seed=seeds,
    count=st.integers(1, 4),
    extra=extras,
    width=st.sampled_from([1, 2, 3, 5]),
    hypotheses=st.integers(1, 7),
    wide=st.booleans(),
    reasoner_weight=st.sampled_from([1.0, 50.0]),
    fits=st.sampled_from(["", "blank", "neighbours", "sense"]),
    language=st.sampled_from([0.0, 0.7]),
    marks=st.sampled_from([{}, {"marks_question": True}, {"marks_beside": 2}, {"aligns_question": True}]),
    at_blank=st.booleans(),
    loss_of=st.sampled_from(REASONER_LOSSES),
    rereads=st.sampled_from([0, 2, 3]),
)
def test_the_whole_reader_agrees_with_the_paper(
    training: bool,
    seed: int,
    count: int,
    extra: Extra,
    width: int,
    hypotheses: int,
    wide: bool,
    reasoner_weight: float,
    fits: str,
    language: float,
    marks: dict[str, float],
    at_blank: bool,
    loss_of: str,
    rereads: int,
) -> None:
    rereads = rereads if rereads <= hypotheses else 0
    settings = {"filter_width": width, "hypotheses": hypotheses, "wide_convolution": wide}
    language = {"blank": 0.0, "neighbours": 0.7}.get(fits, language)
    more = {"fits_blank": fits in ("blank", "neighbours"), "reasoner_loss": loss_of, "language_weight": language}
    more |= {"asks_at_blank": at_blank, "reads_again": rereads, "sense_dim": 3 if fits == "sense" else 0}
    module = epireader(seed, reasoner_weight=reasoner_weight, margin=0.3, **settings, **marks, **more).train(training)
    cases = hard_cases(seed, count)
    batch = batch_of_cases(cases, extra)
    reading = module(batch)
    weights = weights_of(module)
    asked = {"count": hypotheses, "wide": wide, "training": training, "fits": fits, "rereads": rereads}
    slow = [reason(case, weights, **asked) for case in cases]
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
        if fits:
            assert evidence.fit[row, :real].tolist() == pytest.approx(one.fit)
        else:
            assert evidence.fit is None
        if rereads:
            assert evidence.again[row, :real].tolist() == pytest.approx(one.again, abs=1e-7)
            reread = [one.reread.get(number, 0.0) for number in range(len(one.extracted.probabilities))]
            fast = reading.reread_log_probs[row]
            torch.testing.assert_close(fast.exp(), filled(reread, fast), rtol=1e-6, atol=1e-9)
        else:
            assert evidence.again is None
            assert reading.reread_log_probs is None
        for number, scores in enumerate(one.by_sentence):
            assert evidence.by_sentence[row, number, : len(scores)].tolist() == pytest.approx(scores)
    loss = module.loss(reading, batch)
    fast = (loss.parts["extractor"].item(), loss.parts["reasoner"].item(), loss.total.item())
    margin = 0.3 if loss_of == "margin" else None
    extractor, reasoner, both = training_losses(cases, slow, margin=margin, weight=reasoner_weight)
    learnt = language_loss(cases, weights, "reasoner.wanted", MOST_PLACES) if language and training else 0.0
    again = (
        extractor_loss([one.reread.get(case.answer) for case, one in zip(cases, slow, strict=True)]) if rereads else 0
    )
    sense = (
        sense_loss(cases, weights, most=MOST_PLACES, context=CONTEXT, strangers=STRANGERS)
        if fits == "sense" and training
        else 0.0
    )
    assert fast == pytest.approx((extractor, reasoner, both + again + language * learnt + sense), rel=1e-6)
    assert loss.parts.get("sense", 0) == pytest.approx(sense)
    assert loss.parts.get("again", 0) == pytest.approx(again)
    assert ("language" in loss.parts) == (language > 0 and training)


def test_in_training_the_answer_is_always_a_hypothesis_and_at_other_times_only_if_it_was_proposed() -> None:
    module = epireader(hypotheses=1)
    cases = [Case([[5, 6, 7, 8]], [9, 1], [[5], [6], [7], [8]], answer) for answer in range(4)]
    batch = batch_of_cases(cases)
    assert module.train()(batch).evidence.hypotheses[:, 0].tolist() == [0, 1, 2, 3]
    proposed = module.eval()(batch)
    assert len(set(proposed.evidence.hypotheses[:, 0].tolist())) == 1
    assert (proposed.log_probs.isfinite().sum(dim=1) == 1).all(), "all others are ruled out"


def test_reading_again_asks_nothing_of_what_stands_nowhere_in_the_passage() -> None:
    module = epireader(15, reads_again=3, hypotheses=3).train()
    absent = Case([[5, 7], [8, 6, 9]], [9, 1], [[5], [6], [10]], 2)
    batch = batch_of_cases([absent])
    reading = module(batch)
    assert reading.evidence.again[0, reading.evidence.hypotheses[0] == 2].item() == 0
    assert reading.reread_log_probs[0].exp()[2] == 0
    assert module.loss(reading, batch).parts["again"] == 0


def test_what_is_read_again_is_thinned_in_training_alone() -> None:
    batch = batch_of_cases(hard_cases(8, 3))
    module, without = epireader(reads_again=2, dropout=0.5), epireader(reads_again=2)
    without.load_state_dict(module.state_dict())
    assert torch.equal(module.eval()(batch).reread_log_probs, without.eval()(batch).reread_log_probs)
    for encoder in ("passage_encoder", "question_encoder"):
        given = []
        getattr(module.rereading, encoder).forwards.register_forward_pre_hook(
            lambda _, args, to=given: to.append(args[0])
        )
        module.train()(batch)
        read = given[0].flatten(0, 1)
        read = read[read.any(dim=1)]  # not padding
        assert 0.2 < (read == 0).double().mean() < 0.8, f"half of what the {encoder} reads is left out"


def test_blanks_at_different_places_of_one_batch_are_each_read_where_they_are() -> None:
    module = epireader(13)
    questions = [[1, 8, 9, 10], [8, 1, 9, 10], [8, 9, 10, 1], [1], [9, 1]]
    cases = [Case([[5, 6], [7, 8]], question, [[5], [6, 7], [8]], 0) for question in questions]
    together = module(batch_of_cases(cases)).log_probs
    alone = torch.cat([module(batch_of_cases([case])).log_probs for case in cases])
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
