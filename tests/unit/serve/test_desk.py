"""Questions about one passage are read together, one bad question spoils no other, and what is kept is bounded."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epireader.answer import Asked, Reader, Story
from epireader.data.example import BadExample
from epireader.serve.desk import Desk, Kept, StoryCache, Task, load_readers
from epireader.serve.errors import Refusal
from epireader.serve.metrics import Metrics
from epireader.serve.settings import ServeSettings

GOAT = "Ann had a goat and Tom a cow. The goat ran off. Tom laughed."
BOAT = "The boat was red. Sam rowed the boat to the mill."


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.load("default")


def desk(reader: Reader, **limits: int) -> Desk:
    return Desk({"default": reader}, ServeSettings(**limits), Metrics())


def one(passage: str, question: str, *, top: int = 2, single: bool = True) -> Task:
    return Task("default", passage, (Asked(question),), top, single)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many questions each pass through the model had."""
    sizes: list[int] = []
    ask_all = Story.ask_all

    def counted(self: Story, questions: list[Asked], *, top: int | None = None) -> object:
        sizes.append(len(questions))
        return ask_all(self, questions, top=top)

    monkeypatch.setattr(Story, "ask_all", counted)
    return sizes


def test_questions_about_one_passage_are_read_together_whoever_asked(reader: Reader, asked: list[int]) -> None:
    tasks = [one(GOAT, "The XXXXX ran."), one(BOAT, "The XXXXX was red."), one(GOAT, "XXXXX laughed.")]
    responses = desk(reader).answer_all(tasks)
    assert asked == [2, 1]
    for task, response in zip(tasks, responses, strict=True):
        assert isinstance(response, bytes)
        body = json.loads(response)
        expected = reader.read(task.passage).ask(task.questions[0].question, top=2)
        assert body["question"] == task.questions[0].question
        assert [answer["text"] for answer in body["answers"]] == [answer.text for answer in expected]
        assert body["answers"][0]["pi"] == pytest.approx(expected[0].pi, abs=1e-5)
        assert body["answers"][0]["evidence"] == pytest.approx(expected[0].evidence, abs=1e-4)


def test_everyone_gets_as_many_answers_as_they_asked_for(reader: Reader) -> None:
    tasks = [one(GOAT, "The XXXXX ran.", top=1), one(GOAT, "The XXXXX ran.", top=4)]
    first, second = (json.loads(response) for response in desk(reader).answer_all(tasks) if isinstance(response, bytes))
    assert (len(first["answers"]), len(second["answers"])) == (1, 4)
    assert first["answers"] == second["answers"][:1]


def test_one_bad_question_spoils_no_other(reader: Reader) -> None:
    tasks = [one(GOAT, "The XXXXX ran."), one(GOAT, "no blank"), one(" ", "XXXXX"), one(BOAT, "The XXXXX.")]
    good, blankless, empty, other = desk(reader).answer_all(tasks)
    assert isinstance(good, bytes)
    assert isinstance(other, bytes)
    assert isinstance(blankless, BadExample)
    assert isinstance(empty, BadExample)


def test_places_are_places_in_the_passage(reader: Reader) -> None:
    (response,) = desk(reader).answer_all([one(GOAT, "The XXXXX ran.")])
    assert isinstance(response, bytes)
    body = json.loads(response)
    for answer in body["answers"]:
        assert {GOAT[place["start"] : place["end"]] for place in answer["mentions"]} == {answer["text"]}
    assert [GOAT[word["start"] : word["end"]] for word in body["words"][:3]] == ["Ann", "had", "a"]
    assert [word["sentence"] for word in body["words"]].count(1) == 5
    assert len(body["attention"]) == len(body["words"])
    assert len(body["answers"][0]["evidence"]) == len(body["sentences"]) == 3


def test_without_questions_a_passage_is_only_split(reader: Reader, asked: list[int]) -> None:
    (response,) = desk(reader).answer_all([Task("default", GOAT)])
    assert isinstance(response, bytes)
    assert json.loads(response).keys() == {"words", "sentences"}
    assert asked == []


def test_a_passage_that_is_too_long_is_refused_with_both_numbers(reader: Reader) -> None:
    (response,) = desk(reader, words=5).answer_all([one(GOAT, "The XXXXX ran.")])
    assert isinstance(response, Refusal)
    assert response.status == 413
    assert "17 words; at most 5" in response.sentence


def test_a_pass_through_the_model_is_bounded(reader: Reader, asked: list[int]) -> None:
    questions = tuple(Asked("The XXXXX ran.") for _ in range(7))
    desk(reader, batch_slots=60).answer_all([Task("default", GOAT, questions, 1)])
    assert asked == [2, 2, 2, 1]
    asked.clear()
    desk(reader, batch_slots=1).answer_all([Task("default", GOAT, questions[:2], 1)])
    assert asked == [1, 1]


def test_a_passage_is_read_once_for_many_questions(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(Reader, "read", lambda self, text: read.append(text) or Story(self, text))
    here = desk(reader)
    for question in ("The XXXXX ran.", "XXXXX laughed."):
        here.answer_all([one(GOAT, question)])
    assert read == [GOAT]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 30)), max_size=60), st.integers(1, 80))
def test_what_is_kept_never_exceeds_its_bound(passages: list[tuple[int, int]], most: int) -> None:
    cache = StoryCache(most)
    for name, words in passages:
        text = " ".join([f"w{name}"] * words)
        if cache.get("m", text) is None:
            cache.put("m", kept(text))
        assert cache.size <= most
        assert cache.size == sum(one.size for one in cache._stories.values())


def kept(text: str) -> Kept:
    story = Story.__new__(Story)
    story.text = text
    story.words = tuple(text.split())  # type: ignore[assignment]
    return Kept(story, b"{}")


def test_what_was_used_last_stays_longest() -> None:
    cache = StoryCache(4)
    for text in ("a a", "b b"):
        cache.put("m", kept(text))
    assert cache.get("m", "a a") is not None
    cache.put("m", kept("c c"))
    assert cache.get("m", "b b") is None
    assert cache.get("m", "a a") is not None
    assert cache.get("other model", "a a") is None


def test_one_endless_word_counts_by_its_characters() -> None:
    cache = StoryCache(1000)
    for letter in "abcdefgh":
        cache.put("m", kept(letter * 3000))
    assert len(cache) == 2
    cache.put("m", kept("z" * 100_000))
    assert len(cache) == 0
    assert cache.size == 0


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two models are called 'default'"):
        load_readers(["default", "default"])
