"""Questions that passages ask themselves, beside those that are given about them."""

from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from builders import batch_of, example, random_example
from hypothesis import given
from hypothesis import strategies as st
from reference.fresh import mixed_by_hand, wrapped
from reference.own import can_be_asked_by_hand, own_question_by_hand

from epireader.data.batches import LONG_QUESTION, Batch, BatchCutter
from epireader.data.example import Example, Words
from epireader.data.own import OWN_DRAW, OwnQuestions, asking_themselves
from epireader.data.questions import LEXICON_START, Questions, QuestionsBuilder, Shape
from epireader.data.vocabulary import BLANK_ID, PAD_ID, Vocabulary

seeds = st.integers(0, 2**32 - 1)
STORY = example(["ann saw bob .", "bob ran .", "ann sat with ann ."], "who saw XXXXX ?", ["ann", "bob", "cat"], "bob")


def every_word(examples: list[Example]) -> Vocabulary:
    parts = [words for one in examples for words in (*one.sentences, one.question, *one.candidates)]
    return Vocabulary(tuple(dict.fromkeys(word for words in parts for word in words if word not in LEXICON_START)))


def built(examples: list[Example]) -> Questions:
    builder = QuestionsBuilder()
    for one in examples:
        builder.add(one)
    return builder.build()


def padded_alike(batch: Batch, wanted: Batch) -> bool:
    """Whether both say the same, up to padding behind the words."""
    for field in fields(Batch):
        one, other = getattr(batch, field.name), getattr(wanted, field.name)
        if field.name == "sentence_of":
            one, other = (torch.where(part.passage == PAD_ID, -1, part.sentence_of) for part in (batch, wanted))
        if one.dim() > 1:
            width = max(one.shape[1], other.shape[1])
            padding = -1 if field.name == "sentence_of" else 0
            one, other = (
                torch.nn.functional.pad(part, (*[0, 0] * (part.dim() - 2), 0, width - part.shape[1]), value=padding)
                for part in (one, other)
            )
        if field.name != "row" and not torch.equal(one, other):
            return False
    return True


@given(
    seed=seeds, count=st.integers(1, 4), own=st.lists(st.booleans(), min_size=4, max_size=4), phrase=st.integers(1, 2)
)
def test_what_passages_ask_is_what_they_ask_by_hand(seed: int, count: int, own: list[bool], phrase: int) -> None:
    random = np.random.default_rng(seed)
    examples = [random_example(random, words=8, sentences=5, candidates=6, phrase=phrase) for _ in range(count)]
    words, draws = every_word(examples), torch.from_numpy(random.integers(-(2**62), 2**62, count))
    batch = batch_of(examples, words)
    longest = batch.question.shape[1]
    asked = asking_themselves(batch, torch.tensor(own[:count]), draws, longest=longest)
    wanted = [
        own_question_by_hand(one, int(draw), longest) if turned else one
        for one, draw, turned in zip(examples, draws.tolist(), own, strict=False)
    ]
    assert padded_alike(asked, batch_of(wanted, words))


def test_a_sentence_is_taken_out_and_a_mention_in_it_left_out() -> None:
    words = every_word([STORY])
    batch = batch_of([STORY], words)
    asked = [asking_themselves(batch, torch.tensor([True]), torch.tensor([draw])) for draw in range(4)]
    name = {n + words.first_word_id: word for n, word in enumerate(words.words)} | {BLANK_ID: "XXXXX", PAD_ID: ""}
    told = [(" ".join(name[word] for word in one.question[0].tolist()).split(), int(one.answer)) for one in asked]
    # ann stands twice in the last sentence, so it is not asked about; cat stands nowhere.
    assert told[:3] == [
        (["XXXXX", "saw", "bob", "."], 0), (["ann", "saw", "XXXXX", "."], 1), (["XXXXX", "ran", "."], 1),
    ]  # fmt: skip
    assert told[3] == told[0]
    assert asked[2].sentence_length[0].tolist() == [4, 5, 0]
    assert asked[2].sentence_of[0].tolist() == [0] * 4 + [1] * 5 + [3] * 3


def test_where_nothing_can_be_asked_the_given_question_stays() -> None:
    nothing = example(["ann ran .", "bob sat ."], "who ran ? XXXXX .", ["ann", "bob"], "ann")
    batch = batch_of([nothing], every_word([nothing]))
    assert can_be_asked_by_hand(nothing, 99) == []
    assert padded_alike(asking_themselves(batch, torch.tensor([True]), torch.tensor([5])), batch)


def test_a_sentence_that_is_too_long_is_not_asked() -> None:
    long = example(["ann saw bob and ran and ran .", "bob sat ."], "who ? XXXXX .", ["ann", "bob"], "ann")
    batch = batch_of([long], every_word([long]))
    assert can_be_asked_by_hand(long, 4) == [(1, 0)]
    asked = asking_themselves(batch, torch.tensor([True]), torch.tensor([0]), longest=4)
    assert (int(asked.question[0, 0]), int(asked.answer)) == (BLANK_ID, 1)


@pytest.fixture(scope="module")
def stories() -> list[Example]:
    random = np.random.default_rng(0)
    return [random_example(random, words=8, sentences=6, candidates=5) for _ in range(6)]


def test_an_epoch_has_every_question_and_as_many_of_its_own(stories: list[Example]) -> None:
    cutter = BatchCutter(built(stories), every_word(stories))
    own = OwnQuestions(cutter, 2, shuffle_entities=False)
    rows = own.rows_of_epoch(seed=0, epoch=3)
    assert Counter((rows % 6).tolist()) == dict.fromkeys(range(6), 3)
    shape = own.shape(rows)
    batch = own.cut(torch.from_numpy(rows), shape, shuffle=7)
    assert torch.equal(batch.row, torch.from_numpy(rows))
    given_part = cutter.cut(torch.arange(6), shape)
    for field in fields(Batch):
        assert torch.equal(getattr(batch, field.name)[:6], getattr(given_part, field.name)), "the given ones stay"
    for row in range(6, 18):
        key = mixed_by_hand(wrapped(row + mixed_by_hand(7)))
        wanted = own_question_by_hand(stories[row % 6], mixed_by_hand(wrapped(key + OWN_DRAW)), LONG_QUESTION)
        one = own.cut(torch.tensor([row]), shape, shuffle=7)
        assert padded_alike(one, batch_of([wanted], every_word(stories)))


@pytest.mark.parametrize(
    "words",
    [Vocabulary(("w1", "w5"), strangers=9), Vocabulary(tuple(f"@entity{n}" for n in range(8)), rename_entities=True)],
    ids=["strangers", "entities renamed"],
)
def test_strangers_and_entities_are_named_by_what_a_passage_still_has(
    stories: list[Example], words: Vocabulary
) -> None:
    if words.rename_entities:
        stories = [in_entities(story) for story in stories]
    own = OwnQuestions(BatchCutter(built(stories), words), 1, shuffle_entities=False)
    rows = np.arange(12)
    batch = own.cut(torch.from_numpy(rows), own.shape(rows), shuffle=7)
    draws = [mixed_by_hand(wrapped(mixed_by_hand(wrapped(row + mixed_by_hand(7))) + OWN_DRAW)) for row in range(6, 12)]
    asked = [own_question_by_hand(story, draw, LONG_QUESTION) for story, draw in zip(stories, draws, strict=True)]
    wanted = batch_of([*stories, *asked], words)
    for field in ("passage", "question", "candidates"):
        got, by_hand = getattr(batch, field), getattr(wanted, field)
        assert torch.equal(got[:, : by_hand.shape[1]], by_hand)


def in_entities(story: Example) -> Example:
    """The story with every word an entity."""

    def renamed(words: Words) -> Words:
        return tuple(word.replace("w", "@entity") for word in words)

    return Example(
        sentences=tuple(map(renamed, story.sentences)),
        question=renamed(story.question),
        candidates=tuple(map(renamed, story.candidates)),
        answer=renamed(story.answer),
    )


def test_other_numbers_ask_something_else(stories: list[Example]) -> None:
    own = OwnQuestions(BatchCutter(built(stories), every_word(stories)), 1, shuffle_entities=False)
    rows = np.arange(6, 12)
    asked = [own.cut(torch.from_numpy(rows), own.shape(rows), shuffle=shuffle).question for shuffle in (1, 1, 2)]
    assert torch.equal(asked[0], asked[1])
    assert not torch.equal(asked[0], asked[2])


def test_batches_are_planned_for_the_longest_sentence_that_may_be_asked(stories: list[Example]) -> None:
    own = OwnQuestions(BatchCutter(built(stories), every_word(stories)), 1, shuffle_entities=False)
    assert own.question_lengths(np.array([0, 6])).tolist() == [len(stories[0].question), LONG_QUESTION]
    assert own.shape(np.array([0])).question == len(stories[0].question)
    assert own.shape(np.array([0, 7])).question == LONG_QUESTION
    assert own.lengths(np.array([3, 9])).tolist() == [sum(map(len, stories[3].sentences))] * 2


def test_what_is_asked_does_not_depend_on_padding(stories: list[Example]) -> None:
    own = OwnQuestions(BatchCutter(built(stories), every_word(stories)), 1, shuffle_entities=False)
    rows = np.arange(6, 12)
    shape = own.shape(rows)
    wider = Shape(
        **{field.name: getattr(shape, field.name) + 3 for field in fields(Shape) if field.name != "phrase"}, phrase=2
    )
    narrow, wide = (own.cut(torch.from_numpy(rows), size, shuffle=4) for size in (shape, wider))
    assert padded_alike(
        replace(narrow, candidates=narrow.candidates[:, :, :1]), replace(wide, candidates=wide.candidates[:, :, :1])
    )
