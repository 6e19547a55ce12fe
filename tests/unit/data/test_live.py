"""Questions as they are asked become the batches that would be cut from a corpus of them."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from builders import random_example
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.batches import Batch, BatchCutter
from epireader.data.example import Example
from epireader.data.live import LiveCutter, PassageIds, sizes_of
from epireader.data.questions import QuestionsBuilder
from epireader.data.vocabulary import Vocabulary

VOCABULARIES = {
    "few strangers": Vocabulary(("w1", "w2", "w5"), strangers=2),
    "lower case": Vocabulary(("w1", "w2", "w4"), strangers=3, lowercase=True),
    "entities": Vocabulary(("@entity0", "w1", "@entity2", "@entity3"), strangers=3),
    "entities renamed": Vocabulary(("@entity0", "w1", "@entity2", "@entity3"), strangers=3, rename_entities=True),
}


def respelt(random: np.random.Generator, one: Example) -> Example:
    """The example with capitals, with entities, and with candidates that do not stand in the passage."""
    spelling = {f"w{n}": str(random.choice([f"w{n}", f"W{n}", f"@entity{n % 5}"])) for n in range(12)}

    def spelt(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(spelling.get(word, word) for word in words)

    return replace(
        one,
        sentences=tuple(map(spelt, one.sentences)),
        question=spelt(one.question),
        candidates=()
        if random.random() < 0.2
        else tuple({spelt(phrase): None for phrase in (*one.candidates, ("new",))}),
        answer=None,
    )


def examples(seed: int, count: int) -> list[Example]:
    """Two questions about each passage."""
    random = np.random.default_rng(seed)
    ones = [respelt(random, random_example(random, phrase=3)) for _ in range(count)]
    return [*ones, *(replace(one, question=other.question) for one, other in zip(ones, ones[::-1], strict=True))]


def assert_same(batch: Batch, other: Batch) -> None:
    for field in fields(Batch):
        torch.testing.assert_close(getattr(batch, field.name), getattr(other, field.name), msg=field.name)


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 4))
def test_batches_are_those_of_a_corpus(vocabulary: Vocabulary, seed: int, count: int) -> None:
    asked, builder = examples(seed, count), QuestionsBuilder()
    for one in asked:
        builder.add(one)
    cutter = BatchCutter(builder.build(), vocabulary)
    passages = [PassageIds(one.sentences, vocabulary) for one in asked[:count]] * 2
    live = LiveCutter(asked, passages, sizes_of(asked), torch.device("cpu"))
    for field in fields(cutter.sizes):
        assert getattr(live.sizes, field.name).tolist() == getattr(cutter.sizes, field.name).tolist()
    for rows in (np.random.default_rng(seed).permutation(2 * count), np.array([count])):
        shape = live.sizes.of(rows)
        assert_same(live.cut(torch.from_numpy(rows), shape), cutter.cut(torch.from_numpy(rows), shape))


@pytest.mark.parametrize("count", [1, 2])
def test_a_batch_lies_where_it_is_asked_for_whoever_read_the_passages(count: int) -> None:
    asked, vocabulary = examples(0, count), VOCABULARIES["few strangers"]
    passages = [PassageIds(one.sentences, vocabulary) for one in asked]
    live = LiveCutter(asked, passages, sizes_of(asked), torch.device("meta"))
    rows = np.arange(count)
    batch = live.cut(torch.from_numpy(rows), live.sizes.of(rows))
    assert {getattr(batch, field.name).device.type for field in fields(Batch)} == {"meta"}
