"""The paper's table with measured figures in it."""

from dataclasses import replace
from typing import Any

import pytest
from builders import result

from epireader.evaluation.results import SHIPPED, Result, read_results
from epireader.evaluation.table import Cell, Column, Figure, Line, Part, build_table, rounded

NE, NE_R = Column("CBT NE", published=True), Column("CBT-R NE", published=False)


def row(test: float, **changes: Any) -> Result:
    """A row with an accuracy on test in per cent; on validation it is a point more, and the Extractor has two less."""
    figures = {
        split: {"accuracy": {"final": (test + more) / 100, "extractor": (test + more - 2) / 100}}
        for split, more in (("valid", 1), ("test", 0))
    }
    return result(**figures, **changes)


def epireader(test: float, **changes: Any) -> Result:
    return row(test, **{"reader": "epireader", "preset": "cbt-ne", **changes})


def ensemble(single: Result, size: int = 7, first: int = 0) -> Result:
    return replace(single, seed=None, members=[*range(first, first + size)])


def half(*results: Result) -> Part:
    return build_table(results)[0]


def line(part: Part, name: str) -> Line:
    (found,) = (one for one in part.lines.values() if one.name == name)
    return found


def test_without_results_it_is_the_table_of_the_paper_and_what_came_after() -> None:
    cbt, cnn = build_table([])
    assert [column.set for column in (*cbt.columns, *cnn.columns)] == ["CBT NE", "CBT CN", "CNN"]
    assert list(cbt.lines) == sorted(cbt.lines)
    assert [one.name for one in cbt.lines.values()][:4] == [
        "Humans (context + query)", "LSTM (context + query)", "MemNN", "AS Reader",
    ]  # fmt: skip
    assert line(cbt, "AS Reader").cells[NE] == Cell(valid=Figure(73.8), test=Figure(68.6))
    assert line(cbt, "Humans (context + query)").cells[NE].valid is None
    assert [one.name for one in cnn.lines.values() if one.later] == ["AoA Reader", "GA Reader"]


def test_a_measured_figure_never_stands_in_a_column_of_published_ones() -> None:
    part = half(row(64.92))
    assert part.columns == (NE, NE_R, Column("CBT CN", published=True))
    cells = line(part, "AS Reader").cells
    assert str(cells[NE].test) == "68.6"
    assert str(cells[NE_R].test) == "64.9"
    official = half(row(64.92, set="CBT NE"))
    assert official.columns[:2] == (NE, Column("CBT NE", published=False))
    assert str(line(official, "AS Reader").cells[NE].test) == "68.6"


def test_seeds_become_a_mean_and_their_standard_deviation() -> None:
    cell = line(half(*(row(test, seed=seed) for seed, test in enumerate((60.0, 62.0, 64.0)))), "AS Reader").cells[NE_R]
    assert str(cell.test) == "62.0±2.0"
    assert str(cell.valid) == "63.0±2.0"
    assert cell.seeds == (0, 1, 2)
    assert str(line(half(row(60.0)), "AS Reader").cells[NE_R].test) == "60.0"


def test_the_same_seed_measured_again_counts_once() -> None:
    cell = line(half(row(60.0, corpus="old"), row(64.0, corpus="new")), "AS Reader").cells[NE_R]
    assert (str(cell.test), cell.seeds) == ("64.0", (0,))


def test_one_run_that_was_not_finished_marks_the_cell() -> None:
    assert line(half(row(60.0), row(61.0, seed=1)), "AS Reader").cells[NE_R].finished
    assert not line(half(row(60.0), row(61.0, seed=1, finished=False)), "AS Reader").cells[NE_R].finished


def test_the_epireader_has_a_line_for_its_extractor_and_the_papers_preset_is_the_plain_one() -> None:
    part = half(epireader(55.0), epireader(50.0, set="CBT-R CN", preset="cbt-cn"))
    final, extractor = line(part, "EpiReader"), line(part, "EpiReader Extractor")
    assert str(final.cells[NE_R].test) == "55.0"
    assert str(extractor.cells[NE_R].test) == "53.0"
    assert str(final.cells[Column("CBT-R CN", published=False)].test) == "50.0"
    assert "AS Reader Extractor" not in [one.name for one in half(row(60.0)).lines.values()]


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        (epireader(55.0, preset="small"), "EpiReader, small"),
        (epireader(55.0, preset="cbt-cn"), "EpiReader, cbt-cn"),
        (epireader(55.0, preset="mine/own.toml"), "EpiReader, own"),
        (row(55.0, overrides=["training.l2=1", "model.a=2"]), "AS Reader, a=2, l2=1"),
        (row(55.0, overrides=["training.a=false", "vocabulary.b=true"]), "AS Reader, no a, b"),
        (row(55.0, embeddings="glove.txt"), "AS Reader, given vectors"),
        (row(55.0, books="more-books"), "AS Reader, with more-books"),
        (epireader(55.0, preset="books", books="more-books"), "EpiReader, books, with more-books"),
        (row(55.0, reader="stanford", preset="stanford"), "Stanford AR, random vectors"),
        (row(55.0, reader="stanford", preset="stanford", embeddings="glove.txt"), "Stanford AR"),
        (row(55.0, reader="bag", preset="bag"), "bag"),
        (row(55.0, reader="random", preset=None, seed=None), "Random candidate"),
    ],
)
def test_what_differs_from_how_a_reader_is_published_has_a_line_of_its_own(changed: Result, name: str) -> None:
    part = half(row(60.0), epireader(50.0), changed)
    assert str(line(part, name).cells[NE_R].test) == "55.0"
    assert line(part, name).source is None
    assert str(line(part, "AS Reader").cells[NE_R].test) == "60.0"


def test_changed_runs_stand_under_the_reader_they_are_of_and_floors_first() -> None:
    part = half(
        epireader(55.0, preset="small"), row(55.0, overrides=["training.l2=1"]), row(9.0, reader="random", preset=None)
    )
    names = [one.name for one in part.lines.values()]
    assert names[0] == "Random candidate"
    assert names[names.index("AS Reader") + 1] == "AS Reader, l2=1"
    after = names[names.index("EpiReader") + 1 :]
    assert after[:2] == ["EpiReader Extractor, small", "EpiReader, small"]


def test_two_readers_of_ones_own_have_a_line_each() -> None:
    first, *_ = build_table([result(reader=name, preset=name, seed=0) for name in ("mine", "yours")])
    assert [line.name for line in first.lines.values()][-2:] == ["mine", "yours"]


@pytest.mark.parametrize(
    ("measured", "name", "published"),
    [
        (epireader(65.0), "EpiReader (ensemble of 7)", "71.8"),
        (row(65.0), "AS Reader (ensemble)", "70.6"),
        (epireader(65.0, set="CNN-R", preset="cnn"), "EpiReader (ensemble of 7)", None),
    ],
)
def test_an_ensemble_stands_on_the_line_of_the_published_one(
    measured: Result, name: str, published: str | None
) -> None:
    part = build_table([ensemble(measured)])[measured.set == "CNN-R"]
    cells = line(part, name).cells
    figures = {
        column.published: str(cell.test) for column, cell in cells.items() if column.set in (NE.set, measured.set)
    }
    assert figures == {False: "65.0"} | ({True: published} if published else {})
    (cell,) = (cell for column, cell in cells.items() if not column.published)
    assert (cell.seeds, cell.members) == ((), tuple(range(7)))


@pytest.mark.parametrize(
    ("single", "size", "name"),
    [
        (epireader(60.0), 3, "EpiReader, ensemble of 3"),
        (epireader(60.0, preset="few-books", books="tales"), 7, "EpiReader, few-books, with tales, ensemble of 7"),
        (row(60.0, overrides=["training.l2=1"]), 2, "AS Reader, l2=1, ensemble of 2"),
        (row(60.0, reader="memory", preset="memory"), 7, "MemNN, ensemble of 7"),
        (row(60.0, reader="bag", preset="bag"), 2, "bag, ensemble of 2"),
    ],
)
def test_any_other_ensemble_stands_right_under_its_single_readers(single: Result, size: int, name: str) -> None:
    others = [replace(single, overrides=["a.b=1"]), replace(single, overrides=[*single.overrides, "x.y=1"])]
    part = half(ensemble(replace(single, valid=row(65.0).valid, test=row(65.0).test), size), single, *others)
    names = [one.name for one in part.lines.values()]
    assert names[names.index(name) - 1] == name.removesuffix(f", ensemble of {size}")
    assert str(line(part, name).cells[NE_R].test) == "65.0"
    assert str(line(part, name.removesuffix(f", ensemble of {size}")).cells[NE_R].test) == "60.0"
    assert not [one for one in names if "Extractor" in one and "ensemble" in one]


def test_of_ensembles_on_one_line_the_largest_counts_then_the_last() -> None:
    rows = [ensemble(row(61.0), 3), ensemble(row(62.0), 5), ensemble(row(63.0), 5, first=5), ensemble(row(64.0), 2)]
    cell = line(half(*rows), "AS Reader (ensemble)").cells[NE_R]
    assert (cell.test, cell.members) == (Figure(63.0), (5, 6, 7, 8, 9))


def test_distances_are_to_the_as_reader_on_the_same_questions() -> None:
    part = half(row(60.0), row(62.0, seed=1), epireader(55.0))
    final, extractor = line(part, "EpiReader"), line(part, "EpiReader Extractor")
    assert part.ahead(final, NE) == pytest.approx(1.1)
    assert part.ahead(final, NE_R) == pytest.approx(-6.0)
    assert part.ahead(extractor, NE_R) == pytest.approx(-8.0)
    assert part.ahead(line(part, "AS Reader"), NE) is None
    assert part.ahead(line(part, "MemNN"), NE_R) is None
    alone = half(epireader(55.0))
    assert alone.ahead(line(alone, "EpiReader"), NE_R) is None, "no AS Reader was measured"


def test_any_other_set_is_a_part_of_its_own() -> None:
    parts = build_table([row(60.0), row(50.0, set="mine"), epireader(55.0, set="mine")])
    assert [part.title for part in parts][2:] == ["mine"]
    assert [one.name for one in parts[2].lines.values()] == [
        "AS Reader", "EpiReader Extractor, cbt-ne", "EpiReader, cbt-ne",
    ]  # fmt: skip
    assert parts[2].ahead(line(parts[2], "EpiReader, cbt-ne"), parts[2].columns[0]) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [(72.25, "72.3"), (65.45, "65.5"), (-9.96, "-10.0"), (-0.25, "-0.3"), (0.0, "0.0"), (72.24, "72.2")],
)
def test_figures_are_rounded_as_by_hand(value: float, text: str) -> None:
    assert rounded(value) == text


def test_the_figures_that_ship_are_of_rebuilt_sets_and_hold_together() -> None:
    shipped = read_results(SHIPPED)
    assert {one.set for one in shipped} <= {"CBT-R NE", "CBT-R CN", "CNN-R"}
    for one in shipped:
        for split in (one.valid, one.test):
            bits = bin(int(split["right"]["final"], 16)).count("1")
            assert bits / split["questions"] == pytest.approx(split["accuracy"]["final"], abs=1e-9)
    part = build_table(shipped)[0]
    assert line(part, "AS Reader").cells[NE_R].test is not None
