"""From columns to padded batches, and the plan of an epoch."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from builders import example, random_example, vocabulary
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.batches import (
    LONG_QUESTION,
    Batch,
    BatchCutter,
    first_appearance_ranks,
    in_order_of_length,
    lay_end_to_end,
    mixed,
    plan_epoch,
)
from epireader.data.example import Example
from epireader.data.questions import QuestionsBuilder
from epireader.data.ragged import Ragged
from epireader.data.vocabulary import PAD_ID, Vocabulary

seeds = st.integers(0, 2**32 - 1)


def cutter_of(examples: Sequence[Example], words: Vocabulary) -> BatchCutter:
    builder = QuestionsBuilder()
    for one in examples:
        builder.add(one)
    return BatchCutter(builder.build(), words)


def cut(cutter: BatchCutter, rows: Sequence[int], shuffle: int | None = None) -> Batch:
    return cutter.cut(torch.tensor(rows), cutter.sizes.of(np.array(rows)), shuffle=shuffle)


def ranks_by_hand(values: list[list[int]], mask: list[list[bool]]) -> list[list[int]]:
    ranks = []
    for row, real in zip(values, mask, strict=True):
        seen: dict[int, int] = {}
        ranks.append([seen.setdefault(v, len(seen)) if m else 0 for v, m in zip(row, real, strict=True)])
    return ranks


@given(seed=seeds, rows=st.integers(1, 4), width=st.integers(1, 12), spread=st.integers(1, 6))
def test_first_appearance_ranks_agree_with_the_definition(seed: int, rows: int, width: int, spread: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(-spread, spread, (rows, width)).tolist()
    mask = (random.random((rows, width)) < 0.6).tolist()
    assert first_appearance_ranks(torch.tensor(values), torch.tensor(mask)).tolist() == ranks_by_hand(values, mask)


@given(seed=seeds, width=st.integers(1, 20))
def test_sentences_are_laid_end_to_end_as_the_definition_says(seed: int, width: int) -> None:
    random = np.random.default_rng(seed)
    stored = [random.integers(1, 99, random.integers(0, 5)).tolist() for _ in range(5)] + [[7]]
    lengths = torch.tensor([len(one) for one in stored])
    sequences = Ragged.from_lengths(torch.tensor([n for one in stored for n in one]), lengths)
    asked = torch.from_numpy(random.integers(0, 6, (3, 4)))
    counts = random.integers(0, 5, 3)
    mask = torch.arange(4) < torch.from_numpy(counts)[:, None]
    words, sentence_of, length = lay_end_to_end(sequences, asked, mask, width)
    for row, count in enumerate(counts.tolist()):
        chosen = [stored[n] for n in asked[row, :count].tolist()]
        flat = [(word, n) for n, sentence in enumerate(chosen) for word in sentence][:width]
        padding = width - len(flat)
        assert words[row].tolist() == [word for word, _ in flat] + [0] * padding
        assert sentence_of[row].tolist() == [n for _, n in flat] + [4] * padding
        assert length[row].tolist() == [len(one) for one in chosen] + [0] * (4 - count)


def test_a_batch_is_the_words_of_its_examples_side_by_side() -> None:
    first = example(["w0 w1", "w2"], "w1 XXXXX", ["w2", "w0 w1"], "w0 w1")
    second = example(["w3"], "XXXXX w0 w2", ["w3"], "w9")
    batch = cut(cutter_of([first, second], vocabulary(4, strangers=1)), [1, 0])
    assert batch.passage.tolist() == [[6, 0, 0], [3, 4, 5]]
    assert batch.sentence_of.tolist() == [[0, 2, 2], [0, 0, 1]]
    assert batch.sentence_length.tolist() == [[1, 0], [2, 1]]
    assert batch.sentence_mask.tolist() == [[True, False], [True, True]]
    assert batch.question.tolist() == [[1, 3, 5], [4, 1, 0]]
    assert batch.question_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.candidates.tolist() == [[[6, 0], [0, 0]], [[5, 0], [3, 4]]]
    assert batch.candidate_mask.tolist() == [[True, False], [True, True]]
    assert batch.answer.tolist() == [-1, 1]
    assert batch.answer_mask.tolist() == [False, True]
    assert batch.row.tolist() == [1, 0]
    assert batch.blank.tolist() == [0, 1]


@given(seed=seeds, extra=st.integers(1, 5))
def test_padding_more_changes_nothing_but_the_padding(seed: int, extra: int) -> None:
    random = np.random.default_rng(seed)
    cutter = cutter_of([random_example(random, phrase=2) for _ in range(4)], vocabulary(6, strangers=3))
    rows, shape = torch.arange(4), cutter.sizes.of(np.arange(4))
    larger = replace(shape, **{name: getattr(shape, name) + extra for name in vars(shape)})
    tight, loose = cutter.cut(rows, shape), cutter.cut(rows, larger)
    assert torch.equal(loose.passage[:, : shape.words], tight.passage)
    assert torch.equal(loose.question[:, : shape.question], tight.question)
    assert torch.equal(loose.candidates[:, : shape.candidates, : shape.phrase], tight.candidates)
    assert torch.equal(loose.sentence_length[:, : shape.sentences], tight.sentence_length)
    assert torch.equal(loose.sentence_of[:, : shape.words][tight.passage_mask], tight.sentence_of[tight.passage_mask])
    for name in ("passage_mask", "question_mask", "candidate_mask", "sentence_mask"):
        assert getattr(loose, name).sum() == getattr(tight, name).sum()
    assert (loose.sentence_of[~loose.passage_mask] == shape.sentences + extra).all()


@given(seed=seeds)
def test_a_question_is_cut_the_same_alone_and_among_others(seed: int) -> None:
    random = np.random.default_rng(seed)
    cutter = cutter_of([random_example(random) for _ in range(4)], vocabulary(6, strangers=3))
    together, alone = cut(cutter, [3, 1, 2]), cut(cutter, [1])
    assert torch.equal(together.passage[1][together.passage_mask[1]], alone.passage[0])
    assert torch.equal(together.question[1][together.question_mask[1]], alone.question[0])


ENTITIES = Vocabulary((*(f"@entity{n}" for n in range(30)), "said", "met"), strangers=2)


def news(count: int = 6) -> BatchCutter:
    passage = " ".join(f"@entity{n} said" for n in range(12))
    names = [f"@entity{n}" for n in range(12)]
    return cutter_of(
        [example([f"{passage} w{n}"], "XXXXX met @entity3", names, names[2]) for n in range(count)], ENTITIES
    )


def renaming(before: Batch, after: Batch, row: int) -> dict[int, int]:
    """What every id of a question has become; it must be the same wherever the id stands."""
    renamed: dict[int, int] = {}
    for name in ("passage", "question", "candidates"):
        old, new = getattr(before, name)[row].flatten().tolist(), getattr(after, name)[row].flatten().tolist()
        for a, b in zip(old, new, strict=True):
            assert renamed.setdefault(a, b) == b, "an entity has two new names in one question"
    return renamed


def test_shuffled_entities_trade_names_within_a_question_and_none_is_lost() -> None:
    cutter = news()
    plain, shuffled = cut(cutter, range(6)), cut(cutter, range(6), shuffle=5)
    entities = set(ENTITIES.entity_ids.tolist())
    for row in range(6):
        renamed = renaming(plain, shuffled, row)
        assert len(set(renamed.values())) == len(renamed)
        assert any(renamed[n] != n for n in renamed)
        for old, new in renamed.items():
            assert (new in entities) if old in entities else new == old
    assert torch.equal(shuffled.answer, plain.answer)


def test_entities_are_shuffled_differently_by_question_and_by_number() -> None:
    cutter = news()
    plain, one, two = cut(cutter, range(6)), cut(cutter, range(6), shuffle=0), cut(cutter, range(6), shuffle=1)
    renamings = [tuple(sorted(renaming(plain, batch, row).items())) for batch in (one, two) for row in range(6)]
    assert len(set(renamings)) == 12


def test_a_shuffle_depends_on_question_and_number_and_not_on_the_batch() -> None:
    cutter = news()
    whole, part = cut(cutter, range(6), shuffle=9), cut(cutter, [4, 1], shuffle=9)
    assert torch.equal(part.passage, whole.passage[[4, 1]])
    assert torch.equal(part.candidates, whole.candidates[[4, 1]])


def test_a_shuffle_is_the_same_whether_its_number_lies_on_the_device_or_not() -> None:
    cutter = news()
    rows, shape = torch.arange(6), cutter.sizes.of(np.arange(6))
    on_device = cutter.cut(rows, shape, shuffle=torch.tensor(9))
    assert torch.equal(on_device.passage, cut(cutter, range(6), shuffle=9).passage)


def test_entities_keep_their_names_where_no_shuffle_is_asked_for() -> None:
    cutter = news()
    assert torch.equal(cut(cutter, range(6)).passage, cut(cutter, range(6)).passage)
    assert cut(cutter, [0]).question.tolist() == [[1, ENTITIES.first_word_id + 31, ENTITIES.first_word_id + 3]]


def test_a_shuffle_reaches_every_entity_about_equally_often() -> None:
    cutter = news(1)
    first = [int(cut(cutter, [0], shuffle=n).passage[0, 0]) for n in range(600)]
    counts = np.bincount(first, minlength=len(ENTITIES))[ENTITIES.entity_ids.numpy()]
    assert counts.sum() == 600
    assert counts.min() > 5
    assert counts.max() < 40


def test_a_shuffle_changes_nothing_where_there_are_no_entities() -> None:
    cutter = cutter_of([example(["w0 w1"], "XXXXX", ["w1"])], vocabulary(2))
    assert cut(cutter, [0], shuffle=3) is not None
    assert torch.equal(cut(cutter, [0], shuffle=3).passage, cut(cutter, [0]).passage)


def test_mixed_bits_are_different_for_every_value_and_as_often_one_as_zero() -> None:
    bits = torch.cat([mixed(torch.arange(4000) + start) for start in (-2000, 10**12)])
    assert len(bits.unique()) == 8000
    ones = torch.stack([(bits >> n) & 1 for n in range(64)]).float().mean(dim=1)
    assert ((ones > 0.45) & (ones < 0.55)).all()


LENGTHS = np.random.default_rng(0).integers(100, 1000, 997)


@given(count=st.integers(1, 200), size=st.integers(1, 40), seed=st.integers(0, 99), read_ahead=st.integers(1, 12))
def test_every_question_comes_exactly_once_in_an_epoch(count: int, size: int, seed: int, read_ahead: int) -> None:
    plan = plan_epoch(LENGTHS[:count], size, seed=seed, epoch=3, read_ahead=read_ahead)
    assert sorted(np.concatenate(plan).tolist()) == list(range(count))
    assert len(plan) == -(-count // size)
    assert sum(len(rows) < size for rows in plan) <= 1


def flat(**options: int) -> list[int]:
    return np.concatenate(plan_epoch(LENGTHS, 32, **({"seed": 1, "epoch": 0} | options))).tolist()


def test_a_plan_is_made_anew_from_its_seed_and_epoch_alone() -> None:
    before = flat()
    assert flat() == before
    assert flat(epoch=1) != before
    assert flat(seed=2) != before
    assert flat(seed=0, epoch=1) != flat(seed=1, epoch=0)


def test_a_run_that_was_stopped_goes_on_with_the_very_batches_it_had_left() -> None:
    whole = plan_epoch(LENGTHS, 32, seed=4, epoch=2)
    for stopped in (0, 7, len(whole) - 1):
        left = plan_epoch(LENGTHS, 32, seed=4, epoch=2)[stopped:]
        assert [rows.tolist() for rows in left] == [rows.tolist() for rows in whole[stopped:]]


def padding(plan: list[np.ndarray]) -> float:
    """The share of a plan's words that only pad."""
    return 1 - LENGTHS.sum() / sum(LENGTHS[rows].max() * len(rows) for rows in plan)


def test_batches_are_grouped_by_length_so_that_little_is_padding() -> None:
    order = np.random.default_rng(0).permutation(len(LENGTHS))
    at_random = padding([order[n : n + 32] for n in range(0, len(order), 32)])
    assert padding(plan_epoch(LENGTHS, 32, seed=0, epoch=0)) < at_random / 3


def test_long_questions_are_grouped_apart_from_the_rest() -> None:
    asked = np.where(np.random.default_rng(1).random(len(LENGTHS)) < 0.04, LONG_QUESTION + 1, LONG_QUESTION)
    plan = plan_epoch(LENGTHS, 32, seed=0, epoch=0, question_lengths=asked)
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(LENGTHS)))
    assert sum((asked[rows] > LONG_QUESTION).any() for rows in plan) <= len(plan) / 8
    short = [rows for rows in plan if (asked[rows] <= LONG_QUESTION).all()]
    assert np.mean([np.ptp(LENGTHS[rows]) for rows in short]) < 150  # they are still grouped by their passages


def test_batches_do_not_come_in_order_of_length() -> None:
    means = [LENGTHS[rows].mean() for rows in plan_epoch(LENGTHS, 32, seed=0, epoch=0, read_ahead=99)]
    assert abs(np.corrcoef(np.arange(len(means)), means)[0, 1]) < 0.5


def test_batches_of_other_seeds_are_about_as_long_at_every_step() -> None:
    plans = [plan_epoch(LENGTHS, 32, seed=seed, epoch=0) for seed in range(7)]
    apart = [np.ptp([LENGTHS[rows].max() for rows in step]) for step in list(zip(*plans, strict=True))]
    assert np.median(apart) < 100  # lengths lie between 100 and 1000
    assert len({plan[0].tobytes() for plan in plans}) == 7


@pytest.mark.parametrize("world", [2, 3, 4])
def test_shares_of_several_processes_are_even_disjoint_and_together_the_joined_batch(world: int) -> None:
    plan = plan_epoch(LENGTHS, 12 * world, seed=0, epoch=0, world=world)
    for rows in plan:
        shares = [rows[rank::world] for rank in range(world)]
        assert len({len(share) for share in shares}) == 1
        assert sorted(np.concatenate(shares).tolist()) == sorted(rows.tolist())
    seen = np.concatenate(plan)
    assert len(set(seen.tolist())) == len(seen) == len(LENGTHS) - len(LENGTHS) % world


def test_questions_left_over_by_several_processes_are_others_in_another_epoch() -> None:
    left = [set(range(997)) - set(np.concatenate(plan_epoch(LENGTHS, 32, seed=0, epoch=n, world=4))) for n in range(8)]
    assert all(len(one) == 1 for one in left)
    assert len(set.union(*left)) > 1


@given(count=st.integers(1, 60), size=st.integers(1, 20))
def test_evaluation_reads_every_question_once_and_the_longest_first(count: int, size: int) -> None:
    batches = list(in_order_of_length(LENGTHS[:count], size))
    order = np.concatenate(batches)
    assert sorted(order.tolist()) == list(range(count))
    assert (np.diff(LENGTHS[order]) <= 0).all()


def test_padding_has_an_id_no_word_has() -> None:
    assert PAD_ID not in vocabulary(3).ids_of(["w0", "w1", "w2", "strange", "XXXXX"]).tolist()
