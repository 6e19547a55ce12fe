"""`answer.py`: raw text in, answers out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from builders import who_has_what

from epireader import Asked, Reader
from epireader.data.example import BadExample
from epireader.data.vocabulary import Vocabulary
from epireader.readers import AttentionSumConfig, EpiReaderConfig
from epireader.readers.saved import build_model

TEXT = "Ann Lee had a goat.  Tom had\na cow. The goat of Ann Lee ran off, and Zorb the dog ran too."
QUESTION = "'Where is my goat?' said XXXXX."
WORDS = (
    "Ann",
    "Lee",
    "had",
    "a",
    "goat",
    ".",
    "Tom",
    "cow",
    "The",
    "of",
    "ran",
    "off",
    ",",
    "and",
    "dog",
    "too",
    "'",
    "Where",
    "is",
    "my",
    "?",
    "said",
)


def reader(*seeds: int, kind: str = "epireader", **more: int) -> Reader:
    """A small reader with random weights, one member a seed."""
    members = []
    for seed in seeds or (0,):
        torch.manual_seed(seed)
        settings = (
            EpiReaderConfig(embedding_dim=8, hidden_dim=6, filters=4, reasoner_hidden_dim=3, **more)
            if kind == "epireader"
            else AttentionSumConfig(embedding_dim=8, hidden_dim=6)
        )
        model = build_model(kind, settings, Vocabulary(WORDS))
        with torch.no_grad():
            model.module.embedding.weight.mul_(20)
        members.append(model)
    return Reader(members)


def test_answers_come_best_first_and_their_mentions_are_where_they_stand() -> None:
    answers = reader().answer(TEXT, QUESTION)
    assert len(answers) == 5
    assert [a.pi for a in answers] == sorted((a.pi for a in answers), reverse=True)
    for answer in answers:
        assert answer.mentions
        assert all(TEXT[m.start : m.end] == answer.text for m in answer.mentions)


def test_the_probabilities_of_the_hypotheses_add_up() -> None:
    answers = reader().answer(TEXT, QUESTION)
    assert sum(a.pi for a in answers) == pytest.approx(1, abs=1e-5)
    assert sum(a.e for a in answers) == pytest.approx(1, abs=1e-5)


def test_p_is_the_attention_on_the_mentions() -> None:
    story = reader().read(TEXT)
    for answer in story.ask(QUESTION):
        at = [n for n, word in enumerate(story.words) if word.text == answer.text]
        assert answer.p == pytest.approx(sum(answer.attention[n] for n in at), abs=1e-5)
    assert sum(answer.attention) == pytest.approx(1, abs=1e-5)


def test_there_is_evidence_after_every_sentence_and_the_last_decides() -> None:
    story = reader().read(TEXT)
    answers = story.ask(QUESTION)
    assert all(len(a.evidence) == len(story.sentences) == 3 for a in answers)
    last = np.array([a.evidence[-1] for a in answers])
    assert np.allclose(np.exp(last) / np.exp(last).sum(), [a.e for a in answers], atol=1e-5)


def test_where_it_is_asked_how_a_word_fits_the_blank_that_and_the_last_sentence_decide() -> None:
    answers = reader(fits_blank=True).answer(TEXT, QUESTION)
    fits = np.array([a.fits_blank for a in answers])
    assert len({*fits.tolist()}) == len(answers)
    scores = np.array([a.evidence[-1] for a in answers]) + fits
    assert np.allclose(np.exp(scores) / np.exp(scores).sum(), [a.e for a in answers], atol=1e-5)
    assert all(a.fits_blank is None for a in reader().answer(TEXT, QUESTION)), "this one does not ask"
    assert reader(fits_blank=True).answer(TEXT, QUESTION, top=100)[-1].fits_blank is None, "it was not tested"


def test_where_the_passage_is_read_again_for_the_likeliest_answers_that_decides_too() -> None:
    answers = reader(reads_again=2).answer(TEXT, QUESTION)
    again = {a.text: a.read_again for a in answers}
    likeliest = sorted(answers, key=lambda a: -a.p)
    assert again[likeliest[0].text] == pytest.approx(-again[likeliest[1].text], abs=1e-5)
    assert again[likeliest[0].text] != 0
    assert all(again[a.text] == 0 for a in likeliest[2:])
    scores = np.array([a.evidence[-1] + a.read_again for a in answers])
    assert np.allclose(np.exp(scores) / np.exp(scores).sum(), [a.e for a in answers], atol=1e-5)
    assert all(a.read_again is None for a in reader().answer(TEXT, QUESTION)), "this one does not"


def test_members_that_ask_how_a_word_fits_give_their_mean() -> None:
    one, other = (
        {a.text: a.fits_blank for a in reader(n, fits_blank=True).answer(TEXT, QUESTION, ["Tom", "Ann"])}
        for n in (1, 2)
    )
    for answer in reader(1, 2, fits_blank=True).answer(TEXT, QUESTION, ["Tom", "Ann"]):
        assert answer.fits_blank == pytest.approx((one[answer.text] + other[answer.text]) / 2, abs=1e-5)


def test_members_that_read_again_give_the_mean_of_what_came_of_it() -> None:
    asked = (TEXT, QUESTION, ["Tom", "Ann"])
    one, other = ({a.text: a.read_again for a in reader(n, reads_again=2).answer(*asked)} for n in (1, 2))
    assert one != pytest.approx(other, abs=1e-3)
    for answer in reader(1, 2, reads_again=2).answer(*asked):
        assert answer.read_again == pytest.approx((one[answer.text] + other[answer.text]) / 2, abs=1e-5)


def test_a_story_asked_twice_answers_as_if_read_anew() -> None:
    story = reader().read(TEXT)
    story.ask("The XXXXX ran off.")
    again, anew = story.ask(QUESTION), reader().answer(TEXT, QUESTION)
    assert [a.text for a in again] == [a.text for a in anew]
    assert np.allclose([a.pi for a in again], [a.pi for a in anew], atol=1e-5)


@pytest.mark.parametrize("kind", ["epireader", "as-reader"])
def test_a_further_question_gets_exactly_the_answers_of_a_first_one(kind: str) -> None:
    one = reader(0, 1, kind=kind)
    story = one.read(TEXT)
    for question in (QUESTION, "The XXXXX ran off.", "Tom had a ____ .", QUESTION):
        for candidates in (None, ["Tom", "goat", "unicorn"], ["Ann Lee", "cow"]):
            assert story.ask(question, candidates) == one.answer(TEXT, question, candidates)


def test_the_passage_is_read_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one = reader()
    read = []
    encoder = one.members[0].module.extractor.passage_encoder
    read_words = encoder.read
    monkeypatch.setattr(encoder, "read", lambda *given: read.append(1) or read_words(*given))
    story = one.read(TEXT)
    for _ in range(3):
        story.ask(QUESTION)
    assert len(read) == 1


def test_many_questions_at_once_are_answered_as_one_by_one() -> None:
    story = reader().read(TEXT)
    asked = [Asked(QUESTION), Asked("The XXXXX of Ann ran off.", ["goat", "cow"]), Asked("Tom had a ____ .")]
    together = story.ask_all(asked, top=3)
    for one, answers in zip(asked, together, strict=True):
        alone = story.ask(one.question, one.candidates, top=3)
        assert [a.text for a in answers] == [a.text for a in alone]
        assert np.allclose([a.pi for a in answers], [a.pi for a in alone], atol=1e-5)


def test_questions_about_many_stories_are_answered_as_one_by_one() -> None:
    one = reader()
    random = np.random.default_rng(0)
    examples = [who_has_what(random) for _ in range(70)]
    stories = [one.read([" ".join(s) for s in e.sentences]) for e in examples]
    questions = [Asked(" ".join(e.question), [" ".join(c) for c in e.candidates]) for e in examples]
    together = one.answer_all(list(zip(stories, questions, strict=True)), top=2)
    for story, asked, answers in zip(stories, questions, together, strict=True):
        alone = story.ask(asked.question, asked.candidates, top=2)
        assert [a.text for a in answers] == [a.text for a in alone]
        assert np.allclose([a.pi for a in answers], [a.pi for a in alone], atol=1e-5)
        assert [a.mentions for a in answers] == [a.mentions for a in alone]
    assert one.answer_all([]) == []


def test_only_the_candidates_given_are_answers() -> None:
    answers = reader().answer(TEXT, QUESTION, ["Tom", "Ann Lee", "Tom", " "], top=10)
    assert {a.text for a in answers} == {"Tom", "Ann Lee"}
    phrase = next(a for a in answers if a.text == "Ann Lee")
    assert [TEXT[m.start : m.end] for m in phrase.mentions] == ["Ann Lee", "Ann Lee"]


def test_a_candidate_that_is_not_in_the_story_is_possible_but_has_no_chance() -> None:
    answers = reader().answer(TEXT, QUESTION, ["Tom", "unicorn"])
    assert [a.text for a in answers] == ["Tom", "unicorn"]
    assert (answers[1].p, answers[1].pi, answers[1].mentions) == (0, 0, ())


def test_more_answers_than_were_tested_follow_by_their_p() -> None:
    answers = reader().answer(TEXT, QUESTION, top=100)
    tested, rest = answers[:5], answers[5:]
    assert all(a.e is not None and a.evidence is not None for a in tested)
    assert all(a.e is None and a.evidence is None and a.pi == 0 for a in rest)
    assert [a.p for a in rest] == sorted((a.p for a in rest), reverse=True)


def test_members_of_an_ensemble_vote() -> None:
    one, other, both = reader(1), reader(2), reader(1, 2)
    ask = lambda r: {a.text: a for a in r.answer(TEXT, QUESTION, top=100)}  # noqa: E731
    first, second, joint = ask(one), ask(other), ask(both)
    for text, answer in joint.items():
        assert answer.pi == pytest.approx((first[text].pi + second[text].pi) / 2, abs=1e-6)
        assert answer.p == pytest.approx((first[text].p + second[text].p) / 2, abs=1e-6)


def test_a_reader_without_a_reasoner_gives_answers_without_evidence() -> None:
    for answer in reader(kind="as-reader").answer(TEXT, QUESTION):
        assert answer.e is None
        assert answer.evidence is None
        assert answer.pi == answer.p


def test_sentences_may_be_given_one_by_one() -> None:
    sentences = ["Ann had a goat.", "", "Tom had a cow."]
    story = reader().read(sentences)
    assert len(story.sentences) == 2
    for answer in story.ask(QUESTION):
        assert all(story.text[m.start : m.end] == answer.text for m in answer.mentions)


def test_a_very_long_sentence_is_read_in_pieces_and_no_word_is_lost() -> None:
    story = reader().read("goat cow " * 500)
    assert max(map(len, story.sentences)) <= 100
    assert len(story.words) == 1000
    assert story.ask("The XXXXX .")


@pytest.mark.parametrize(
    ("passage", "question", "candidates", "reason"),
    [
        ("", QUESTION, None, "no words"),
        ("   \n", QUESTION, None, "no words"),
        ([], QUESTION, None, "no words"),
        (TEXT, "no blank here", None, "exactly one blank"),
        (TEXT, "XXXXX and XXXXX", None, "exactly one blank"),
        (TEXT + " XXXXX", QUESTION, None, "only the question may"),
        (TEXT, QUESTION, [], "no candidates"),
        (TEXT, QUESTION, ["  "], "no candidates"),
        (TEXT, QUESTION, "Ann", "must be a list"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(passage: object, question: str, candidates: object, reason: str) -> None:
    with pytest.raises(BadExample, match=reason):
        reader().answer(passage, question, candidates)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("passage", [Path("a.txt"), None, b"Ann had a goat.", ["Ann had a goat.", None]], ids=repr)
def test_a_passage_that_is_no_text_is_refused_with_what_it_is(passage: Any) -> None:
    with pytest.raises(TypeError) as error:
        reader().read(passage)
    assert str(error.value) == f"a passage must be a text or a list of sentences, got {passage!r}"


@pytest.mark.usefixtures("unchecked")
def test_a_candidate_that_is_no_text_is_refused_with_what_it_is() -> None:
    candidates: Any = ["goat", 2]
    with pytest.raises(TypeError, match="candidates must be texts, got 2"):
        reader().answer(TEXT, QUESTION, candidates)


def test_fewer_than_one_answer_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="top must be at least 1, got 0"):
        reader().answer(TEXT, QUESTION, top=0)


def test_the_bundled_model_answers_the_demonstration() -> None:
    from epireader.cli.answer import DEMONSTRATION
    from epireader.stories import bundled_stories

    name, question = DEMONSTRATION
    assert Reader.load("default").answer(bundled_stories()[name].text, question)[0].text == "Tippin"


def test_where_any_word_may_be_the_answer_no_mark_is_one() -> None:
    answers = reader().read("“Ann had a goat!” -- said Tom, 'the 2nd' (the [goat]).").ask("XXXXX ran off.", top=50)
    assert sorted(answer.text for answer in answers) == ["2nd", "Ann", "Tom", "a", "goat", "had", "said", "the"]
    assert reader().read("... ?").ask("XXXXX")[0].text in {"...", "?"}
