"""What a corpus is called, so that nothing rebuilt passes for official."""

from pathlib import Path

import pytest

from epireader.data.corpus import Corpus, CorpusRecord, SourceRecord
from epireader.data.known_sets import OFFICIAL_SIZES, official_name, set_name
from epireader.data.statistics import StatisticsCounter


def corpus(folder: str, *sources: str, kind: str | None = None, sizes: dict[str, int] | None = None) -> Corpus:
    empty = vars(StatisticsCounter().result())
    figures = {
        split: type(StatisticsCounter().result())(**{**empty, "questions": count})
        for split, count in (sizes or {"train": 9, "valid": 2, "test": 2}).items()
    }
    record = CorpusRecord(
        made_by="tests",
        sources=tuple(SourceRecord(name, 1, "") for name in sources),
        options={"kind": kind},
        skipped=0,
        statistics=figures,
    )
    return Corpus(Path(folder), record, [])


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (corpus("a", "cbt-r", kind="NE"), "CBT-R NE"),
        (corpus("a", "cbtest_CN_train.txt.xz", "cbtest_CN_valid_2000ex.txt"), "CBT-R CN"),
        (corpus("a", "cnn-r.tar.xz"), "CNN-R"),
        (corpus("a", "cnn"), "CNN-R"),
        (corpus("cnn", "questions"), "CNN-R"),
        (corpus("Mine", "dailymail.tgz"), "mine"),
        (corpus("both", "cbtest_NE_train.txt", "cbtest_CN_train.txt"), "both"),
        (corpus("mixed", "cbtest_NE_train.txt", "own.test.jsonl"), "mixed"),
        (corpus("verbs", "cbt-r", kind="V"), "verbs"),
        (corpus("CBT NE", "own.jsonl"), "cbt ne"),
        (corpus("cnnish", "own.jsonl"), "cnnish"),
        (corpus("empty"), "empty"),
    ],
)
def test_a_corpus_is_called_after_what_it_was_made_from(found: Corpus, name: str) -> None:
    assert set_name(found) == name


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_only_a_corpus_of_the_official_size_has_the_official_name(split: str) -> None:
    for kind in ("NE", "CN"):
        sizes = OFFICIAL_SIZES[f"CBT {kind}"]
        assert set_name(corpus("a", "CBTest.tgz", kind=kind, sizes=sizes)) == f"CBT {kind}"
        one_less = {**sizes, split: sizes[split] - 1}
        assert set_name(corpus("a", "CBTest.tgz", kind=kind, sizes=one_less)) == f"CBT-R {kind}"
    sizes = OFFICIAL_SIZES["CNN"]
    assert set_name(corpus("a", "cnn.tgz", sizes=sizes)) == "CNN"
    assert set_name(corpus("a", "cnn.tgz", sizes={**sizes, split: 1})) == "CNN-R"


def test_a_rebuilt_set_knows_what_it_was_rebuilt_after() -> None:
    assert [official_name(name) for name in ("CBT-R NE", "CBT CN", "CNN-R", "CNN")] == [
        "CBT NE",
        "CBT CN",
        "CNN",
        "CNN",
    ]
    assert official_name("mine") is None
