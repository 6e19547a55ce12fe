"""The bundled stories and their questions keep the rules they were written by."""

import json
import re
from collections import Counter
from collections.abc import Callable
from importlib.resources import files

import pytest

STORIES = files("epireader") / "stories"
SLUGS = (
    "clock-at-vellery",
    "flood-at-elder-bank",
    "giant-who-could-not-sleep",
    "glass-pear",
    "hollin-ferry",
    "kite-at-marrowby",
    "lamp-on-skerrow",
    "pelka-goes-to-market",
    "pumpkin-trial",
    "school-on-wheels",
    "snow-letter",
    "train-to-skellaby",
)
BLANK = "XXXXX"
KEYS = {"story", "question", "answer", "candidates", "kind"}
SENTENCE_END = re.compile(r"[.!?][\"”]?(?=\s+[\"“A-Z]|\s*$)")


def story_text(slug: str) -> str:
    return (STORIES / f"{slug}.txt").read_text(encoding="utf-8")


def questions() -> list[dict]:
    lines = (STORIES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def places(phrase: str, text: str) -> list[int]:
    """Where the phrase stands in the text as whole words, spelled as it is."""
    return [match.start() for match in re.finditer(rf"(?<!\w){re.escape(phrase)}(?!\w)", text)]


def accuracy_of(rule: Callable[[str, str], int]) -> float:
    """The share of questions whose answer no candidate beats by the rule; a tie counts as right."""
    right = 0
    for item in questions():
        text = story_text(item["story"])
        best = max(rule(candidate, text) for candidate in item["candidates"])
        right += rule(item["answer"], text) == best
    return right / len(questions())


def test_the_folder_holds_exactly_these_stories():
    names = {entry.name for entry in STORIES.iterdir() if entry.name.endswith(".txt")}
    assert names == {f"{slug}.txt" for slug in SLUGS}


@pytest.mark.parametrize("slug", SLUGS)
def test_a_story_is_a_title_an_empty_line_and_a_text_of_the_agreed_length(slug: str):
    title, empty, body = story_text(slug).split("\n", 2)
    assert title.strip() == title != ""
    assert empty == ""
    assert 350 <= len(body.split()) <= 600
    assert 22 <= len(SENTENCE_END.findall(body)) <= 40


@pytest.mark.parametrize("slug", SLUGS)
def test_a_story_keeps_to_one_kind_of_quotes(slug: str):
    text = story_text(slug)
    assert ('"' in text) != ("“" in text)
    assert text.count("“") == text.count("”")


@pytest.mark.parametrize("slug", SLUGS)
def test_a_story_has_ten_questions_with_names_and_nouns_in_balance(slug: str):
    kinds = Counter(item["kind"] for item in questions() if item["story"] == slug)
    assert kinds == {"name": 5, "noun": 5}


@pytest.mark.parametrize("slug", SLUGS)
def test_no_answer_of_a_story_is_asked_for_twice(slug: str):
    answers = [item["answer"] for item in questions() if item["story"] == slug]
    assert len(set(answers)) == len(answers)


def test_every_question_has_the_agreed_keys_and_one_blank():
    for item in questions():
        assert set(item) == KEYS, item
        assert item["story"] in SLUGS, item
        assert len(places(BLANK, item["question"])) == 1, item
        assert item["question"].count(BLANK) == 1, item


def test_every_answer_is_among_six_to_ten_different_candidates():
    for item in questions():
        candidates = item["candidates"]
        assert item["answer"] in candidates, item
        assert 6 <= len(candidates) <= 10, item
        assert len(set(candidates)) == len(candidates), item


def test_every_candidate_occurs_in_its_story_as_a_whole_word():
    for item in questions():
        text = story_text(item["story"])
        missing = [candidate for candidate in item["candidates"] if not places(candidate, text)]
        assert not missing, (missing, item)


def test_no_question_gives_its_answer_away():
    for item in questions():
        assert not places(item["answer"], item["question"]), item


def test_names_are_written_with_a_capital_and_nouns_without():
    for item in questions():
        for candidate in item["candidates"]:
            assert candidate[0].isupper() == (item["kind"] == "name"), item


def test_no_question_is_asked_twice():
    asked = [item["question"] for item in questions()]
    assert len(set(asked)) == len(asked) == 120


def test_nine_answers_are_phrases_of_two_words():
    lengths = Counter(len(item["answer"].split()) for item in questions())
    assert lengths == {1: 111, 2: 9}


def test_the_most_frequent_candidate_is_seldom_the_answer():
    assert accuracy_of(lambda candidate, text: len(places(candidate, text))) <= 0.4


def test_the_candidate_mentioned_last_is_seldom_the_answer():
    assert accuracy_of(lambda candidate, text: places(candidate, text)[-1]) <= 0.4


def test_the_candidate_mentioned_first_is_seldom_the_answer():
    assert accuracy_of(lambda candidate, text: -places(candidate, text)[0]) <= 0.4


def test_the_place_of_the_answer_in_the_list_says_nothing():
    places_in_list = Counter(item["candidates"].index(item["answer"]) for item in questions())
    assert max(places_in_list.values()) <= 0.4 * len(questions())
