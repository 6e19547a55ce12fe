"""The pictures of a report."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import example

from epireader.data.questions import Questions, QuestionsBuilder
from epireader.evaluation.accuracy import Evaluation, Share
from epireader.evaluation.curves import Curve
from epireader.evaluation.picture import NoPictures
from epireader.evaluation.plot_style import COLOUR_NAMES, RUN_COLOURS
from epireader.evaluation.plots import as_svg, find_matplotlib, plots_of, write_pngs
from epireader.evaluation.report import Report, RunReport, build_report

CURVE = Curve(
    loss=((0.5, 3.0), (1.0, 2.0)),
    extractor_loss=((0.5, 2.0), (1.0, 1.0)),
    accuracy=((1.0, 0.5), (2.0, 0.75)),
    extractor_accuracy=((1.0, 0.5), (2.0, 0.625)),
)

BOOKS = replace(
    CURVE,
    accuracy=((1.0, 0.5), (2.0, 0.75), (3.0, 0.8)),
    extractor_accuracy=((1.0, 0.5), (2.0, 0.625), (3.0, 0.7)),
    asked=(200_000, 400_000, 1_000_000),
)


def questions() -> Questions:
    builder = QuestionsBuilder()
    for length in range(1, 9):
        builder.add(example(["x"] * length, "XXXXX", ["x", "y"], "x"))
    return builder.build()


def run(name: str = "epi", *, reranks: bool = True, curve: Curve | None = CURVE) -> RunReport:
    """A run that got the first five of eight questions right, six before reranking."""
    measured = Evaluation(
        questions=8,
        unknown=0,
        extractor=Share(6, 8),
        final=Share(5, 8),
        recall_at={1: Share(6, 8), 2: Share(8, 8)},
        corrected=1,
        spoiled=2,
    )
    first, final = np.arange(8) < 6, np.arange(8) < 5
    return RunReport(name, "epireader", reranks, curve, measured, first if reranks else final, final)


def report(*runs: RunReport) -> Report:
    return build_report("toys, validation", questions(), runs)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NoPictures, match=r"install it with: pip install 'epireader\[plots\]'"):
        find_matplotlib()


def test_learning_is_drawn_only_where_something_was_learnt() -> None:
    rest = ["accuracy", "recall", "by-length", "by-mentions", "by-distance"]
    assert [plot.name for plot in plots_of(report(run()))] == ["loss", "learning", *rest]
    assert [plot.name for plot in plots_of(report(run(curve=None)))] == rest
    assert [plot.name for plot in plots_of(report(run(curve=None), run("b")))] == ["loss", "learning", *rest]


def test_accuracy_by_questions_is_drawn_for_runs_on_books_alone() -> None:
    told = report(run(), run("books", curve=BOOKS), run("as", reranks=False, curve=BOOKS))
    assert [plot.name for plot in plots_of(told)][:3] == ["loss", "learning", "size"]
    drawn = svg_of(told, "size")
    written = re.findall(">([^<]+)</text>", drawn)
    assert {"epi", "books", "as", "Extractor"} & {*written} == {"books", "as", "Extractor"}
    assert written.count("Extractor") == 1
    assert {"200k", "500k", "1M"} <= set(written)
    assert "var(--run-0)" not in drawn, "that run was not trained on books"


def test_accuracy_by_questions_goes_through_every_epoch_at_its_place() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    axis = figures.Figure().add_subplot()
    next(plot for plot in plots_of(report(run(curve=BOOKS))) if plot.name == "size").draw(axis)
    assert axis.get_xscale() == "log"
    extractor, final = axis.lines
    assert final.get_xdata().tolist() == extractor.get_xdata().tolist() == [200_000, 400_000, 1_000_000]
    assert (final.get_ydata().tolist(), extractor.get_ydata().tolist()) == ([50, 75, 80], [50, 62.5, 70])
    assert (final.get_linestyle(), extractor.get_linestyle()) == ("-", "--")
    low, high = axis.get_xlim()
    assert low < 200_000
    assert high > 1_000_000


def test_a_trait_that_no_question_has_is_not_drawn() -> None:
    builder = QuestionsBuilder()
    builder.add(example(["x"], "XXXXX", ["x", "y"], "y"))
    told = replace(run(), right_first=np.array([True]), right_final=np.array([False]))
    assert "by-distance" not in [plot.name for plot in plots_of(build_report("toys", builder.build(), [told]))]


PICTURES = ["loss", "learning", "size", "accuracy", "recall", "by-length", "by-mentions", "by-distance"]


def svg_of(told: Report, name: str) -> str:
    pytest.importorskip("matplotlib")
    return as_svg(next(plot for plot in plots_of(told) if plot.name == name))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_one_element_that_needs_nothing_and_takes_the_pages_colours(name: str) -> None:
    drawn = svg_of(report(run(curve=BOOKS), run("as", reranks=False, curve=BOOKS)), name)
    assert drawn.startswith("<svg")
    assert drawn.rstrip().endswith("</svg>")
    assert not re.search(r'(href|src)="(?!#)|url\((?!#)|<script|<image|@import', drawn)
    assert {"var(--run-0)", "var(--run-1)", "var(--soft)"} <= set(re.findall(r"var\(--[\w-]+\)", drawn))
    assert not set(COLOUR_NAMES) & set(re.findall("#[0-9a-f]{6}", drawn))
    names = set(re.findall(r'id="([^"]+)"', drawn))
    assert all(one.startswith(f"{name}-") for one in names)
    assert set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', drawn)) <= {(one, "") for one in names} | {
        ("", one) for one in names
    }


def test_the_same_report_gives_the_same_picture() -> None:
    assert svg_of(report(run()), "learning") == svg_of(report(run()), "learning")


def test_figures_and_sizes_of_bins_stand_in_the_picture() -> None:
    told = report(run())
    assert {"62.5", "75.0", "epi"} <= set(re.findall(">([^<]+)</text>", svg_of(told, "accuracy")))
    written = re.findall(">([^<]+)</text>", svg_of(told, "by-length"))
    assert {"1–2", "n=2", "8", "n=1"} <= set(written)


def test_the_extractor_is_drawn_dashed_and_only_for_readers_that_rerank() -> None:
    assert "stroke-dasharray" in svg_of(report(run()), "by-length")
    assert "stroke-dasharray" not in svg_of(report(run(reranks=False)), "by-length")


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a & b", "$x^2$", "x" * 60])
def test_a_name_is_text_and_nothing_else(name: str) -> None:
    drawn = svg_of(report(run(name)), "accuracy")
    assert "<script" not in drawn
    written = [
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        for text in re.findall(">([^<]+)</text>", drawn)
    ]
    assert (name if len(name) <= 26 else name[:25] + "…") in written


def test_every_picture_becomes_a_png_with_more_runs_than_colours(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    told = report(*(run(f"run {number}") for number in range(len(RUN_COLOURS) + 2)))
    plots = list(plots_of(told))
    write_pngs(plots, told, tmp_path / "pictures")
    files = sorted((tmp_path / "pictures").iterdir())
    assert [file.name for file in files] == sorted(f"{plot.name}.png" for plot in plots)
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
    assert len({file.read_bytes() for file in files}) == len(files)


@pytest.mark.parametrize("length", [3, 14, 15, 60])
def test_what_the_marks_mean_stands_within_the_picture_however_long_names_are(length: int, tmp_path: Path) -> None:
    imread = pytest.importorskip("matplotlib.image").imread
    told = report(*(run(letter * length) for letter in "WMN"))
    write_pngs(list(plots_of(told)), told, tmp_path)
    for path in tmp_path.glob("*.png"):
        picture = imread(path)
        key = picture[int(0.85 * len(picture)) :]
        assert (key[:, [0, 1, -2, -1], :3] == 1.0).all(), path.name


@pytest.mark.parametrize("name", ["accuracy", "learning", "size", "by-length", "by-distance"])
def test_no_label_stands_on_another_even_where_passages_are_long(name: str) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    builder = QuestionsBuilder()
    for length in range(90, 2000, 190):
        for extra in (0, 57):
            builder.add(example(["x"] + ["y"] * (length + extra), "XXXXX", ["x", "y"], "x"))
    questions = builder.build()
    right = np.arange(len(questions)) % 2 == 0
    names = ("a rather long name of a run", "b", "c")
    told = [replace(run(n, curve=BOOKS), right_first=right, right_final=~right) for n in names]
    plot = next(plot for plot in plots_of(build_report("toys", questions, told)) if plot.name == name)
    figure = figures.Figure(figsize=plot.size, layout="constrained")
    axis = figure.add_subplot()
    plot.draw(axis)
    figure.draw_without_rendering()
    labels = [*axis.get_xticklabels(), *axis.get_yticklabels(), axis.xaxis.label]
    labels += axis.texts if name == "size" else []
    extent = pytest.importorskip("matplotlib.text").Text.get_window_extent  # without the line that leads to a name
    boxes = [(label.get_text(), extent(label)) for label in labels if label.get_text()]
    assert len(boxes) > 5
    for text in axis.texts:
        assert figure.bbox.contains(*text.get_window_extent().max), f"{text.get_text()!r} is cut off"
    for number, (text, box) in enumerate(boxes):
        for other, second in boxes[number + 1 :]:
            assert not box.overlaps(second), f"{text!r} stands on {other!r}"
