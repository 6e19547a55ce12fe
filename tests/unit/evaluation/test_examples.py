"""Questions shown with their evidence."""

import numpy as np
import pytest
import torch
from builders import batch_of, example, vocabulary

from epireader.data.questions import QuestionsBuilder
from epireader.evaluation.examples import Showcase, evidence_moves, sentences_that_matter, words_of
from epireader.evaluation.predict import predict
from epireader.evaluation.rerankings import Reranking
from epireader.readers import passes
from epireader.readers.epireader import EpiReaderConfig
from epireader.readers.passes import View
from epireader.readers.saved import build_model


def view(**scores: list[float]) -> View:
    """What a reader made of candidates a, b and so on, by the scores it gave after each sentence."""
    tested = {ord(name) - ord("a"): passes.Tested(0.5, np.array(values, np.float32)) for name, values in scores.items()}
    return View(np.zeros(3), np.zeros(3), None, tested)


def test_a_sentence_moves_the_evidence_by_what_it_changes_between_the_two() -> None:
    one = view(a=[1.0, 3.0, 2.0], b=[0.5, 0.5, 2.0])
    assert evidence_moves([one], answer=0, rival=1) == [0.5, 2.0, -2.5]
    assert evidence_moves([one], answer=1, rival=0) == [-0.5, -2.0, 2.5]


def test_only_readers_that_tested_both_have_a_say() -> None:
    views = [view(a=[1.0, 1.0], b=[0.0, 0.0]), view(a=[9.0, 9.0], c=[0.0, 0.0]), view(a=[2.0, 4.0], b=[1.0, 1.0])]
    assert evidence_moves(views, answer=0, rival=1) == [1.0, 1.0]
    assert evidence_moves(views, answer=1, rival=2) is None
    assert evidence_moves([view()], answer=0, rival=1) is None


def test_what_matters_is_what_moves_most_the_last_mentions_and_the_end() -> None:
    moves = [0.0, -5.0, 0.1, 4.0, 3.0, 0.1, -2.0, 0.0, 0.0, 0.0]
    nowhere = [False] * 10
    assert sentences_that_matter(moves, [nowhere, nowhere], 10) == {1, 3, 4, 6, 9}
    answer = [True, False, True, *[False] * 7]
    rival = [*[False] * 7, True, False, False]
    assert sentences_that_matter(moves, [answer, rival], 10) == {1, 2, 3, 4, 6, 7, 9}
    assert sentences_that_matter(None, [answer, nowhere], 10) == {2, 9}
    assert sentences_that_matter([0.0], [[True], [False]], 1) == {0}


def test_all_words_of_a_mention_are_marked() -> None:
    words = np.array([1, 2, 1, 2, 3, 1])
    assert words_of(np.array([1, 2]), words).tolist() == [True, True, True, True, False, False]
    assert words_of(np.array([2, 1, 2]), words).tolist() == [False, True, True, True, False, False]


@pytest.mark.parametrize("corrected", [True, False])
def test_a_shown_question_has_the_words_the_choices_and_the_readers_own_evidence(corrected: bool) -> None:
    one = example(["w1 w2 w3", "w4 w1", "w2 w5"], "w6 XXXXX", ["w1", "w2", "w4 w1"], "w2")
    builder = QuestionsBuilder()
    builder.add(one)
    questions = builder.build()
    torch.manual_seed(0)
    settings = EpiReaderConfig(embedding_dim=4, hidden_dim=3, hypotheses=3, filters=2, reasoner_hidden_dim=3)
    members = [build_model("epireader", settings, vocabulary()) for _ in range(2)]
    said = predict(members, questions)
    shown = Showcase(members, questions, said, "cpu").show(Reranking(0, 1, 0, 0.5), corrected=corrected)
    assert (shown.answer, shown.rival, shown.question) == ("w2", "w1", ("w6", "XXXXX"))
    choices = ("w1", "w2") if corrected else ("w2", "w1")
    assert (shown.extractor_choice, shown.final_choice) == choices
    assert [sentence.words for sentence in shown.sentences] == list(one.sentences)
    assert [sentence.of_answer for sentence in shown.sentences] == [(False, True, False), (False,) * 2, (True, False)]
    assert [sentence.of_rival for sentence in shown.sentences] == [(True, False, False), (False, True), (False,) * 2]
    assert {hypothesis["text"] for hypothesis in shown.hypotheses} == {"w1", "w2", "w4 w1"}
    ends = []
    for member in members:
        reading = member.module.eval()(batch_of([one], vocabulary()))
        assert reading.evidence is not None
        scores = dict(zip(reading.evidence.hypotheses[0].tolist(), reading.evidence.by_sentence[0], strict=True))
        ends.append((scores[1][-1] - scores[0][-1]).item())
    assert sum(sentence.moved or 0.0 for sentence in shown.sentences) == pytest.approx(np.mean(ends), abs=1e-5)
