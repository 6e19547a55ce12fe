"""The paper's Table 2, with the figures measured here beside the published ones.

A column is one set of questions, and published and measured figures never share one: a rebuilt set has a name of its own.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from epireader.data.known_sets import official_name
from epireader.evaluation.published import EPIREADER_PRESETS, FLOOR_NAMES, GIVEN_VECTORS, SYSTEMS
from epireader.evaluation.results import Result

HALVES = {"Children's Book Test": ("CBT NE", "CBT CN"), "CNN": ("CNN",)}
BASELINE = "as-reader"
RERANKS = frozenset(system.reader for system in SYSTEMS if system.stage == "extractor")


@dataclass(frozen=True)
class Figure:
    """An accuracy in per cent: the mean over seeds, and their standard deviation where there are several."""

    mean: float
    spread: float | None = None

    def __str__(self) -> str:
        return rounded(self.mean) + ("" if self.spread is None else f"±{rounded(self.spread)}")


def rounded(value: float, form: str = ".1f") -> str:
    """To a tenth, as people do it by hand: 72.25 is 72.3."""
    return format(math.copysign(math.floor(abs(value) * 10 + 0.5 + 1e-9) / 10, value), form)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What a line has in a column."""

    valid: Figure | None
    test: Figure | None
    seeds: tuple[int, ...] = ()
    """Empty for what is published, for floors and for ensembles."""
    members: tuple[int, ...] = ()
    """The seeds of an ensemble, which has one figure."""
    finished: bool = True


@dataclass(frozen=True)
class Column:
    """One set of questions, and whether its figures are others'."""

    set: str
    published: bool


@dataclass(frozen=True, order=True)
class Place:
    """Where a line stands: by its reader, plain before changed, single before ensembles, the Extractor before the whole."""

    rank: int
    unpublished: str = ""
    """The reader, if nobody has published figures of it: all of those have one rank."""
    changes: tuple[str, ...] = ()
    members: int = 1
    stage: int = 1

    @property
    def stage_name(self) -> str:
        return "final" if self.stage else "extractor"


@dataclass
class Line:
    """A system and its figures."""

    name: str
    source: str | None = None
    later: bool = False
    cells: dict[Column, Cell] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One half of the table, or a set that the paper does not have."""

    title: str
    columns: tuple[Column, ...]
    lines: dict[Place, Line]

    def ahead(self, line: Line, column: Column) -> float | None:
        """By how many points a line is better than the AS Reader on the test questions of the same column."""
        rank = next(rank for rank, system in enumerate(SYSTEMS) if system.reader == BASELINE)
        baseline = self.lines.get(Place(rank))
        if baseline is None or baseline is line:
            return None
        mine, other = line.cells.get(column), baseline.cells.get(column)
        return mine.test.mean - other.test.mean if mine and other and mine.test and other.test else None


def build_table(results: Iterable[Result]) -> list[Part]:
    """Both halves, and a part for every other set there are results of."""
    measured = list(results)
    names = list(dict.fromkeys(result.set for result in measured))
    parts = []
    for title, officials in HALVES.items():
        columns = []
        for official in officials:
            columns += [Column(official, published=True)]
            columns += [Column(name, published=False) for name in sorted(names) if official_name(name) == official]
        parts.append(_part(title, columns, measured))
    others = [name for name in names if official_name(name) is None]
    return parts + [_part(name, [Column(name, published=False)], measured) for name in others]


def _part(title: str, columns: Sequence[Column], results: Sequence[Result]) -> Part:
    lines: dict[Place, Line] = {}
    for column in columns:
        if column.published:
            _put_published(lines, column)
        else:
            _put_measured(lines, column, [result for result in results if result.set == column.set])
    return Part(title, tuple(columns), dict(sorted(lines.items())))


def _put_published(lines: dict[Place, Line], column: Column) -> None:
    for number, system in enumerate(SYSTEMS):
        if column.set in system.figures:
            place = Place(_rank(system.reader, number), stage=int(system.stage == "final"))
            line = lines.setdefault(place, Line(system.name, system.source, system.later))
            valid, test = (None if value is None else Figure(value) for value in system.figures[column.set])
            line.cells[column] = Cell(valid=valid, test=test)


def _put_measured(lines: dict[Place, Line], column: Column, results: Iterable[Result]) -> None:
    """Of several results with one seed the last counts; of several ensembles on one line the largest."""
    runs: dict[Place, dict[int | None, Result]] = {}
    for result in sorted(results, key=lambda result: len(result.members)):
        for place in _places(result):
            runs.setdefault(place, {})[result.seed] = result
    for place, by_seed in runs.items():
        chosen = list(by_seed.values())
        line = lines.setdefault(place, _unpublished_line(chosen[0], place))
        line.cells[column] = Cell(
            valid=_figure(result.accuracy("valid", place.stage_name) for result in chosen),
            test=_figure(result.accuracy("test", place.stage_name) for result in chosen),
            seeds=tuple(sorted(seed for seed in by_seed if seed is not None)),
            members=tuple(sorted(chosen[0].members)),
            finished=all(result.finished for result in chosen),
        )


def _places(result: Result) -> list[Place]:
    """Its line and, for a single reader that reranks, that of its Extractor."""
    published, rank = _published_ensemble(result), _rank(result.reader, len(SYSTEMS))
    if published is not None:
        return [Place(published)]
    whole = Place(rank, result.reader if rank == len(SYSTEMS) else "", _changes(result), len(result.members) or 1)
    return [replace(whole, stage=0), whole] if result.reader in RERANKS and not result.members else [whole]


def _published_ensemble(result: Result) -> int | None:
    """The number of the published system that is the same ensemble."""
    sizes = (None, len(result.members))
    same = (n for n, system in enumerate(SYSTEMS) if system.ensemble_of == result.reader and system.members in sizes)
    return next(same, None) if result.members and not _changes(result) else None


def _figure(accuracies: Iterable[float]) -> Figure:
    values = [100 * accuracy for accuracy in accuracies]
    return Figure(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)


def _rank(reader: str | None, otherwise: int) -> int:
    """Floors first, then readers in the order of the table; all lines of a reader have one rank."""
    if reader in FLOOR_NAMES:
        return list(FLOOR_NAMES).index(reader) - len(FLOOR_NAMES)
    return next((n for n, system in enumerate(SYSTEMS) if reader and system.reader == reader), otherwise)


def _changes(result: Result) -> tuple[str, ...]:
    """In what a run differs from how the reader is published."""
    changes = [] if result.preset in _own_presets(result) else [Path(result.preset or "").stem]
    if result.preset and (result.embeddings is not None) != (result.reader in GIVEN_VECTORS):
        changes.append("given vectors" if result.embeddings else "random vectors")
    if result.books:
        changes.append(f"with {result.books}")
    return (*changes, *sorted(result.overrides))


def _own_presets(result: Result) -> tuple[str | None, ...]:
    return (None, result.reader, EPIREADER_PRESETS.get(official_name(result.set) or ""))


def _unpublished_line(result: Result, place: Place) -> Line:
    """The line of a reader, of changed settings or of an ensemble that nobody has published figures of."""
    if (ensemble := _published_ensemble(result)) is not None:
        return Line(SYSTEMS[ensemble].name)
    named = (system for system in SYSTEMS if (system.reader, system.stage) == (result.reader, place.stage_name))
    system = next(named, None)
    name = system.name if system else FLOOR_NAMES.get(result.reader, result.reader)
    size = [f"ensemble of {place.members}"] if place.members > 1 else []
    return Line(", ".join((name, *map(_short, place.changes), *size)))


def _short(change: str) -> str:
    """A changed setting by its last name, alone where it is on; any other change as it is."""
    setting, given, value = change.partition("=")
    if not given:
        return change
    name = setting.rpartition(".")[2]
    return {"true": name, "false": f"no {name}"}.get(value, f"{name}={value}")
