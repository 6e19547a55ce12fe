"""Lines of results: added whole or not at all, and read back."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import result

from epireader.evaluation.compare import MeansComparison, compare_means
from epireader.evaluation.results import SHIPPED, BadResults, Result, append_result, read_results


def test_what_is_added_is_read_back_in_order(tmp_path: Path) -> None:
    lines = [result(seed=seed) for seed in (1, 0, 2)]
    for line in lines:
        append_result(tmp_path / "new" / "results.jsonl", line)
    assert read_results(tmp_path / "new" / "results.jsonl") == lines
    assert read_results(tmp_path / "new") == lines, "the folder will do"
    assert (lines[0].accuracy("valid"), lines[0].accuracy("test", "extractor")) == (0.75, 0.5)


def test_of_two_lines_of_one_run_the_later_counts(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    for line in (result(finished=False, max_minutes=1.0), result(seed=1), result(epochs=7)):
        append_result(path, line)
    assert [(line.seed, line.epochs, line.finished) for line in read_results(path)] == [(0, 7, True), (1, 4, True)]


@pytest.mark.parametrize(
    "other",
    [
        {"set": "CBT NE"}, {"corpus": "beef"}, {"reader": "memory"}, {"preset": "x"}, {"seed": 1},
        {"overrides": ["training.l2=1"]}, {"embeddings": "glove.txt"}, {"books": "more"}, {"members": [0, 1]},
    ],
)  # fmt: skip
def test_runs_that_differ_in_anything_but_time_are_different(other: dict[str, Any]) -> None:
    assert result(**other).key != result().key
    assert result(max_minutes=3.0, finished=False, device="GPU").key == result().key


def test_ensembles_are_told_apart_by_their_seeds_in_any_order() -> None:
    assert result(members=[0, 1]).key == result(members=[1, 0]).key
    assert len({result(members=members).key for members in ([0, 1], [0, 2], [0, 1, 2])}) == 3


def test_a_line_from_before_there_were_ensembles_is_of_a_single_reader(tmp_path: Path) -> None:
    values = asdict(result())
    del values["members"]
    (tmp_path / "results.jsonl").write_text(json.dumps(values) + "\n")
    assert read_results(tmp_path) == [result()]


def test_the_order_of_settings_does_not_matter() -> None:
    one, other = ["training.l2=1", "model.filters=3"], ["model.filters=3", "training.l2=1"]
    assert result(overrides=one).key == result(overrides=other).key


@pytest.mark.parametrize("kept", [1, 30, -1])
def test_half_a_line_that_a_crash_left_is_not_read_and_makes_way_for_the_next(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "results.jsonl"
    append_result(path, result())
    half = json.dumps(asdict(result(seed=1))).encode()[:kept]
    path.write_bytes(path.read_bytes() + half)
    assert read_results(path) == [result()]
    append_result(path, result(seed=2))
    assert read_results(path) == [result(), result(seed=2)]
    assert half not in path.read_bytes().splitlines()


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "{}", '{"set": "x"}', json.dumps({**asdict(result()), "more": 1}), json.dumps({**asdict(result()), "test": {}})],
)  # fmt: skip
def test_a_line_that_is_no_result_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "results.jsonl"
    append_result(path, result())
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(BadResults, match=r"results\.jsonl:2: this is not a line that 'epireader reproduce' wrote"):
        read_results(path)


def test_a_missing_file_says_what_makes_it(tmp_path: Path) -> None:
    with pytest.raises(BadResults, match=r"no results in .*results\.jsonl; 'epireader reproduce' makes them"):
        read_results(tmp_path)


def test_a_result_is_a_plain_record() -> None:
    assert Result(**json.loads(json.dumps(asdict(result())))) == replace(result())


@pytest.mark.parametrize("split", ["valid", "test"])
def test_the_bits_of_every_shipped_line_are_the_questions_it_counts_as_right(split: str) -> None:
    for line in read_results(SHIPPED):
        assert line.right(split).mean() == pytest.approx(line.accuracy(split))
        if line.reader == "epireader":
            assert line.right(split, "extractor").mean() == pytest.approx(line.accuracy(split, "extractor"))


LETTERS = tuple(f"cbt-books.letters-{window}.txt.xz" for window in (2, 5, 10))
"""Word vectors learnt from CBT's 98 books, by runs of letters too."""
OF_STORIES = tuple(f"cnn-r.{kind}.txt.xz" for kind in ("letters-2", "letters-5", "letters-10", "words-5"))
"""Word vectors learnt from the stories of CNN-R."""
SHUFFLED = ("training.shuffle_entities=true", "vocabulary.rename_entities=false")
"""How readers of news were trained before their entities were renamed."""


@dataclass(frozen=True)
class Kind:
    """Readers that are told apart by their seeds, or by which of some files of word vectors they began with."""

    preset: str
    overrides: tuple[str, ...] = ()
    vectors: tuple[str | None, ...] = (None,)

    def lines(self, asked: str) -> list[Result]:
        """The shipped lines of single readers of this kind."""
        wanted = (asked, self.preset, sorted(self.overrides))
        return [
            line
            for line in read_results(SHIPPED)
            if (line.set, line.preset, sorted(line.overrides)) == wanted
            and line.embeddings in self.vectors
            and not line.members
        ]

    def right(self, asked: str, stage: str = "final") -> np.ndarray:
        """Which test questions of a set they got right, a row a seed."""
        return np.stack([line.right("test", stage) for line in self.lines(asked)])


GIVEN, WITHOUT = Kind("few-books", vectors=LETTERS), Kind("few-books", ("model.sense_embedding_dim=128",))
RECIPES = [
    ("CBT-R NE", GIVEN, 4, Kind("as-few-books", vectors=LETTERS)),
    ("CBT-R CN", GIVEN, 4, Kind("as-few-books", vectors=LETTERS)),
    ("CBT-R NE", WITHOUT, 7, Kind("as-few-books")),
    ("CBT-R CN", WITHOUT, 7, Kind("as-few-books")),
    ("CNN-R", Kind("news", SHUFFLED), 4, Kind("as-news", SHUFFLED)),
]
"""Sets, readers of them, begun with vectors and without, how many, and pointing readers with the same tricks."""
NEWS, AS_NEWS = Kind("news", vectors=OF_STORIES), Kind("as-news", vectors=OF_STORIES)
"""The best readers of CNN-R: entities renamed, and begun with vectors."""

WIDE = Kind("as-reader", ("model.hidden_dim=256",))
AS_READERS = {"CBT-R NE": WIDE, "CBT-R CN": WIDE, "CNN-R": Kind("as-reader")}
"""The AS Reader of its own paper: what the preset `as-reader` is changed by, the best on validation."""


def is_shown(found: MeansComparison) -> bool:
    return found.difference > 0 and found.p_value < 0.05


@pytest.mark.parametrize(("asked", "kind", "seeds", "pointing"), RECIPES)
def test_in_the_shipped_figures_testing_hypotheses_beats_pointing(
    asked: str, kind: Kind, seeds: int, pointing: Kind
) -> None:
    ours = kind.right(asked)
    assert len(ours) == seeds
    assert is_shown(compare_means(ours, kind.right(asked, "extractor")))
    assert is_shown(compare_means(ours, pointing.right(asked)))


def test_in_the_shipped_figures_hypotheses_pay_off_for_the_best_readers_of_news_but_not_over_pointing() -> None:
    ours = NEWS.right("CNN-R")
    assert len(ours) == len(AS_NEWS.right("CNN-R")) == 4
    assert is_shown(compare_means(ours, NEWS.right("CNN-R", "extractor")))
    assert not is_shown(compare_means(ours, AS_NEWS.right("CNN-R")))
    aligned = Kind(
        "news", ("model.aligns_question=true", "model.marks_question=false"), (*OF_STORIES, "cnn-r.words-20.txt.xz")
    )
    assert compare_means(aligned.right("CNN-R"), aligned.right("CNN-R", "extractor")).difference > 0.037


@pytest.mark.parametrize(("better", "worse"), [(NEWS, RECIPES[-1][1]), (AS_NEWS, RECIPES[-1][3])])
def test_in_the_shipped_figures_readers_of_news_gain_by_vectors_and_renamed_entities(better: Kind, worse: Kind) -> None:
    assert is_shown(compare_means(better.right("CNN-R"), worse.right("CNN-R")))


@pytest.mark.parametrize("asked", ["CBT-R NE", "CBT-R CN"])
def test_in_the_shipped_figures_vectors_of_the_books_make_readers_better(asked: str) -> None:
    assert is_shown(compare_means(GIVEN.right(asked), WITHOUT.right(asked)))


@pytest.mark.parametrize("asked", ["CBT-R NE", "CBT-R CN"])
def test_in_the_shipped_figures_the_extractor_given_vectors_has_the_answer_among_its_first_five(asked: str) -> None:
    assert np.mean([line.test["recall_at_k"]["5"] for line in GIVEN.lines(asked)]) > 0.95


@pytest.mark.parametrize(
    ("asked", "kind", "over_its_members", "over_given"),
    [("CBT-R NE", GIVEN, 0.02, 0.019), ("CBT-R CN", GIVEN, 0.02, 0.02), ("CNN-R", NEWS, 0.011, 0.011)],
)
def test_in_the_shipped_figures_seven_as_one_gain_what_is_said(
    asked: str, kind: Kind, over_its_members: float, over_given: float
) -> None:
    begun = [
        line for line in read_results(SHIPPED) if (line.set, line.preset) == (asked, kind.preset) and line.embeddings
    ]
    (seven,) = (line for line in begun if len(line.members) == 7)
    members = [line for line in begun if not line.members]
    assert sorted(str(line.seed) for line in members) == [str(seed) for seed in seven.members]
    right = seven.right("test")
    assert right.mean() > np.mean([line.accuracy("test") for line in members]) + over_its_members
    assert right.mean() > kind.right(asked).mean() + over_given


def test_in_the_shipped_figures_seven_as_one_are_two_points_over_the_reader_of_news_without_vectors() -> None:
    (seven,) = (
        line for line in read_results(SHIPPED) if line.set == "CNN-R" and line.embeddings and len(line.members) == 7
    )
    assert seven.accuracy("test") > Kind("news", SHUFFLED).right("CNN-R").mean() + 0.02


@pytest.mark.parametrize(("asked", "least"), [("CBT-R NE", 0.63), ("CBT-R CN", 0.62), ("CNN-R", 0.62)])
def test_in_the_shipped_figures_the_as_reader_of_its_own_paper_is_no_straw_man(asked: str, least: float) -> None:
    as_reader = AS_READERS[asked].right(asked)
    assert len(as_reader) == 3
    assert as_reader.mean() > least


@pytest.mark.parametrize(
    ("asked", "kind", "margin"),
    [
        ("CBT-R NE", GIVEN, 0.063),
        ("CBT-R CN", GIVEN, 0.097),
        ("CNN-R", NEWS, 0.084),
        ("CNN-R", Kind("news", SHUFFLED), 0.084),
    ],
)
def test_in_the_shipped_figures_the_epireader_has_the_best_margins_published(
    asked: str, kind: Kind, margin: float
) -> None:
    assert kind.right(asked).mean() > AS_READERS[asked].right(asked).mean() + margin


@pytest.mark.parametrize(("asked", "margin"), [("CBT-R NE", 0.011), ("CBT-R CN", 0.04)])
def test_in_the_shipped_figures_the_epireader_without_vectors_has_the_papers_margins(asked: str, margin: float) -> None:
    assert WITHOUT.right(asked).mean() > AS_READERS[asked].right(asked).mean() + margin


@pytest.mark.parametrize(("asked", "margin"), [("CBT-R NE", 0.05), ("CBT-R CN", 0.08)])
def test_in_the_shipped_figures_more_books_are_worth_what_is_said_of_them(asked: str, margin: float) -> None:
    books = Kind("books")
    for kind in (books, Kind("as-books")):
        assert kind.right(asked).mean() > AS_READERS[asked].right(asked).mean() + margin
    assert is_shown(compare_means(books.right(asked), books.right(asked, "extractor")))
