"""The paper's comparison (Table 2) as a list of runs: which readers on which questions, with which settings and seeds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from epireader.data.corpus import Corpus
from epireader.data.known_sets import official_name
from epireader.data.shelf import Shelf
from epireader.evaluation.published import EPIREADER_PRESETS, GIVEN_VECTORS, compared_on
from epireader.evaluation.results import Key, Result
from epireader.files import sha256_of
from epireader.readers import READERS
from epireader.readers.floors import FLOORS
from epireader.settings import BadSetting, nearest, parse_override
from epireader.training.batches import books_for
from epireader.training.config import Config, as_file_name, load_config, presets, run_name

EVERY_READER = "all"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What is compared."""

    readers: Sequence[str] = ()
    """Readers, floors or presets; none: those the paper has for the set, and the floors; `all`: every one there is."""
    seeds: Sequence[int] = (0,)
    overrides: Sequence[str] = ()
    minutes: float = 0.0
    """Most minutes of training for one run; 0: no limit."""
    embeddings: Path | None = None
    """Word vectors for readers whose authors began with some, and for presets that are not of a reader's authors."""
    shelf: Shelf | None = None
    """Books that the training questions are made from, in place of those of the corpora."""
    ensemble: bool = False
    """Whether all seeds of a reader are measured as one, too."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One line of results to be had."""

    corpus: Corpus
    reader: str
    preset: str | None = None
    """None for a floor; so are the settings."""
    config: Config | None = None
    overrides: tuple[str, ...] = ()
    embeddings: Path | None = None
    shelf: Shelf | None = None
    members: tuple["Task", ...] = ()
    """For an ensemble: the runs that are measured as one."""

    @property
    def set(self) -> str:
        return self.corpus.set

    @cached_property
    def checksum(self) -> str:
        return sha256_of(self.corpus.folder / "corpus.json")

    @property
    def seed(self) -> int | None:
        return self.config.training.seed if self.config and not self.members else None

    @property
    def member_seeds(self) -> list[int]:
        return sorted(member.config.training.seed for member in self.members if member.config)

    @property
    def max_minutes(self) -> float:
        return self.config.training.max_minutes if self.config else 0.0

    @property
    def name(self) -> str:
        """What `--reader` calls it exactly."""
        return self.preset or self.reader

    @property
    def books(self) -> str | None:
        """What its books are called: the name of their folder."""
        return self.shelf.folder.resolve().name if self.shelf else None

    @property
    def title(self) -> str:
        size = f", ensemble of {len(self.members)}" if self.members else ""
        return f"{self.set}, {self.name}" + (size if self.seed is None else f", seed {self.seed}")

    @property
    def folder(self) -> Path:
        """Where its run lies, below the folder of all of them."""
        return self.place(seed=self.seed)

    def place(self, **which: Any) -> Path:
        """Where something lies that is of these settings alone, and `which` of them."""
        changed: dict[str, Any] = {}
        for override in self.overrides:
            section, name, value = parse_override(override)
            changed[f"{section}.{name}"] = value
        if self.embeddings:
            changed["embeddings"] = self.embeddings.name
        if self.shelf:
            changed["books"] = self.books
        settings = {**dict(sorted(changed.items())), **which}
        return Path(as_file_name(self.set), as_file_name(Path(self.name).stem), run_name(settings))

    @property
    def key(self) -> Key:
        """That of its line."""
        settings = (*sorted(self.overrides), self.embeddings.name if self.embeddings else None)
        members = tuple(self.member_seeds)
        return (self.set, self.checksum, self.reader, self.preset, self.seed, settings, self.books, members)

    def is_done(self, results: Iterable[Result]) -> bool:
        """Whether its line is there, unless that one ran out of time and there is more now."""
        return any(result.key == self.key and not self._has_more_time_than(result) for result in results)

    def _has_more_time_than(self, result: Result) -> bool:
        return not result.finished and not 0 < self.max_minutes <= result.max_minutes


def plan(corpora: Iterable[Corpus], comparison: Comparison) -> list[Task]:
    """Every line there will be, the first seed of all before the second of any, then what is of all seeds as one.

    What cannot be had is refused here.
    """
    opened = list(corpora)
    if comparison.ensemble and len(set(comparison.seeds)) < 2:
        raise BadSetting("an ensemble is of two seeds or more; give --seeds 7, or --seed several times")
    for override in comparison.overrides:
        section, name, _ = parse_override(override)
        if section == "training" and name in ("seed", "max_minutes"):
            raise BadSetting(f"give training.{name} with --{'seed' if name == 'seed' else 'minutes'}, not with --set")
    for corpus in opened:
        for split in ("valid", "test") if comparison.shelf else ("train", "valid", "test"):
            corpus.questions(split)
    floors = [
        Task(corpus=corpus, reader=name) for corpus in opened for name in _names(corpus, comparison) if name in FLOORS
    ]
    runs = [
        _run(corpus, name, seed, comparison)
        for seed in dict.fromkeys(comparison.seeds)
        for corpus in opened
        for name in _names(corpus, comparison)
        if name not in FLOORS
    ]
    if comparison.embeddings and not any(task.embeddings for task in runs):
        raise BadSetting(
            f"--embeddings is for {', '.join(map(str, GIVEN_VECTORS))} and for presets that are not of a reader's authors,"
            " and none of these is among the readers"
        )
    return [*floors, *runs, *(_ensembles(runs) if comparison.ensemble else [])]


def grouped(tasks: Iterable[Task]) -> list[list[Task]]:
    """The tasks that can be carried out at once, group by group: those that differ in their seeds alone."""
    groups: dict[tuple[object, ...], list[Task]] = {}
    for task in tasks:
        alone = task.reader not in READERS or not READERS[task.reader].module.trains_at_once
        kind = (task.corpus.folder, task.name, task.overrides, bool(task.members))
        groups.setdefault((*kind, task.seed if alone else None), []).append(task)
    return list(groups.values())


def _names(corpus: Corpus, comparison: Comparison) -> Iterable[str]:
    """The readers a corpus is read by, as they were asked for, each once."""
    compared = compared_on(official_name(corpus.set) or "") or tuple(READERS)
    asked: list[str] = []
    for name in comparison.readers or (*FLOORS, *compared):
        if name == EVERY_READER:
            asked += [*FLOORS, *READERS]
        elif name in FLOORS or name in READERS or name in presets() or Path(name).is_file():
            asked.append(name)
        else:
            known = dict.fromkeys((*FLOORS, *READERS, *presets(), EVERY_READER))
            raise BadSetting(f"there is no reader {name!r}{nearest(name, known)}")
    return dict.fromkeys(asked)


def _run(corpus: Corpus, name: str, seed: int, comparison: Comparison) -> Task:
    preset = _epireader_preset(corpus) if name == "epireader" else name
    limits = [f"training.seed={seed}", f"training.max_minutes={comparison.minutes}"]
    config = load_config(preset, [*comparison.overrides, *limits])
    books_for(config, comparison.shelf)
    return Task(
        corpus=corpus,
        reader=config.reader,
        preset=preset,
        config=config,
        overrides=tuple(comparison.overrides),
        embeddings=comparison.embeddings if _begins_with_vectors(config.reader, preset) else None,
        shelf=comparison.shelf,
    )


def _begins_with_vectors(reader: str, preset: str) -> bool:
    """A reader with its authors' settings begins as theirs did; any other may begin with vectors."""
    return reader in GIVEN_VECTORS or preset not in (reader, *EPIREADER_PRESETS.values())


def _ensembles(runs: Iterable[Task]) -> list[Task]:
    """All seeds of each reader on each set as one."""
    seeds: dict[tuple[Path, str], dict[int | None, Task]] = {}
    for run in runs:
        seeds.setdefault((run.corpus.folder, run.name), {})[run.seed] = run
    ensembles = [tuple(by_seed.values()) for by_seed in seeds.values()]
    return [replace(members[0], members=members) for members in ensembles]


def _epireader_preset(corpus: Corpus) -> str:
    """The EpiReader has no preset of its own name: the paper has one for each set (Table 1)."""
    preset = EPIREADER_PRESETS.get(official_name(corpus.set) or "")
    if preset is None:
        choices = " or ".join(f"--reader {name}" for name in EPIREADER_PRESETS.values())
        raise BadSetting(
            f"{corpus.folder} is none of the paper's sets, so the preset of the EpiReader must be named: {choices}"
            " in place of epireader"
        )
    return preset
