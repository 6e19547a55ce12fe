"""What a corpus is called, so that nothing rebuilt passes for official."""

import pytest

from epireader.data.known_sets import OFFICIAL_SIZES, official_name, set_name


def name_of(folder: str, *sources: str, kind: str | None = None, sizes: dict[str, int] | None = None) -> str:
    return set_name(folder, sources, kind, sizes or {"train": 9, "valid": 2, "test": 2})


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (name_of("a", "cbt-r", kind="NE"), "CBT-R NE"),
        (name_of("a", "cbtest_CN_train.txt.xz", "cbtest_CN_valid_2000ex.txt"), "CBT-R CN"),
        (name_of("a", "cnn-r.tar.xz"), "CNN-R"),
        (name_of("a", "cnn"), "CNN-R"),
        (name_of("cnn", "questions"), "CNN-R"),
        (name_of("Mine", "dailymail.tgz"), "mine"),
        (name_of("both", "cbtest_NE_train.txt", "cbtest_CN_train.txt"), "both"),
        (name_of("mixed", "cbtest_NE_train.txt", "own.test.jsonl"), "mixed"),
        (name_of("verbs", "cbt-r", kind="V"), "verbs"),
        (name_of("CBT NE", "own.jsonl"), "cbt ne"),
        (name_of("cnnish", "own.jsonl"), "cnnish"),
        (name_of("empty"), "empty"),
    ],
)
def test_a_corpus_is_called_after_what_it_was_made_from(found: str, name: str) -> None:
    assert found == name


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_only_a_corpus_of_the_official_size_has_the_official_name(split: str) -> None:
    for kind in ("NE", "CN"):
        sizes = OFFICIAL_SIZES[f"CBT {kind}"]
        assert name_of("a", "CBTest.tgz", kind=kind, sizes=sizes) == f"CBT {kind}"
        one_less = {**sizes, split: sizes[split] - 1}
        assert name_of("a", "CBTest.tgz", kind=kind, sizes=one_less) == f"CBT-R {kind}"
    sizes = OFFICIAL_SIZES["CNN"]
    assert name_of("a", "cnn.tgz", sizes=sizes) == "CNN"
    assert name_of("a", "cnn.tgz", sizes={**sizes, split: 1}) == "CNN-R"


def test_a_rebuilt_set_knows_what_it_was_rebuilt_after() -> None:
    assert [official_name(name) for name in ("CBT-R NE", "CBT CN", "CNN-R", "CNN")] == [
        "CBT NE",
        "CBT CN",
        "CNN",
        "CNN",
    ]
    assert official_name("mine") is None
