"""The training questions, in the order of an epoch."""

from dataclasses import fields
from pathlib import Path

import builders
import numpy as np
import pytest
import torch
from builders import example, toy_corpus

from epireader.data.corpus import BadCorpus, Corpus
from epireader.data.vocabulary import BLANK_ID, FIRST_STRANGER_ID, PAD_ID
from epireader.settings import BadSetting
from epireader.training.batches import TrainingBatches
from epireader.training.beginning import choose_vocabulary
from epireader.training.config import TrainingConfig, VocabularyConfig
from epireader.training.processes import Processes


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return toy_corpus(tmp_path_factory.mktemp("toy") / "corpus", train=30, valid=4)


def batches(corpus: Corpus, rank: int = 0, world: int = 1, **settings: object) -> TrainingBatches:
    words = choose_vocabulary(corpus, VocabularyConfig())
    chosen = TrainingConfig(**{"batch_size": 8, **settings})
    return TrainingBatches(corpus, words, chosen, Processes(rank, world, torch.device("cpu")))


def test_an_epoch_has_every_question_once(corpus: Corpus) -> None:
    plan = batches(corpus).plan(0)
    assert sorted(len(rows) for rows in plan) == [6, 8, 8, 8]
    assert sorted(np.concatenate(plan).tolist()) == list(range(30))


def test_the_order_depends_on_the_seed_and_the_epoch_alone(corpus: Corpus) -> None:
    def order(epoch: int, **settings: object) -> list[list[int]]:
        return [rows.tolist() for rows in batches(corpus, **settings).plan(epoch)]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(1) != order(1, seed=1)
    assert order(1) != order(1, read_ahead=1)


def test_processes_share_out_the_batches_of_one_without_a_question_twice(corpus: Corpus) -> None:
    whole = batches(corpus).plan(3)
    shares = [batches(corpus, rank=rank, world=2).plan(3) for rank in range(2)]
    for rows, first, second in zip(whole, *shares, strict=True):
        assert len(first) == len(second)
        assert sorted([*first, *second]) == sorted(rows)
    assert (batches(corpus).size, batches(corpus, world=2).size) == (8, 4)


def test_a_batch_size_that_does_not_divide_is_refused(corpus: Corpus) -> None:
    with pytest.raises(BadSetting, match="must be a multiple of the 3 processes, got 8"):
        batches(corpus, world=3)


def test_a_corpus_without_a_single_answer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builders, "who_has_what", lambda _: example(["a b"], "XXXXX c", ["a"], "z"))
    with pytest.raises(BadCorpus, match=r"no training question of .*corpus has its answer among its candidates"):
        batches(toy_corpus(tmp_path / "corpus", train=2, valid=1))


def test_entities_trade_names_every_epoch_and_only_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"@entity{n}" for n in range(9)]
    monkeypatch.setattr(builders, "who_has_what", lambda _: example([" ".join(names)], "XXXXX", names, names[0]))
    corpus = toy_corpus(tmp_path / "corpus", train=4, valid=1)
    rows = np.arange(4)

    def passages(epoch: int, **settings: object) -> torch.Tensor:
        cut = batches(corpus, **settings)
        return cut.cut(torch.from_numpy(rows), cut.shape(rows), cut.shuffle(epoch)).passage

    plain = passages(0)
    assert torch.equal(passages(1), plain)
    first, second = passages(0, shuffle_entities=True), passages(1, shuffle_entities=True)
    assert torch.equal(first.sort().values, plain.sort().values)
    for one, other in ((first, plain), (first, second), (first, passages(0, shuffle_entities=True, seed=1))):
        assert not torch.equal(one, other)
    assert torch.equal(first, passages(0, shuffle_entities=True))
    assert len({tuple(row) for row in first.tolist()}) == 4, "questions trade names apart from one another"


def test_candidates_are_made_strangers_anew_every_epoch_and_only_where_that_is_asked_for(corpus: Corpus) -> None:
    rows = np.arange(30)

    def candidates(epoch: int, **settings: object) -> torch.Tensor:
        cut = batches(corpus, **settings)
        return cut.cut(torch.from_numpy(rows), cut.shape(rows), cut.shuffle(epoch)).candidates

    def strange(words: torch.Tensor) -> torch.Tensor:
        return (words >= FIRST_STRANGER_ID) & (words < FIRST_STRANGER_ID + VocabularyConfig().strangers)

    plain = candidates(0)
    assert not strange(plain).any()
    assert torch.equal(candidates(1, strangers=0.0), plain)
    assert bool((strange(candidates(0, strangers=1.0)) == (plain != PAD_ID)).all())
    first, second = candidates(0, strangers=0.5), candidates(1, strangers=0.5)
    assert torch.equal(first[~strange(first)], plain[~strange(first)]), "all others stay who they are"
    for other in (plain, second, candidates(0, strangers=0.5, seed=1)):
        assert not torch.equal(first, other)
    assert torch.equal(first, candidates(0, strangers=0.5))


def test_passages_ask_themselves_anew_every_epoch_and_only_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"@entity{n}" for n in range(9)]
    told = [" ".join(names), " ".join(reversed(names))]
    monkeypatch.setattr(builders, "who_has_what", lambda _: example(told, "who ? XXXXX", names, names[0]))
    corpus = toy_corpus(tmp_path / "corpus", train=30, valid=1)
    assert sorted(np.concatenate(batches(corpus, own_questions=2).plan(0)).tolist()) == list(range(90))

    def questions(epoch: int, rows: np.ndarray, **settings: object) -> torch.Tensor:
        cut = batches(corpus, **settings)
        return cut.cut(torch.from_numpy(rows), cut.shape(rows), cut.shuffle(epoch)).question

    given, own = np.arange(30), np.arange(30, 60)
    assert torch.equal(questions(1, given, own_questions=1), questions(0, given))
    first = questions(0, own, own_questions=1)
    assert torch.equal(first, questions(0, own, own_questions=1))
    for other in (questions(1, own, own_questions=1), questions(0, own, own_questions=1, seed=1)):
        assert not torch.equal(first, other)
    named = questions(0, own, own_questions=1, shuffle_entities=True)
    assert torch.equal((named == BLANK_ID).sum(dim=1), torch.ones(30, dtype=torch.int64))
    assert not torch.equal(first, named), "entities trade names where they shall, and only there"


def test_a_batch_is_as_wide_as_its_widest_question(corpus: Corpus) -> None:
    cut = batches(corpus)
    rows = cut.plan(0)[0]
    shape = cut.shape(rows)
    batch = cut.cut(torch.from_numpy(rows), shape, cut.shuffle(0))
    assert batch.passage.shape == (len(rows), shape.words)
    assert bool(batch.passage_mask[:, -1].any())
    assert batch.row.tolist() == rows.tolist()
    assert all(getattr(shape, field.name) >= 1 for field in fields(shape))
