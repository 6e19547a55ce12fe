"""Predictions as plain records."""

import json
from typing import Any

import numpy as np
import pytest
from builders import example

from epireader.data.questions import Questions, QuestionsBuilder
from epireader.evaluation.listing import prediction_lines
from epireader.evaluation.predict import Predictions


def asked() -> Questions:
    builder = QuestionsBuilder()
    for answer in ("a", "b c", "z", None):
        builder.add(example(["a b c"], "XXXXX", ["a", "b c", "c"], answer))
    return builder.build()


def lines(
    final: list[list[float]], first: list[list[float]], evidence: list[list[float]] | None = None
) -> list[dict[str, Any]]:
    questions = asked()
    said = Predictions(
        questions.candidates.offsets.numpy(),
        np.array(final, np.float32).flatten(),
        np.array(first, np.float32).flatten(),
        None if evidence is None else np.array(evidence, np.float32).flatten(),
        questions.answers.numpy(),
    )
    return list(prediction_lines(questions, said))


FIRST = [[0.5, 0.25, 0.25]] * 4
FINAL = [[0.25, 0.75, 0.0]] * 4


def test_a_line_names_the_answer_the_choice_and_the_choice_before_reranking() -> None:
    line = lines(FINAL, FIRST, [[0.125, 0.875, 0.0]] * 4)[0]
    assert (line["question"], line["answer"], line["predicted"], line["extractor"]) == (0, "a", "b c", "a")
    assert (line["correct"], line["extractor_correct"]) == (False, True)


def test_hypotheses_come_best_first_with_p_e_and_pi_and_without_those_ruled_out() -> None:
    line = lines(FINAL, FIRST, [[0.125, 0.875, 0.0]] * 4)[1]
    assert line["hypotheses"] == [
        {"text": "b c", "p": 0.25, "e": 0.875, "pi": 0.75},
        {"text": "a", "p": 0.5, "e": 0.125, "pi": 0.25},
    ]
    assert line["correct"] is True
    assert line["extractor_correct"] is False


def test_there_is_a_line_for_every_question_in_order() -> None:
    assert [line["question"] for line in lines(FINAL, FIRST)] == [0, 1, 2, 3]


def test_an_answer_outside_the_candidates_is_wrong_and_an_unknown_one_neither() -> None:
    outside, unknown = lines(FINAL, FIRST)[2:]
    assert (outside["answer"], outside["correct"], outside["extractor_correct"]) == (None, False, False)
    assert (unknown["answer"], unknown["correct"], unknown["extractor_correct"]) == (None, None, None)


def test_a_tie_is_listed_as_wrong() -> None:
    line = lines([[0.5, 0.5, 0.0]] * 4, FIRST)[0]
    assert line["correct"] is False
    assert line["predicted"] == "a"


def test_a_reader_that_does_not_rerank_has_no_e() -> None:
    assert [hypothesis["e"] for hypothesis in lines(FIRST, FIRST)[0]["hypotheses"]] == [None] * 3


def test_a_line_has_a_choice_even_where_everything_is_ruled_out() -> None:
    line = lines([[0.0] * 3] * 4, [[0.0] * 3] * 4)[0]
    assert line["predicted"] == "a"
    assert line["correct"] is False


@pytest.mark.parametrize("evidence", [None, [[0.5, 0.5, 0.0]] * 4])
def test_every_line_is_plain_json(evidence: list[list[float]] | None) -> None:
    for line in lines(FINAL, FIRST, evidence):
        assert json.loads(json.dumps(line)) == line
