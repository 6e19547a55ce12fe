"""What a reader is given: strangers by order of appearance, words and sentences in their places, entities shuffled."""

import numpy as np
import pytest
import torch
from builders import batch_of, example
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cases import batch_of_cases, encode
from reference.small import KNOWN, hard_example

from epireader.data.batches import Batch, BatchCutter
from epireader.data.questions import QuestionsBuilder
from epireader.data.vocabulary import Vocabulary

ENTITIES = tuple(f"@entity{n}" for n in range(6))
WORDS = ("@entity", "saw", "x@entity1")


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 4), strangers=st.integers(1, 5))
def test_a_batch_is_the_examples_side_by_side_with_strangers_by_order_of_appearance(
    seed: int, count: int, strangers: int
) -> None:
    random = np.random.default_rng(seed)
    examples = [hard_example(random, words=16) for _ in range(count)]
    fast = batch_of(examples, Vocabulary(KNOWN, strangers=strangers))
    slow = batch_of_cases([encode(one, KNOWN, strangers) for one in examples])
    for name in Batch.__dataclass_fields__:
        if name == "answer":
            assert fast.answer.clamp(min=-1).tolist() == slow.answer.tolist()
        else:
            assert getattr(fast, name).tolist() == getattr(slow, name).tolist(), name


def test_strangers_worked_by_hand() -> None:
    one = example(["fox saw crow", "saw hen"], "owl XXXXX crow", ["hen", "elk", "crow fox"], "hen")
    batch = batch_of([one], Vocabulary(("saw",), strangers=4))
    # fox 2, crow 3, hen 4, owl 5, and then elk begins again at 2; saw is the first known word, 6.
    assert batch.passage.tolist() == [[2, 6, 3, 6, 4]]
    assert batch.question.tolist() == [[5, 1, 3]]
    assert batch.candidates.tolist() == [[[4, 0], [2, 0], [3, 2]]]


def test_a_stranger_is_numbered_in_its_own_question_whatever_stands_beside_it() -> None:
    fox, crow = example(["fox saw crow"], "XXXXX saw", ["fox", "crow"]), example(["crow saw fox"], "XXXXX", ["fox"])
    words = Vocabulary(("saw",), strangers=4)
    together = batch_of([fox, crow], words)
    assert together.passage.tolist() == [[2, 6, 3], [2, 6, 3]]
    assert torch.equal(together.passage[1:], batch_of([crow], words).passage)


def test_without_candidates_every_distinct_word_of_the_passage_is_one() -> None:
    one = example(["w1 w2", "w2 w3"], "w1 XXXXX")
    assert batch_of([one], Vocabulary(KNOWN, strangers=1)).candidates.tolist() == [[[4], [5], [6]]]


def entity_cutter() -> tuple[BatchCutter, torch.Tensor, object]:
    builder = QuestionsBuilder()
    for _ in range(8):
        builder.add(
            example(
                ["@entity1 saw @entity2 stranger @entity", "x@entity1 saw @entity3"],
                "@entity2 saw XXXXX",
                ["@entity1", "@entity3", "saw @entity2"],
                "@entity3",
            )
        )
    questions = builder.build()
    rows = np.arange(8)
    cutter = BatchCutter(questions, Vocabulary((*ENTITIES, *WORDS), strangers=2))
    return cutter, torch.from_numpy(rows), questions.sizes.of(rows)


def test_shuffling_renames_entities_one_to_one_and_leaves_all_else() -> None:
    cutter, rows, shape = entity_cutter()
    plain, shuffled = cutter.cut(rows, shape), cutter.cut(rows, shape, shuffle=5)
    entities = set(range(4, 4 + len(ENTITIES)))
    for row in range(8):
        renamed: dict[int, int] = {}
        for name in ("passage", "question", "candidates"):
            before, after = (
                getattr(plain, name)[row].flatten().tolist(),
                getattr(shuffled, name)[row].flatten().tolist(),
            )
            for old, new in zip(before, after, strict=True):
                assert renamed.setdefault(old, new) == new, "the same word is renamed alike everywhere"
                assert new in entities if old in entities else new == old
        assert len(set(renamed.values())) == len(renamed), "no two words become one"
    for name in ("answer", "sentence_of", "sentence_length", "row"):
        assert torch.equal(getattr(plain, name), getattr(shuffled, name))


def test_each_question_and_each_number_has_a_shuffle_of_its_own_that_can_be_had_again() -> None:
    cutter, rows, shape = entity_cutter()
    first, again, other = (cutter.cut(rows, shape, shuffle=n).passage for n in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len({tuple(row) for row in first.tolist()}) > 4, "the same story eight times, renamed differently"
    assert torch.equal(cutter.cut(rows[3:5], shape, shuffle=1).passage, first[3:5]), "whatever stands beside it"


def renamed(passage: str, question: str, *candidates: str, known: tuple[str, ...] = ENTITIES) -> Batch:
    words = Vocabulary((*known, *WORDS), strangers=2, rename_entities=True)
    return batch_of([example([passage], question, candidates)], words)


def test_entities_are_renamed_by_order_of_appearance_worked_by_hand() -> None:
    batch = renamed("@entity5 saw @entity2 @entity5 @entity", "@entity4 XXXXX", "@entity2", "@entity0", "saw @entity5")
    # @entity0 is 4, @entity1 is 5 and so on; then @entity is 10, saw 11.
    assert batch.passage.tolist() == [[4, 11, 5, 4, 10]]
    assert batch.question.tolist() == [[6, 1]]
    assert batch.candidates.tolist() == [[[5, 0], [7, 0], [11, 4]]]


def test_renamed_entities_have_forgotten_their_names() -> None:
    one = renamed("@entity5 saw @entity2 stranger", "XXXXX @entity1", "@entity2", "@entity1")
    other = renamed("@entity3 saw @entity4 stranger", "XXXXX @entity0", "@entity4", "@entity0")
    for name in ("passage", "question", "candidates"):
        assert torch.equal(getattr(one, name), getattr(other, name))


def test_entities_beyond_the_last_name_begin_again_and_a_reader_without_any_renames_nothing() -> None:
    assert renamed("@entity1 @entity0 saw", "XXXXX", known=ENTITIES[:2]).passage.tolist() == [[4, 5, 7]]
    assert renamed("@entity1 @entity0 saw", "XXXXX", known=()).passage.tolist() == [[2, 3, 5]], "they are strangers"


@pytest.mark.parametrize("shuffle", [None, 3])
def test_words_that_only_look_like_entities_keep_their_names(shuffle: int | None) -> None:
    cutter, rows, shape = entity_cutter()
    passage = cutter.cut(rows, shape, shuffle=shuffle).passage
    first_word = 4 + len(ENTITIES)
    assert (passage[:, 1] == first_word + 1).all()
    assert (passage[:, 3] == 2).all(), "the stranger"
    assert (passage[:, 4] == first_word).all()
    assert (passage[:, 5] == first_word + 2).all()
