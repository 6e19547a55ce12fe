"""The picture: drawn whole, every figure on it, nothing on top of anything else."""

import sys
from pathlib import Path
from typing import Any

import pytest
from builders import result

from epireader.evaluation.picture import NoPictures, draw
from epireader.evaluation.results import SHIPPED, read_results
from epireader.evaluation.table import Part, build_table


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        NoPictures, match=r"drawing needs matplotlib; install it with: pip install 'epireader\[plots\]'"
    ):
        draw(build_table([]), tmp_path / "table.png")
    assert list(tmp_path.iterdir()) == []


def drawn(parts: list[Part], path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The figure that was drawn."""
    figures = pytest.importorskip("matplotlib.figure")
    made: list[Any] = []

    class Kept(figures.Figure):
        def __init__(self, *words: Any, **named: Any) -> None:
            super().__init__(*words, **named)
            made.append(self)

    monkeypatch.setattr(figures, "Figure", Kept)
    draw(parts, path)
    return made[0]


def results() -> list[Part]:
    """Every case: near and far from what is published, spread over seeds, not finished, with a long name."""
    figures = [{"accuracy": {"final": a, "extractor": a - 0.05}} for a in (0.68, 0.69, 0.3)]
    rows = [result(seed=seed, valid=figures[0], test=figures[seed]) for seed in (0, 1)]
    rows.append(result(reader="memory", preset="memory", test=figures[0], finished=False))
    rows.append(result(reader="epireader", preset="cbt-ne", test=figures[2]))
    rows.append(result(overrides=["training.learning_rate=0.0001", "training.l2=0.5"], test=figures[2]))
    rows.append(result(set="CNN-R", test=figures[1]))
    rows.append(
        result(
            preset="as-few-books", seed=None, members=[0, 1, 2], test={"accuracy": {"final": 0.777, "extractor": 0.5}}
        )
    )
    return build_table([*rows, *(row for row in read_results(SHIPPED) if row.preset is None)])


def test_it_is_a_png_of_the_size_of_a_slide_that_has_every_figure_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = drawn(results(), tmp_path / "table.png", monkeypatch)
    data = (tmp_path / "table.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert int.from_bytes(data[16:20], "big") / int.from_bytes(data[20:24], "big") == pytest.approx(16 / 9, abs=0.01)
    assert list(tmp_path.iterdir()) == [tmp_path / "table.png"]
    names, nouns, news = figure.axes
    labels = [label.get_text() for label in names.get_yticklabels()]
    assert labels[0] == "Humans (context + query)"
    assert labels[-1] == "Random candidate"
    assert labels[labels.index("AS Reader") :][:3] == ["AS Reader", "other settings", "other settings, ensemble"]
    assert not any(label.startswith("AoA") for label in labels)
    shown = [text.get_text() for text in names.texts]
    assert {"CBT NE", "CBT-R NE", "81.6", "68.6", "68.5", "68.0*", "30.0", "10.7", "77.7"} <= set(shown)
    assert {"CNN", "CNN-R", "69.5", "69.0"} <= {text.get_text() for text in news.texts}
    assert "CBT CN" in [text.get_text() for text in nouns.texts]


def test_no_label_stands_on_another_or_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = drawn(results(), tmp_path / "table.png", monkeypatch)
    whole = figure.bbox
    texts = [text for axis in figure.axes for text in axis.texts] + list(figure.texts)
    texts += [label for axis in figure.axes for label in (*axis.get_yticklabels(), *axis.get_xticklabels())]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    assert len(boxes) > 60
    for number, (name, box) in enumerate(boxes):
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= whole.x1 and box.y1 <= whole.y1
        assert inside, f"{name} leaves the slide"
        for other, second in boxes[number + 1 :]:
            assert not box.overlaps(second), f"{name} stands on {other}"


def test_of_all_other_settings_the_best_on_validation_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = {a: {"accuracy": {"final": a / 100, "extractor": a / 100}} for a in (11, 12, 13, 14, 15, 16)}
    rows = [result(overrides=["training.l2=0.5"], valid=figures[16], test=figures[11])]
    rows += [result(overrides=["training.l2=0.1"], valid=figures[15], test=figures[12])]
    rows += [result(overrides=["training.l2=0.1"], books="many", valid=figures[14], test=figures[13])]
    figure = drawn(build_table(rows), tmp_path / "table.png", monkeypatch)
    shown = {text.get_text() for text in figure.axes[0].texts}
    assert {"11.0", "13.0"} <= shown
    assert "12.0" not in shown
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[labels.index("AS Reader") :][:3] == ["AS Reader", "other settings", "with many"]


def test_a_reader_nobody_has_published_is_named_and_a_long_name_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [result(reader="mine", preset="changed"), result(reader="x" * 60, preset="x" * 60)]
    figure = drawn(build_table(rows), tmp_path / "table.png", monkeypatch)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert {"mine, other settings", "x" * 37 + "…"} <= set(labels)
