"""Asking readers a whole set of questions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from builders import example, random_example, vocabulary

from epireader.data.batches import BatchCutter
from epireader.data.example import Example
from epireader.data.questions import Questions, QuestionsBuilder
from epireader.evaluation import predict as predict_module
from epireader.evaluation.predict import Predictions, predict, read_all
from epireader.readers.epireader import EpiReaderConfig
from epireader.readers.extractor import AttentionSumConfig
from epireader.readers.saved import Model, build_model


def questions_of(examples: Sequence[Example]) -> Questions:
    builder = QuestionsBuilder()
    for one in examples:
        builder.add(one)
    return builder.build()


def epireader(seed: int, words: int = 10) -> Model:
    torch.manual_seed(seed)
    settings = EpiReaderConfig(embedding_dim=6, hidden_dim=5, hypotheses=3, filters=4, reasoner_hidden_dim=3)
    model = build_model("epireader", settings, vocabulary(words, strangers=4))
    with torch.no_grad():
        for parameter in model.module.parameters():
            parameter.uniform_(-0.8, 0.8)
    return model


def as_reader(seed: int) -> Model:
    torch.manual_seed(seed)
    return build_model("as-reader", AttentionSumConfig(embedding_dim=6, hidden_dim=5), vocabulary(10, strangers=4))


RANDOM = np.random.default_rng(3)
ASKED = questions_of([random_example(RANDOM, words=14, sentences=6, candidates=6, phrase=2) for _ in range(23)])


def agree(one: Predictions, other: Predictions) -> None:
    for name in ("final", "first", "evidence", "offsets", "answers"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-6)


def one_by_one(model: Model, questions: Questions) -> dict[str, np.ndarray]:
    """Every question cut and read alone, in order."""
    cutter, said = BatchCutter(questions, model.vocabulary), {"final": [], "first": [], "evidence": []}
    for row in range(len(questions)):
        batch = cutter.cut(torch.tensor([row]), cutter.sizes.of(np.array([row])))
        with torch.no_grad():
            reading = model.module.eval()(batch)
        said["final"].append(reading.log_probs[0].exp())
        said["first"].append(reading.first_log_probs[0].exp())
        evidence = torch.zeros(batch.candidates.shape[1])
        evidence[reading.evidence.hypotheses[0]] = reading.evidence.log_probs[0].exp()
        said["evidence"].append(evidence)
    return {name: torch.cat(rows).numpy() for name, rows in said.items()}


def test_predictions_come_in_the_order_of_the_questions_and_equal_reading_one_by_one() -> None:
    said = predict([epireader(0)], ASKED, batch_size=5)
    for name, expected in one_by_one(epireader(0), ASKED).items():
        np.testing.assert_allclose(getattr(said, name), expected, atol=1e-6)
    assert said.offsets.tolist() == ASKED.candidates.offsets.tolist()
    assert said.answers.tolist() == ASKED.answers.tolist()
    assert len(said) == 23
    assert said.final[said.of(4)].shape == (int(ASKED.sizes.candidates[4]),)


@pytest.mark.parametrize("batch_size", [1, 4, 23, 500])
def test_the_batch_size_does_not_matter(batch_size: int) -> None:
    agree(predict([epireader(1)], ASKED, batch_size=batch_size), predict([epireader(1)], ASKED, batch_size=7))


def test_probabilities_of_each_question_add_up_to_one() -> None:
    said = predict([epireader(2)], ASKED)
    assert said.evidence is not None
    for number in range(len(said)):
        assert said.final[said.of(number)].sum() == pytest.approx(1, abs=1e-5)
        assert said.evidence[said.of(number)].sum() == pytest.approx(1, abs=1e-5)


def test_candidates_that_were_not_tested_have_no_evidence_and_no_chance() -> None:
    said = predict([epireader(2)], ASKED)
    assert said.evidence is not None
    for number in range(len(said)):
        count = int(ASKED.sizes.candidates[number])
        assert (said.evidence[said.of(number)] > 0).sum() == min(3, count)
        assert (said.final[said.of(number)] > 0).sum() <= 3


def test_an_ensemble_of_one_is_the_model_and_of_the_same_model_twice_too() -> None:
    alone = predict([epireader(0)], ASKED)
    agree(predict([epireader(0), epireader(0)], ASKED), alone)


def test_an_ensemble_says_the_mean_of_what_its_members_say() -> None:
    members = [epireader(0), epireader(1), epireader(2)]
    together, alone = predict(members, ASKED), [predict([member], ASKED) for member in members]
    for name in ("final", "first", "evidence"):
        mean = np.mean([getattr(one, name) for one in alone], axis=0)
        np.testing.assert_allclose(getattr(together, name), mean, atol=1e-6)


def test_members_may_know_different_words() -> None:
    members = [epireader(0, words=4), epireader(1, words=14)]
    alone = [predict([member], ASKED).final for member in members]
    np.testing.assert_allclose(predict(members, ASKED).final, (alone[0] + alone[1]) / 2, atol=1e-6)


def test_a_reader_that_does_not_rerank_gives_no_evidence_and_one_view() -> None:
    said = predict([as_reader(0)], ASKED)
    assert said.evidence is None
    assert np.array_equal(said.final, said.first)


def test_long_passages_are_read_in_smaller_pieces_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = predict([epireader(3)], ASKED, batch_size=23)
    monkeypatch.setattr(predict_module, "WORDS_AT_ONCE", 60)
    sizes = []
    for batch, _ in read_all(epireader(3), ASKED, batch_size=23, device="cpu"):
        sizes.append(len(batch))
        assert batch.passage.numel() <= 60 + batch.passage.shape[1]
    assert sum(sizes) == 23
    assert len(sizes) > 1
    agree(predict([epireader(3)], ASKED, batch_size=23), whole)


def test_a_passage_longer_than_all_that_is_read_at_once_is_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict_module, "WORDS_AT_ONCE", 1)
    assert [len(batch) for batch, _ in read_all(epireader(3), ASKED, batch_size=4, device="cpu")] == [1] * 23


def test_whoever_watches_is_told_of_every_question_once_a_member() -> None:
    told: list[int] = []
    predict([epireader(0), epireader(1)], ASKED, batch_size=10, on_questions=told.append)
    assert sum(told) == 46


def test_reading_leaves_a_model_in_the_mode_it_was_in() -> None:
    model = epireader(0)
    for training in (True, False):
        model.module.train(training)
        predict([model], ASKED)
        assert model.module.training is training


def test_the_right_answer_is_not_slipped_in_while_predicting() -> None:
    one = example(["w0 w1 w2 w3 w4 w5"], "XXXXX", ["w0", "w1", "w2", "w3", "w4", "w5"])
    model = epireader(5)
    model.module.train()
    unknown = predict([model], questions_of([one])).final
    for word in one.candidates:
        known = replace(one, answer=word)
        np.testing.assert_array_equal(predict([model], questions_of([known])).final, unknown)
