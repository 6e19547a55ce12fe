"""`answer.py`: questions about different stories in one pass get the answers they get alone, with all that belongs to them."""

import weakref
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from reference.small import small_config

from epireader import Asked, Reader
from epireader.answer import Answer, Story
from epireader.data.example import BadExample
from epireader.data.vocabulary import Vocabulary
from epireader.layers.directions import Encoded
from epireader.readers import READERS
from epireader.readers.ensemble import load_members
from epireader.readers.saved import Model, build_model

LONG = (
    "Ann Lee had a goat and Tom had a cow. The goat of Ann Lee ran off, and Zorb the dog ran too. "
    "Tom said that the cow had seen the goat. Ann said no. Zorb and Tom had a laugh, and off they ran."
)
SHORT = "Quimble the dog ran off. Ann had Quimble and a goat."
TINY = "goat"
TEXTS = (LONG, SHORT, TINY)
WORDS = "Ann Lee had a goat and Tom cow . The of ran off , the dog too said that seen no"
ASKED = (
    (0, Asked("'Where is my goat?' said XXXXX.")),
    (1, Asked("The dog of Ann was XXXXX.", ["Quimble", "Ann", "the dog"])),
    (0, Asked("The XXXXX ran off with Zorb.", ["goat", "Ann Lee", "unicorn"])),
    (2, Asked("A XXXXX .")),
    (1, Asked("XXXXX ran off.")),
)
MIXED = ("epireader", "as-reader", "deep-lstm", "epireader")


def member(kind: str, seed: int, **settings: int) -> Model:
    torch.manual_seed(seed)
    model = build_model(kind, replace(small_config(kind), **settings), Vocabulary(tuple(WORDS.split()), strangers=3))
    with torch.no_grad():
        for parameter in model.module.parameters():
            parameter.uniform_(-0.8, 0.8)
        for table in (part for part in model.module.modules() if isinstance(part, torch.nn.Embedding)):
            table.weight[0] = 0
    return model


def reader(*kinds: str) -> Reader:
    return Reader([member(kind, seed) for seed, kind in enumerate(kinds)])


def asked_about(stories: Sequence[Story]) -> list[tuple[Story, Asked]]:
    return [(stories[number], asked) for number, asked in ASKED]


def read_all(one: Reader) -> list[Story]:
    return [one.read(text) for text in TEXTS]


def passes(one: Reader) -> list[int]:
    """How many questions each pass through the first member has from now on."""
    sizes: list[int] = []
    one.members[0].module.register_forward_pre_hook(lambda _, given: sizes.append(len(given[0])))
    return sizes


def agree(together: list[Answer], alone: list[Answer], *, why: bool = True) -> None:
    assert [answer.text for answer in together] == [answer.text for answer in alone]
    for one, other in zip(together, alone, strict=True):
        assert one.mentions == other.mentions
        for name in ("p", "e", "pi", *(("attention", "evidence", "fits_blank", "read_again") if why else ())):
            expected = getattr(other, name)
            if expected is None:
                assert getattr(one, name) is None
            else:
                assert np.shape(getattr(one, name)) == np.shape(expected)
                np.testing.assert_allclose(getattr(one, name), expected, atol=1e-5)


@pytest.mark.parametrize("kinds", [*((kind,) for kind in READERS), MIXED], ids="+".join)
@pytest.mark.parametrize("why", [True, False])
def test_different_stories_read_in_one_pass_are_answered_as_one_by_one(kinds: tuple[str, ...], why: bool) -> None:
    one = reader(*kinds)
    sizes = passes(one)
    together = one.answer_all(asked_about(read_all(one)), top=100, why=why)
    assert sizes == [len(ASKED)]
    for (number, asked), answers in zip(ASKED, together, strict=True):
        agree(answers, one.answer(TEXTS[number], asked.question, asked.candidates, top=100), why=why)
        assert why or all(
            answer.attention is answer.evidence is answer.fits_blank is answer.read_again is None for answer in answers
        )


@pytest.mark.parametrize("kind", ["epireader", "as-reader"])
@pytest.mark.parametrize("tells", ["marks_question", "aligns_question"])
def test_readers_that_are_told_of_the_question_as_they_read_do_so_for_each_one_anew(kind: str, tells: str) -> None:
    again = {"reads_again": 2} if kind == "epireader" else {}
    one = Reader([member(kind, 0, **{tells: True}, asks_at_blank=True, **again)])
    stories = read_all(one)
    for _ in range(2):
        together = one.answer_all(asked_about(stories), top=100, why=True)
        for (number, asked), answers in zip(ASKED, together, strict=True):
            agree(answers, one.answer(TEXTS[number], asked.question, asked.candidates, top=100))
    assert all(answer.read_again is None for answers in one.answer_all(asked_about(stories)) for answer in answers)
    assert not any(story.notes.states for story in stories), "there is nothing to keep"


@pytest.mark.parametrize("name", ["most-frequent", "last-mentioned"])
def test_floors_too_read_different_stories_in_one_pass(name: str) -> None:
    one = Reader(load_members(name))
    for (number, asked), answers in zip(ASKED, one.answer_all(asked_about(read_all(one)), top=100), strict=True):
        agree(answers, one.answer(TEXTS[number], asked.question, asked.candidates, top=100))


def test_all_that_fits_is_read_in_one_pass_and_each_story_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one = reader("epireader")
    sizes, encoded = passes(one), []
    encoder = one.members[0].module.extractor.passage_encoder
    read = encoder.read
    monkeypatch.setattr(encoder, "read", lambda table, words: encoded.append(len(words)) or read(table, words))
    stories = read_all(one)
    one.answer_all(asked_about(stories), why=True)
    assert sizes == [len(ASKED)]
    assert encoded == [len(TEXTS)]
    one.answer_all(asked_about([*stories[:2], one.read("the goat ran")]), why=True)
    assert encoded == [len(TEXTS), 1]


def test_states_of_stories_read_together_are_those_of_each_alone() -> None:
    one = reader("epireader")
    module, stories = one.members[0].module, read_all(one)
    one.answer_all(asked_about(stories), why=True)
    for story in stories:
        alone = one.read(story.text)
        alone.ask("XXXXX")
        torch.testing.assert_close(story.notes.states[module], alone.notes.states[module])
        assert story.notes.states[module].untyped_storage().nbytes() == alone.notes.states[module].nbytes


def test_a_story_may_be_asked_by_another_reader_than_the_one_that_read_it() -> None:
    one, other = reader("epireader"), reader("as-reader", "epireader")
    story = one.read(LONG)
    story.ask(ASKED[0][1].question)
    (answers,) = other.answer_all([(story, ASKED[0][1])], why=True)
    agree(answers, other.answer(LONG, ASKED[0][1].question))


def test_without_why_nothing_of_what_was_read_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    one = reader("epireader")
    made: list[weakref.ref[torch.Tensor]] = []
    encoder = one.members[0].module.extractor.passage_encoder
    read = encoder.read

    def watched(embedding: torch.nn.Embedding, words: torch.Tensor) -> Encoded:
        encoded = read(embedding, words)
        made.append(weakref.ref(encoded.states))
        return encoded

    monkeypatch.setattr(encoder, "read", watched)
    stories = read_all(one)
    one.answer_all(asked_about(stories))
    assert made
    assert all(state() is None for state in made)
    assert not any(story.notes.states or story.notes.lines for story in stories)
    one.answer_all([(stories[0], ASKED[0][1])])
    assert not stories[0].notes.lines


def test_a_story_is_laid_out_once_whomever_it_was_read_with(monkeypatch: pytest.MonkeyPatch) -> None:
    one = reader("epireader")
    module, laid = one.members[0].module, []
    lay_out = module.lay_out
    monkeypatch.setattr(module, "lay_out", lambda batch: laid.append(len(batch)) or lay_out(batch))
    stories = read_all(one)
    one.answer_all(asked_about(stories), why=True)
    assert not any(story.notes.lines for story in stories)
    laid.clear()
    together = stories[0].ask_all([ASKED[0][1], ASKED[1][1]])
    again = stories[0].ask(ASKED[1][1].question, ASKED[1][1].candidates)
    assert laid == [1]
    agree(together[1], again)


def test_one_bad_question_among_many_is_refused_before_anything_is_read() -> None:
    one = reader("epireader")
    sizes, story = passes(one), one.read(LONG)
    with pytest.raises(BadExample, match="exactly one blank"):
        one.answer_all([(story, ASKED[0][1]), (story, Asked("no blank"))], why=True)
    assert sizes == []
