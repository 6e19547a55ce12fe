"""Published figures are the paper's, and every reader here has its line."""

from pathlib import Path

import pytest

from epireader.evaluation.published import BAJGAR, EPIREADER_PRESETS, FLOOR_NAMES, SYSTEMS, System
from epireader.readers import READERS
from epireader.readers.floors import FLOORS
from epireader.training.config import load_config

# The paper's Table 2, row by row: CBT-NE valid and test, CBT-CN valid and test; CNN valid and test.
CBT = {
    "Humans (context + query)": (None, 81.6, None, 81.6),
    "LSTM (context + query)": (51.2, 41.8, 62.6, 56.0),
    "MemNN": (70.4, 66.6, 64.2, 63.0),
    "AS Reader": (73.8, 68.6, 68.8, 63.4),
    "EpiReader Extractor": (73.2, 69.4, 69.9, 66.7),
    "EpiReader": (75.3, 69.7, 71.5, 67.4),
    "AS Reader (ensemble)": (74.5, 70.6, 71.1, 68.9),
    "EpiReader (ensemble of 7)": (76.6, 71.8, 73.6, 70.6),
}
CNN = {
    "Deep LSTM Reader": (55.0, 57.0),
    "Attentive Reader": (61.6, 63.0),
    "Impatient Reader": (61.8, 63.8),
    "MemNN": (63.4, 66.8),
    "AS Reader": (68.6, 69.5),
    "Stanford AR": (72.4, 72.4),
    "EpiReader Extractor": (71.8, 72.0),
    "EpiReader": (73.4, 74.0),
}


@pytest.mark.parametrize(("table", "sets"), [(CBT, ("CBT NE", "CBT CN")), (CNN, ("CNN",))])
def test_the_figures_are_those_of_the_paper_in_its_order(
    table: dict[str, tuple[float | None, ...]], sets: tuple[str, ...]
) -> None:
    found = {
        system.name: tuple(figure for name in sets for figure in system.figures[name])
        for system in SYSTEMS
        if not system.later and sets[0] in system.figures
    }
    assert list(found.items()) == list(table.items())


def test_every_reader_and_every_floor_has_a_name_in_the_table() -> None:
    assert {system.reader for system in SYSTEMS if system.reader} == set(READERS)
    ensembles = {system.name: (system.ensemble_of, system.members) for system in SYSTEMS if "ensemble" in system.name}
    assert list(ensembles.values()) == [("as-reader", None), ("epireader", 7)]
    assert set(FLOOR_NAMES) == set(FLOORS)
    assert {load_config(preset).reader for preset in EPIREADER_PRESETS.values()} == {"epireader"}


def test_nothing_published_is_called_by_the_name_of_a_rebuilt_set() -> None:
    assert {name for system in SYSTEMS for name in system.figures} == set(EPIREADER_PRESETS)
    source = Path(__file__).parents[3] / "src/epireader/evaluation/published.py"
    assert "-R" not in source.read_text()


def test_the_recipe_is_held_against_the_largest_margins_published() -> None:
    def margins(systems: list[System]) -> str:
        base = next(system for system in SYSTEMS if system.name == "AS Reader").figures
        tests = {name: [system.figures[name][1] for system in systems if name in system.figures] for name in base}
        return " | ".join(f"{max(filter(None, tests[name])) - (base[name][1] or 0):+.1f}" for name in base)

    papers = [system for system in SYSTEMS if system.name == "EpiReader"]
    later = [system for system in SYSTEMS if system.later and system.source != BAJGAR]  # which had more books
    recipe = (Path(__file__).parents[3] / "docs/recipe.md").read_text(encoding="utf-8")
    for row in (margins(papers), margins(later)):
        assert f" | {row} |" in recipe
