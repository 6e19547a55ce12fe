"""What will be trained, before anything is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import household_book, shelf_of, toy_corpus

from epireader.data.corpus import Corpus, open_corpus
from epireader.data.known_sets import OFFICIAL_SIZES
from epireader.evaluation.published import compared_on
from epireader.readers import READERS
from epireader.readers.floors import FLOORS
from epireader.settings import BadSetting
from epireader.training.comparison import Comparison, Task, grouped, plan
from epireader.training.config import load_config


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    """Corpora that look like the paper's, and one that does not."""
    made = {}
    for name, kind in {"ne": "NE", "cn": "CN", "cnn": None, "own": None}.items():
        folder = tmp_path_factory.mktemp("corpora") / name
        corpus = toy_corpus(folder, train=8, valid=4)
        (folder / "test.safetensors").write_bytes((folder / "valid.safetensors").read_bytes())
        statistics = {**corpus.record.statistics, "test": corpus.record.statistics["valid"]}
        made[name] = Corpus(
            folder, replace(corpus.record, options={"kind": kind}, statistics=statistics), corpus.lexicon
        )
    return made


def names(tasks: list[Task]) -> list[str]:
    return [task.name for task in tasks]


def test_by_default_a_set_has_the_floors_and_the_readers_of_its_half_of_the_table(corpora: dict[str, Corpus]) -> None:
    hill = ["language-model", "memory", "as-reader"]
    assert names(plan([corpora["ne"]], Comparison())) == [*FLOORS, *hill, "cbt-ne"]
    assert names(plan([corpora["cn"]], Comparison())) == [*FLOORS, *hill, "cbt-cn"]
    expected = [*FLOORS, "deep-lstm", "attentive", "impatient", "memory", "as-reader", "stanford", "cnn"]
    assert names(plan([corpora["cnn"]], Comparison())) == expected
    assert {reader for name in OFFICIAL_SIZES for reader in compared_on(name)} == set(READERS)


def test_all_readers_can_be_asked_for_and_one_is_not_trained_twice(corpora: dict[str, Corpus]) -> None:
    tasks = plan([corpora["ne"]], Comparison(readers=("all", "as-reader", "as-reader")))
    assert [task.reader for task in tasks] == [*FLOORS, *READERS]


def test_the_first_seed_of_all_comes_before_the_second_of_any_and_floors_have_none(corpora: dict[str, Corpus]) -> None:
    asked = Comparison(readers=("random", "as-reader"), seeds=(3, 1, 3))
    tasks = plan([corpora["ne"], corpora["cnn"]], asked)
    assert [(task.set, task.reader, task.seed) for task in tasks] == [
        ("CBT-R NE", "random", None),
        ("CNN-R", "random", None),
        ("CBT-R NE", "as-reader", 3),
        ("CNN-R", "as-reader", 3),
        ("CBT-R NE", "as-reader", 1),
        ("CNN-R", "as-reader", 1),
    ]


def test_ensembles_come_last_one_for_each_reader_and_set(corpora: dict[str, Corpus]) -> None:
    asked = Comparison(readers=("random", "as-reader", "epireader", "cbt-ne"), seeds=(3, 1, 3), ensemble=True)
    tasks = plan([corpora["ne"], corpora["ne"]], asked)
    *_, reader, epireader = tasks
    assert [task.title for task in (reader, epireader)] == [
        "CBT-R NE, as-reader, ensemble of 2", "CBT-R NE, cbt-ne, ensemble of 2",
    ]  # fmt: skip
    assert (reader.seed, reader.member_seeds) == (None, [1, 3])
    assert [member in tasks and not member.members for member in reader.members] == [True, True]
    assert grouped(tasks)[-2:] == [[reader], [epireader]], "apart from the seeds that are trained at once"
    with pytest.raises(BadSetting, match="an ensemble is of two seeds or more"):
        plan([corpora["ne"]], Comparison(seeds=(5, 5), ensemble=True))


def test_every_reader_has_its_own_preset_with_the_changes_asked_for(corpora: dict[str, Corpus]) -> None:
    asked = Comparison(readers=("epireader", "as-reader", "small"), overrides=("training.l2=0.5",), minutes=3.0)
    tasks = plan([corpora["cn"]], asked)
    assert [(task.reader, task.preset) for task in tasks] == [
        ("epireader", "cbt-cn"), ("as-reader", "as-reader"), ("epireader", "small"),
    ]  # fmt: skip
    for task in tasks:
        expected = load_config(task.name, ["training.l2=0.5", "training.max_minutes=3", "training.seed=0"])
        assert task.config == expected
    assert [task.folder for task in tasks] == [Path("CBT-R_CN", name, "l2=0.5,seed=0") for name in names(tasks)]


def test_vectors_go_to_the_readers_that_began_with_them(corpora: dict[str, Corpus], tmp_path: Path) -> None:
    tasks = plan([corpora["cnn"]], Comparison(embeddings=tmp_path / "glove.txt"))
    assert [task.name for task in tasks if task.embeddings] == ["stanford"]
    (stanford,) = (task for task in tasks if task.embeddings)
    assert stanford.folder.name == "embeddings=glove.txt,seed=0"


def test_vectors_go_to_presets_that_are_not_of_a_readers_authors_too(
    corpora: dict[str, Corpus], tmp_path: Path
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('reader = "as-reader"\n')
    asked = ("epireader", "as-reader", "memory", "small", "news", str(mine))
    tasks = plan([corpora["cnn"]], Comparison(readers=asked, embeddings=tmp_path / "glove.txt"))
    assert [task.name for task in tasks if task.embeddings] == ["small", "news", str(mine)]


def test_with_books_a_corpus_needs_no_training_questions(corpora: dict[str, Corpus]) -> None:
    corpus = corpora["ne"]
    asked = {split: figures for split, figures in corpus.record.statistics.items() if split != "train"}
    only_asked = Corpus(corpus.folder, replace(corpus.record, statistics=asked), corpus.lexicon)
    with pytest.raises(ValueError, match="has no train questions"):
        plan([only_asked], Comparison(readers=("as-reader",)))
    shelf = shelf_of([household_book(np.random.default_rng(0), "Home")], folder=Path("corpora/homes"))
    (task,) = plan([only_asked], Comparison(readers=("as-reader",), shelf=shelf))
    assert task.folder.name == "books=homes,seed=0"
    with pytest.raises(BadSetting, match="settings of books are given, but no books"):
        plan([corpus], Comparison(readers=("books",)))


def test_a_set_that_is_not_the_papers_needs_the_preset_of_the_epireader(corpora: dict[str, Corpus]) -> None:
    with pytest.raises(BadSetting, match="own is none of the paper's sets"):
        plan([corpora["own"]], Comparison())
    others = tuple(name for name in READERS if name != "epireader")
    assert names(plan([corpora["own"]], Comparison(readers=(*others, "cnn")))) == [*others, "cnn"]


def test_a_corpus_without_test_questions_is_refused(tmp_path: Path) -> None:
    corpus = open_corpus(toy_corpus(tmp_path / "cnn", train=8, valid=4).folder)
    with pytest.raises(ValueError, match="has no test questions"):
        plan([corpus], Comparison())


def test_settings_in_another_order_are_the_same_run_in_the_same_folder(corpora: dict[str, Corpus]) -> None:
    settings = ("training.l2=0.5", "model.hidden_dim=7")
    one, other = (
        plan([corpora["ne"]], Comparison(readers=("as-reader",), overrides=s))[0] for s in (settings, settings[::-1])
    )
    assert one.key == other.key
    assert one.folder == other.folder
