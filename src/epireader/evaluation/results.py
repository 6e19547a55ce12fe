"""Measured figures on disk: a file of lines, one for each reader, seed and set of questions.

A line is added whole. What a crash left of one is not read, and the next line takes its place. Where two lines are of
the same run the later one counts.
"""

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

FILE = "results.jsonl"
SHIPPED = Path(__file__).parent / FILE
"""Figures that come with the package."""

Key = tuple[Any, ...]


class BadResults(ValueError):
    """A file that holds no results, or a line in it that is none."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One run, one floor, or one ensemble of runs, measured on the validation and the test questions of a set.

    A floor and an ensemble have no seed and no training of their own: no epochs, and `seconds` are those of measuring (0: not timed). An
    ensemble has the weights of all its members, and is finished where all of them are.
    """

    set: str
    """What the questions are: `CBT-R NE`. `CBT` and `CNN` stand for the official files alone."""
    corpus: str
    """The checksum of the prepared corpus."""
    reader: str
    preset: str | None
    """None for a floor."""
    seed: int | None
    overrides: list[str]
    """Settings that differ from the preset, as `section.name=value`; of an ensemble, those that all of its members have."""
    embeddings: str | None
    """The file of word vectors it began with; of an ensemble, those of its members."""
    max_minutes: float
    finished: bool
    """Whether training ended by its own rule, not because the minutes were over."""
    epochs: int
    """Whole ones; 0 where the time was over within the first."""
    best_epoch: int
    seconds: float
    parameters: int
    valid: dict[str, Any]
    """What `epireader evaluate --json` says, and `right`: a bit a question, packed, as hexadecimal digits."""
    test: dict[str, Any]
    version: str
    torch: str
    device: str
    date: str
    command: str
    """What gives this line again."""
    books: str | None = None
    """The prepared books its training questions were made from, in place of the corpus's own."""
    members: list[int] = field(default_factory=list)
    """The seeds of an ensemble, whose probabilities are averaged; none for a single reader."""

    @property
    def key(self) -> Key:
        """What tells it from every other run."""
        settings = (*sorted(self.overrides), self.embeddings)
        members = tuple(sorted(self.members))
        return (self.set, self.corpus, self.reader, self.preset, self.seed, settings, self.books, members)

    def accuracy(self, split: str, stage: str = "final") -> float:
        """The accuracy on `valid` or `test`, of the whole reader or of its `extractor`."""
        return float(self._on(split)["accuracy"][stage])

    def right(self, split: str, stage: str = "final") -> "np.ndarray":
        """Which questions of `valid` or `test` were answered right, by the whole reader or by its `extractor`."""
        import numpy as np

        measured = self._on(split)
        packed = np.frombuffer(bytes.fromhex(measured["right"][stage]), np.uint8)
        return np.unpackbits(packed, count=measured["questions"]).astype(bool)

    def _on(self, split: str) -> dict[str, Any]:
        return self.valid if split == "valid" else self.test


def read_results(path: Path) -> list[Result]:
    """The results in a file, or in the folder of `epireader reproduce`; of several of one run the last."""
    path = path / FILE if path.is_dir() else path
    try:
        *lines, _ = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise BadResults(f"there are no results in {path}; 'epireader reproduce' makes them") from None
    found = {}
    for number, line in enumerate(lines, start=1):
        result = _parsed(line, f"{path}:{number}")
        found[result.key] = result
    return list(found.values())


def append_result(path: Path, result: Result) -> None:
    """Add a line to a file that others may add to as well; it is on the disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write(json.dumps(asdict(result), ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _parsed(line: bytes, where: str) -> Result:
    try:
        values = json.loads(line)
        if not isinstance(values, Mapping):
            raise TypeError("it is not an object")
        result = Result(**values)
        for split in ("valid", "test"):
            result.accuracy(split), result.accuracy(split, "extractor")
    except (ValueError, TypeError, KeyError) as error:
        raise BadResults(f"{where}: this is not a line that 'epireader reproduce' wrote ({error})") from None
    return result
