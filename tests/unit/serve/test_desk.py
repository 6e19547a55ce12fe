"""Whatever is asked at once is read together, one bad request spoils no other, and what is kept is bounded."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epireader.answer import Answer, Asked, Reader, Story
from epireader.data.example import BadExample
from epireader.readers import passes as passes_module
from epireader.readers.floors import floor_model
from epireader.serve.desk import Desk, Kept, StoryCache, Task, answered, load_readers
from epireader.serve.errors import Refusal
from epireader.serve.metrics import Metrics
from epireader.serve.settings import ServeSettings

GOAT = "Ann had a goat and Tom a cow. The goat ran off. Tom laughed."
BOAT = "The boat was red. Sam rowed the boat to the mill."
TALE = (
    "The miller kept a dog and a Grompf. The dog ran to the river, and the Grompf went after it. "
    "Nobody at the mill had seen either of them since noon, said the miller."
)


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.load("default")


def desk(reader: Reader, **limits: int) -> Desk:
    return Desk({"default": reader}, ServeSettings(**limits), Metrics())


def one(passage: str, question: str, candidates: list[str] | None = None, *, top: int = 2, single: bool = True) -> Task:
    return Task("default", passage, (Asked(question, candidates),), top, single)


@pytest.fixture
def asked(reader: Reader) -> Iterator[list[int]]:
    """How many questions each pass through the model had."""
    sizes: list[int] = []
    hook = reader.members[0].module.register_forward_pre_hook(lambda _, given: sizes.append(len(given[0])))
    yield sizes
    hook.remove()


@pytest.fixture
def encoded(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many passages were encoded each time."""
    sizes: list[int] = []
    encoder = reader.members[0].module.extractor.passage_encoder
    read = encoder.read
    monkeypatch.setattr(encoder, "read", lambda table, words: sizes.append(len(words)) or read(table, words))
    return sizes


MANY = [
    one(GOAT, "The XXXXX ran."),
    one(TALE, "The miller had lost his XXXXX.", ["dog", "Grompf", "river", "the mill"], top=2),
    one(BOAT, "The XXXXX was red."),
    one(GOAT, "XXXXX laughed.", ["Ann", "Tom"]),
    one(TALE, "XXXXX ran to the river."),
]


def test_whatever_is_asked_at_once_is_read_in_one_pass(reader: Reader, asked: list[int], encoded: list[int]) -> None:
    responses = desk(reader).answer_all(MANY)
    assert asked == [5]
    assert encoded == [3]
    for task, response in zip(MANY, responses, strict=True):
        assert isinstance(response, bytes)
        (alone,) = desk(reader).answer_all([task])
        assert isinstance(alone, bytes)
        same(json.loads(response), json.loads(alone))
        story = reader.read(task.passage)
        expected = story.ask(task.questions[0].question, task.questions[0].candidates, top=2)
        assert json.loads(response)["answers"][0]["pi"] == pytest.approx(expected[0].pi, abs=1e-5)


def same(one: Any, other: Any) -> None:
    """Equal, numbers to rounding."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for first, second in zip(one, other, strict=True):
            same(first, second)
    elif isinstance(one, float):
        np.testing.assert_allclose(one, other, atol=1e-4)
    else:
        assert one == other


def test_every_model_reads_what_it_is_asked(reader: Reader, asked: list[int]) -> None:
    floor = Reader([floor_model("last-mentioned")])
    tasks = [
        one(GOAT, "The XXXXX ran."),
        Task("floor", GOAT, (Asked("XXXXX"),), 2, single=True),
        one(BOAT, "The XXXXX was red."),
    ]
    responses = Desk({"default": reader, "floor": floor}, ServeSettings(), Metrics()).answer_all(tasks)
    bodies = [json.loads(response) for response in responses if isinstance(response, bytes)]
    assert [body["model"] for body in bodies] == ["default", "floor", "default"]
    assert bodies[1]["answers"][0]["text"] == "laughed"
    assert bodies[1]["attention"] is None
    assert asked == [2]


def test_everyone_gets_as_many_answers_as_they_asked_for(reader: Reader) -> None:
    tasks = [one(GOAT, "The XXXXX ran.", top=1), one(GOAT, "The XXXXX ran.", top=4)]
    first, second = (json.loads(response) for response in desk(reader).answer_all(tasks) if isinstance(response, bytes))
    assert (len(first["answers"]), len(second["answers"])) == (1, 4)
    assert first["answers"] == second["answers"][:1]


def test_one_bad_request_spoils_no_other(reader: Reader, asked: list[int]) -> None:
    long = "word " * 50
    tasks = [one(GOAT, "The XXXXX ran."), one(GOAT, "no blank"), one(" ", "XXXXX"), one(long, "XXXXX"), MANY[1]]
    good, blankless, empty, too_long, other = desk(reader, words=40).answer_all(tasks)
    assert isinstance(good, bytes)
    assert isinstance(other, bytes)
    assert isinstance(blankless, BadExample)
    assert isinstance(empty, BadExample)
    assert isinstance(too_long, Refusal)
    assert asked == [2]


def test_one_that_breaks_the_model_spoils_no_other(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_all = Reader.answer_all

    def break_on_boats(self: Reader, questions: list[tuple[Story, Asked]], **options: Any) -> object:
        if any(story.text == BOAT for story, _ in questions):
            raise MemoryError("too much")
        return answer_all(self, questions, **options)

    monkeypatch.setattr(Reader, "answer_all", break_on_boats)
    responses = desk(reader).answer_all(MANY)
    assert [type(response) for response in responses] == [bytes, bytes, MemoryError, bytes, bytes]


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


def test_a_pass_through_the_model_is_bounded(reader: Reader, asked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes_module, "LARGEST_PASS", 1)
    desk(reader).answer_all(MANY)
    assert asked == [1] * 5


def test_a_passage_is_read_once_for_many_questions(
    reader: Reader, encoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    monkeypatch.setattr(Reader, "read", lambda self, text: read.append(text) or Story(self, text))
    here = desk(reader)
    for tasks in ([MANY[0], MANY[3]], MANY, MANY):
        here.answer_all(tasks)
    assert read == [GOAT, TALE, BOAT]
    assert encoded == [1, 2]


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


def test_all_that_is_known_of_an_answer_is_told() -> None:
    known = Answer("goat", 0.5, 0.25, 0.75, (), (0.1, 0.9), (1.0, 2.0), fits_blank=0.5, read_again=-0.125)
    (told,) = answered(Asked("The XXXXX ran."), [known])["answers"]
    assert {name: told[name] for name in ("p", "e", "pi", "fits_blank", "read_again")} == {
        "p": 0.5, "e": 0.25, "pi": 0.75, "fits_blank": 0.5, "read_again": -0.125,
    }  # fmt: skip
