"""Predictions as plain records, one a question."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from epireader.data.questions import ANSWER_UNKNOWN, Questions
from epireader.evaluation.accuracy import ranks
from epireader.evaluation.predict import Predictions


def prediction_lines(questions: Questions, predictions: Predictions) -> Iterator[dict[str, Any]]:
    """What was said of each question: the choice, whether it is right, and every hypothesis with p, e and pi."""
    right_first = ranks(predictions, predictions.first) == 0
    right = ranks(predictions, predictions.final) == 0
    for number in range(len(predictions)):
        answer = int(predictions.answers[number])
        phrases = questions.candidates.row(number).tolist()
        hypotheses = hypotheses_of(questions, predictions, number)
        known = answer != ANSWER_UNKNOWN
        yield {
            "question": number,
            "answer": " ".join(questions.words(phrases[answer])) if answer >= 0 else None,
            "predicted": hypotheses[0]["text"],
            "extractor": " ".join(questions.words(phrases[int(predictions.first[predictions.of(number)].argmax())])),
            "correct": bool(right[number]) if known else None,
            "extractor_correct": bool(right_first[number]) if known else None,
            "hypotheses": hypotheses,
        }


def hypotheses_of(questions: Questions, predictions: Predictions, number: int) -> list[dict[str, Any]]:
    """The hypotheses of one question with p, e and pi, best first, without those that were ruled out."""
    where = predictions.of(number)
    final, first = predictions.final[where], predictions.first[where]
    evidence = None if predictions.evidence is None else predictions.evidence[where]
    phrases = questions.candidates.row(number).tolist()
    order = np.lexsort((-first, -final))
    tested = [n for n in order.tolist() if final[n] > 0] or order[:1].tolist()
    return [
        {
            "text": " ".join(questions.words(phrases[n])),
            "p": float(first[n]),
            "e": None if evidence is None else float(evidence[n]),
            "pi": float(final[n]),
        }
        for n in tested
    ]
