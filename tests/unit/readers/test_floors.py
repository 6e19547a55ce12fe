"""What can be had without reading."""

from pathlib import Path

import numpy as np
import pytest
import torch
from builders import example
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cases import Extra, batch_of_cases
from reference.floors import last_mentioned, most_frequent, probabilities
from reference.small import hard_cases
from shared_data import shared_data

from epireader.answer import Reader
from epireader.data.example import Example
from epireader.data.prepare import open_questions
from epireader.data.questions import QuestionsBuilder
from epireader.evaluation.accuracy import evaluate
from epireader.evaluation.predict import predict
from epireader.readers.ensemble import load_members
from epireader.readers.floors import FLOORS, floor_model
from epireader.readers.saved import BadModel

extras = st.builds(Extra, *[st.integers(0, 2)] * 5)


def say(floor: str, *examples: Example) -> list[list[float]]:
    """A floor's probabilities of the candidates of each question."""
    builder = QuestionsBuilder()
    for one in examples:
        builder.add(one)
    said = predict(load_members(floor), builder.build())
    return [said.final[said.of(n)].tolist() for n in range(len(examples))]


def right(floor: str, one: Example) -> bool:
    builder = QuestionsBuilder()
    builder.add(one)
    return evaluate(predict(load_members(floor), builder.build()), most=1).final.count == 1


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 4), extra=extras)
def test_floors_agree_with_their_rules(seed: int, count: int, extra: Extra) -> None:
    cases = hard_cases(seed, count)
    batch = batch_of_cases(cases, extra)
    for name, rule in (("most-frequent", most_frequent), ("last-mentioned", last_mentioned)):
        probs = floor_model(name).module(batch).log_probs.exp().tolist()
        for row, case in zip(probs, cases, strict=True):
            expected = probabilities(rule(case))
            assert row == pytest.approx(expected + [0.0] * (len(row) - len(expected)))


def test_floors_worked_by_hand() -> None:
    one = example(["cat dog", "dog cat", "elk cow dog cow"], "XXXXX", ["cat", "dog", "elk", "hen", "cow"])
    # dog stands there three times; cat and cow twice, so they share the second place; elk is fourth; hen is nowhere.
    assert say("most-frequent", one)[0] == pytest.approx([n / 27 for n in (6, 12, 3, 0, 6)])
    # From the end: cow, dog, elk, cat.
    assert say("last-mentioned", one)[0] == pytest.approx([n / 25 for n in (3, 6, 4, 0, 12)])


def test_a_tie_is_never_right_by_chance() -> None:
    for answer in ("cat", "dog"):
        assert not right("most-frequent", example(["cat dog"], "XXXXX", ["cat", "dog"], answer))
    for answer in ("York", "New York"):
        assert not right("last-mentioned", example(["New York"], "XXXXX", ["York", "New York"], answer))


def test_no_two_words_are_the_same_to_a_floor_however_many_there_are() -> None:
    words = [f"x{n}" for n in range(300)]
    one = example([" ".join(words), "x250"], "XXXXX", [f"x{n}" for n in (250 - 64, 250, 250 - 128)], "x250")
    for name in ("most-frequent", "last-mentioned"):
        assert right(name, one)


def test_chance_is_chance_and_the_same_whatever_stands_beside_a_question() -> None:
    examples = [example(["a b c d e"], "XXXXX", list("abcde"), "abcde"[n % 5]) for n in range(1000)]
    builder = QuestionsBuilder()
    for one in examples:
        builder.add(one)
    asked = builder.build()
    members = load_members("random")
    said = predict(members, asked, batch_size=1000)
    assert evaluate(said, most=1).final.value == pytest.approx(0.2, abs=0.04)
    assert np.array_equal(predict(members, asked, batch_size=7).final, said.final)
    assert set(said.final.reshape(-1, 5).argmax(axis=1).tolist()) == set(range(5))


@pytest.mark.parametrize("name", FLOORS)
def test_a_floor_answers_raw_text(name: str) -> None:
    answers = Reader.load(name).answer("Ann had a goat. Ann had a cow.", "XXXXX had a goat.", ["goat", "Ann", "cow"])
    assert sum(answer.pi for answer in answers) == pytest.approx(1)
    if name != "random":
        assert answers[0].text == {"most-frequent": "Ann", "last-mentioned": "cow"}[name]
    assert not list(Reader.load(name).members[0].module.parameters())


def test_without_candidates_all_words_of_a_long_passage_have_places_of_their_own() -> None:
    passage = " ".join(f"x{n}" for n in range(2000))
    (probs,) = say("last-mentioned", example([passage], "XXXXX"))
    assert (torch.tensor(probs).diff() > 0).all()


def test_a_folder_with_a_floors_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "random").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadModel, match="random holds no reader"):
        load_members("random")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "frequent", "last"), [("NE", 23.8, 17.9), ("CN", 18.6, 20.6)])
def test_the_floors_of_cbt_r_come_out(kind: str, frequent: float, last: float) -> None:
    asked = open_questions(shared_data(f"cbt-r/cbtest_{kind}_test_2500ex.txt.xz"))
    for floor, percent in (("most-frequent", frequent), ("last-mentioned", last)):
        measured = evaluate(predict(load_members(floor), asked), most=1).final.value
        assert round(100 * measured, 1) == percent
    assert evaluate(predict(load_members("random"), asked), most=1).final.value == pytest.approx(0.1, abs=0.02)
