"""A prepared corpus: questions compiled once into a folder of memory-mapped arrays.

corpus.json            what it is: format, sources with checksums, options, statistics of every split
lexicon.txt            its words, one a line
{split}.safetensors    the columns of `Questions`
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from epireader.data.known_sets import set_name
from epireader.data.questions import LEXICON_START, Questions, QuestionsBuilder
from epireader.data.ragged import Ragged
from epireader.data.statistics import Statistics

FORMAT = "epireader-corpus"
VERSION = 1
SPLITS = ("train", "valid", "test", "all")
LEXICON = "lexicon.txt"

_RAGGED = ("sequences", "passages", "candidates")
_PLAIN = ("questions", "answers")


class BadCorpus(ValueError):
    """A folder that is not a prepared corpus, or is damaged."""


@dataclass(frozen=True)
class SourceRecord:
    """One file a corpus was made from."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class CorpusRecord:
    """What `corpus.json` holds."""

    made_by: str
    sources: tuple[SourceRecord, ...]
    options: dict[str, Any]
    skipped: int
    """Questions left out because they could not be read (`--skip-bad`)."""
    statistics: dict[str, Statistics]
    format: str = FORMAT
    version: int = VERSION


class Corpus:
    """An open corpus. A split's arrays are mapped when it is first asked for."""

    def __init__(self, folder: Path, record: CorpusRecord, lexicon: Sequence[str]) -> None:
        self.folder = folder
        self.record = record
        self.lexicon = lexicon

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(split for split in SPLITS if split in self.record.statistics)

    @property
    def set(self) -> str:
        """What its questions are called in a table: `CBT-R NE`."""
        sizes = {split: figures.questions for split, figures in self.record.statistics.items()}
        sources = [source.name for source in self.record.sources]
        return set_name(self.folder.resolve().name, sources, self.record.options.get("kind"), sizes)

    def questions(self, split: str) -> Questions:
        if split not in self.splits:
            raise BadCorpus(
                f"{self.folder} has no {split} questions, only {', '.join(self.splits)};"
                " 'epireader prepare --split' says where questions go"
            )
        path = self.folder / f"{split}.safetensors"
        try:
            with safe_open(path, framework="pt") as columns:
                parts: dict[str, Any] = {
                    name: Ragged(columns.get_tensor(f"{name}.values"), columns.get_tensor(f"{name}.offsets"))
                    for name in _RAGGED
                }
                parts |= {name: columns.get_tensor(name) for name in _PLAIN}
        except (OSError, SafetensorError) as error:
            raise BadCorpus(f"{path} is damaged ({error}); prepare the corpus again") from None
        if int(parts["sequences"].values.max()) >= len(self.lexicon):
            raise BadCorpus(f"{self.folder / 'lexicon.txt'} is damaged (it ends too early); prepare the corpus again")
        return Questions(lexicon=self.lexicon, **parts)


def choose_split(available: Collection[str], asked: str | None, source: Path) -> str:
    """The split to read: the one asked for; otherwise the only one there is, or the test questions."""
    if asked is not None and asked in available:
        return asked
    if asked is None and (len(available) == 1 or "test" in available):
        return next(iter(available)) if len(available) == 1 else "test"
    if asked is not None and tuple(available) == ("all",):
        return "all"
    found = ", ".join(sorted(available))
    raise BadCorpus(
        f"{source} has no {asked} questions, only {found}"
        if asked
        else f"{source} holds {found}: choose one with --split"
    )


def is_corpus(folder: Path) -> bool:
    return (folder / "corpus.json").is_file()


def open_corpus(folder: Path) -> Corpus:
    """Open a folder that `epireader prepare` made."""
    try:
        record = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
        if record["format"] != FORMAT:
            raise BadCorpus(f"{folder} is not a prepared corpus")
        if record["version"] != VERSION:
            raise BadCorpus(
                f"{folder} was made in corpus format {record['version']}, this version reads {VERSION}; prepare it again"
            )
        record["sources"] = tuple(SourceRecord(**source) for source in record["sources"])
        record["statistics"] = {
            split: Statistics.from_mapping(figures) for split, figures in record["statistics"].items()
        }
        return Corpus(folder, CorpusRecord(**record), read_lexicon(folder))
    except FileNotFoundError as error:
        raise BadCorpus(
            f"{folder} is not a prepared corpus: it has no {Path(error.filename).name}; make one with 'epireader prepare'"
        ) from None
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise BadCorpus(f"{folder} is damaged ({error}); prepare the corpus again") from None


def write_corpus(folder: Path, builders: dict[str, QuestionsBuilder], record: CorpusRecord) -> None:
    """Write a corpus into an empty folder. (The caller makes it appear at once by renaming the folder.)"""
    words: list[str] = []
    for split, builder in builders.items():
        questions = builder.build()
        words = list(questions.lexicon)
        columns = {name: getattr(questions, name) for name in _PLAIN}
        for name in _RAGGED:
            ragged = getattr(questions, name)
            columns |= {f"{name}.values": ragged.values, f"{name}.offsets": ragged.offsets}
        write_columns(columns, folder / f"{split}.safetensors")
    write_lexicon(folder, words)
    (folder / "corpus.json").write_text(json.dumps(asdict(record), indent=2) + "\n", encoding="utf-8")


def write_columns(columns: dict[str, Tensor], path: Path) -> None:
    try:
        save_file(columns, path)
    except SafetensorError as error:  # a full disk, too, is told so
        raise OSError(f"cannot write {path.name}: {error}") from None


def read_lexicon(folder: Path) -> list[str]:
    # Not splitlines(): a word may hold one of Unicode's other line ends.
    return [*LEXICON_START, *(folder / LEXICON).read_bytes().decode("utf-8").split("\n")[:-1]]


def write_lexicon(folder: Path, words: Sequence[str]) -> None:
    lexicon = "".join(f"{word}\n" for word in words[len(LEXICON_START) :])
    (folder / LEXICON).write_text(lexicon, encoding="utf-8", newline="\n")
