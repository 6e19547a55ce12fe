"""A prepared corpus on disk."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import random_example
from safetensors.torch import save_file

from epireader.data.corpus import (
    BadCorpus,
    Corpus,
    CorpusRecord,
    SourceRecord,
    choose_split,
    is_corpus,
    open_corpus,
    write_corpus,
)
from epireader.data.example import Example
from epireader.data.questions import Lexicon, QuestionsBuilder
from epireader.data.statistics import StatisticsCounter

RANDOM = np.random.default_rng(0)
TRAIN = [random_example(RANDOM, phrase=2) for _ in range(8)]
ODD = ("na\u00efve", "line\u2028end", "cr\rhere", "\x85")
TEST = [Example(sentences=(ODD,), question=("XXXXX", "x"), candidates=(ODD[2:3], ODD[3:]), answer=ODD[3:]), *TRAIN[:1]]


def write(folder: Path, **splits: list) -> Corpus:
    lexicon, builders, statistics = Lexicon(), {}, {}
    for split, examples in splits.items():
        builders[split], counter = QuestionsBuilder(lexicon), StatisticsCounter()
        for one in examples:
            builders[split].add(one)
            counter.add(one)
        statistics[split] = counter.result()
    record = CorpusRecord(
        made_by="test", sources=(SourceRecord("s", 3, "ab"),), options={"kind": None}, skipped=2, statistics=statistics
    )
    folder.mkdir()
    write_corpus(folder, builders, record)
    return open_corpus(folder)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return write(tmp_path / "corpus", train=TRAIN, test=TEST)


def change_record(folder: Path, **changes: object) -> None:
    record = json.loads((folder / "corpus.json").read_text())
    (folder / "corpus.json").write_text(json.dumps(record | changes))


def one_sentence(error: pytest.ExceptionInfo[BadCorpus], *parts: str) -> None:
    text = str(error.value)
    assert "\n" not in text
    for part in parts:
        assert part in text


def test_what_is_written_is_what_is_opened(corpus: Corpus) -> None:
    train, test = corpus.questions("train"), corpus.questions("test")
    assert [train.example(n) for n in range(len(train))] == TRAIN
    assert [test.example(n) for n in range(len(test))] == TEST
    assert corpus.record.sources == (SourceRecord("s", 3, "ab"),)
    assert corpus.record.skipped == 2
    assert corpus.record.statistics["train"].questions == 8
    assert corpus.record.statistics["test"].question_words.max >= 2


def test_splits_come_in_their_usual_order(tmp_path: Path) -> None:
    assert write(tmp_path / "c", test=TEST, valid=TRAIN, train=TRAIN).splits == ("train", "valid", "test")


def test_the_arrays_of_a_split_are_mapped_and_not_read(tmp_path: Path) -> None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("this system does not list what is mapped")
    corpus = write(tmp_path / "a-corpus-to-map", train=TRAIN)
    assert "a-corpus-to-map" not in maps.read_text()
    questions = corpus.questions("train")
    assert "a-corpus-to-map/train.safetensors" in maps.read_text()
    del questions


def test_a_corpus_is_told_from_other_folders(corpus: Corpus, tmp_path: Path) -> None:
    assert is_corpus(corpus.folder)
    assert not is_corpus(tmp_path)
    assert not is_corpus(tmp_path / "nothing")


def test_a_folder_that_is_no_corpus_is_refused_with_the_way_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(BadCorpus) as error:
        open_corpus(tmp_path)
    one_sentence(error, str(tmp_path), "no corpus.json", "epireader prepare")


def test_a_foreign_corpus_json_is_refused(corpus: Corpus) -> None:
    change_record(corpus.folder, format="something-else")
    with pytest.raises(BadCorpus, match="is not a prepared corpus"):
        open_corpus(corpus.folder)


def test_a_corpus_of_another_version_is_refused_with_both_versions(corpus: Corpus) -> None:
    change_record(corpus.folder, version=7)
    with pytest.raises(BadCorpus) as error:
        open_corpus(corpus.folder)
    one_sentence(error, "format 7", "reads 1", "prepare it again")


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", "{}", '"text"', b"\xff\xfe".decode("latin-1"), '{"format": "epireader-corpus", "version": 1}'],
)
def test_a_damaged_corpus_json_is_named_in_one_sentence(corpus: Corpus, content: str) -> None:
    (corpus.folder / "corpus.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(BadCorpus) as error:
        open_corpus(corpus.folder)
    one_sentence(error, str(corpus.folder), "prepare the corpus again")


@pytest.mark.parametrize(
    "changes", [{"statistics": []}, {"sources": [{}]}, {"unheard_of": 1}, {"statistics": {"a": 1}}]
)
def test_a_corpus_json_with_wrong_parts_is_named_in_one_sentence(corpus: Corpus, changes: dict[str, object]) -> None:
    change_record(corpus.folder, **changes)
    with pytest.raises(BadCorpus) as error:
        open_corpus(corpus.folder)
    assert "is damaged" in str(error.value)


def test_a_missing_lexicon_is_named(corpus: Corpus) -> None:
    (corpus.folder / "lexicon.txt").unlink()
    with pytest.raises(BadCorpus, match=r"it has no lexicon\.txt"):
        open_corpus(corpus.folder)


def test_a_lexicon_that_ends_too_early_is_noticed(corpus: Corpus) -> None:
    lexicon = corpus.folder / "lexicon.txt"
    lexicon.write_bytes(lexicon.read_bytes()[:-1])
    with pytest.raises(BadCorpus) as error:
        open_corpus(corpus.folder).questions("test")
    one_sentence(error, "lexicon.txt", "damaged", "prepare the corpus again")


@pytest.mark.parametrize("kept", [0, 5, 200, -1])
def test_a_truncated_split_is_named_in_one_sentence(corpus: Corpus, kept: int) -> None:
    path = corpus.folder / "train.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(BadCorpus) as error:
        corpus.questions("train")
    one_sentence(error, str(path), "damaged", "prepare the corpus again")


def test_a_split_that_is_missing_or_holds_other_arrays_is_named(corpus: Corpus) -> None:
    (corpus.folder / "train.safetensors").unlink()
    save_file({"weights": torch.zeros(2)}, corpus.folder / "test.safetensors")
    for split in ("train", "test"):
        with pytest.raises(BadCorpus, match=rf"{split}\.safetensors is damaged"):
            corpus.questions(split)


def test_a_split_the_corpus_does_not_have_is_refused_with_those_it_has(corpus: Corpus) -> None:
    with pytest.raises(BadCorpus, match=re.escape("has no valid questions, only train, test")):
        corpus.questions("valid")


def test_questions_of_no_named_split_are_never_passed_off_as_training_questions(tmp_path: Path) -> None:
    corpus = write(tmp_path / "corpus", all=TRAIN)
    with pytest.raises(BadCorpus, match="has no train questions, only all"):
        corpus.questions("train")
    assert len(corpus.questions("all")) == 8


def test_a_corpus_can_be_moved(corpus: Corpus, tmp_path: Path) -> None:
    shutil.move(corpus.folder, tmp_path / "elsewhere")
    assert open_corpus(tmp_path / "elsewhere").questions("train").example(3) == TRAIN[3]


@pytest.mark.parametrize(
    ("available", "asked", "chosen"),
    [
        (("train", "valid", "test"), "valid", "valid"),
        (("train", "valid", "test"), None, "test"),
        (("valid",), None, "valid"),
        (("all",), None, "all"),
        (("all",), "valid", "all"),
        (("all", "test"), None, "test"),
    ],
)
def test_the_split_is_the_one_asked_for_or_the_only_one_or_the_test_questions(
    available: tuple[str, ...], asked: str | None, chosen: str
) -> None:
    assert choose_split(available, asked, Path("here")) == chosen


def test_a_split_that_cannot_be_chosen_is_refused_with_what_there_is() -> None:
    with pytest.raises(BadCorpus, match="here has no test questions, only train"):
        choose_split(("train",), "test", Path("here"))
    with pytest.raises(BadCorpus, match="here holds train, valid: choose one with --split"):
        choose_split(("valid", "train"), None, Path("here"))
    with pytest.raises(BadCorpus, match="here has no valid questions, only all, train"):
        choose_split(("all", "train"), "valid", Path("here"))
