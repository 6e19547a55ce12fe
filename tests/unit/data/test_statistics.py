"""The figures of a set of questions, worked out by hand."""

from dataclasses import asdict

import pytest
from builders import example

from epireader.data.example import Example
from epireader.data.statistics import Range, Statistics, StatisticsCounter, stands_in


def statistics_of(*examples: Example) -> Statistics:
    counter = StatisticsCounter()
    for one in examples:
        counter.add(one)
    return counter.result()


FOX = example(["the fox ran", "he hid"], "the XXXXX hid .", ["fox", "he"], "fox")


def test_statistics_are_those_worked_out_by_hand() -> None:
    owl = example(["an owl"], "XXXXX", ["owl", "elk"], "owl")
    gone = example(["one two three four"], "is it XXXXX ?", ["one"], "six")
    open_ended = example(["a fox"], "a XXXXX ran", answer="fox")
    silent = example(["a fox"], "a XXXXX sat")
    assert statistics_of(FOX, owl, gone, open_ended, silent, FOX) == Statistics(
        questions=6,
        distinct_questions=5,
        passage_words=Range(2, 3.33, 5),
        question_words=Range(1, 3.17, 4),
        # the fox ran he hid . XXXXX / an owl / one two three four is it ? / a / sat; candidates are not counted
        vocabulary=18,
        distinct_candidates=5,
        candidates_missing=1,
        answers_missing=1,
        answers_outside_candidates=1,
        answers_unknown=1,
    )


def test_questions_that_differ_in_their_answer_alone_are_two() -> None:
    other = example(["the fox ran", "he hid"], "the XXXXX hid .", ["fox", "he"], "he")
    assert statistics_of(FOX, other).distinct_questions == 2


def test_a_question_has_a_candidate_missing_at_most_once() -> None:
    assert statistics_of(example(["a"], "XXXXX", ["x", "y", "a"])).candidates_missing == 1


def test_a_candidate_in_the_question_alone_is_not_missing() -> None:
    assert statistics_of(example(["a"], "XXXXX b", ["b"])).candidates_missing == 0


def test_an_answer_without_candidates_is_not_outside_them() -> None:
    assert statistics_of(example(["a"], "XXXXX", answer="b")).answers_outside_candidates == 0


@pytest.mark.parametrize(
    ("phrase", "stands"), [("b", True), ("b c", True), ("c d", True), ("a c", False), ("d e", False), ("a b c d", True)]
)
def test_a_phrase_stands_in_a_passage_word_after_word_over_the_ends_of_sentences(phrase: str, stands: bool) -> None:
    one = example(["a b c", "d"], "XXXXX")
    assert stands_in(tuple(phrase.split()), one, {"a", "b", "c", "d"}) is stands
    assert statistics_of(example(["a b c", "d"], "XXXXX", answer=phrase)).answers_missing == (not stands)


def test_statistics_come_back_from_a_plain_mapping() -> None:
    statistics = statistics_of(FOX)
    assert Statistics.from_mapping(asdict(statistics)) == statistics


def test_statistics_of_nothing_are_zeros() -> None:
    assert statistics_of().passage_words == Range(0, 0.0, 0)
