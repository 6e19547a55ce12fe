"""Everything a run can be told, and the presets."""

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from epireader.readers.saved import read_record, reader_settings
from epireader.settings import (
    BadSetting,
    from_mapping,
    nearest,
    parse_override,
    refuse_below_one,
    refuse_negative,
    refuse_no_share,
)
from epireader.training.optimizer import OPTIMIZERS

PRESETS = Path(__file__).parent / "presets"


@dataclass(frozen=True, kw_only=True)
class VocabularyConfig:
    """Which words get vectors of their own."""

    min_count: int = 1
    """A word that stands fewer times than this in the training text is a stranger."""
    max_words: int = 0
    """Only so many words, the most frequent; 0: all of them."""
    strangers: int = 64
    """How many vectors strangers share."""
    lowercase: bool = False
    """Whether case is forgotten."""
    rename_entities: bool = False
    """Whether the anonymous entities of CNN / Daily Mail are renamed by order of appearance in each question."""

    def __post_init__(self) -> None:
        refuse_negative(self, "vocabulary", "min_count", "max_words")


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How a reader is taught (section 5.1 of the paper, where it says)."""

    batch_size: int = 32
    """Questions in a step, over all processes together."""
    optimizer: str = "adam"
    """adam, or sgd (plain gradient descent)."""
    learning_rate: float = 0.001
    """The optimizer's."""
    l2: float = 0.0
    """Weight of the squared matrices in the loss; biases and word vectors are left alone."""
    clip_norm: float = 0.0
    """Gradients longer than this are shortened to it; 0: never."""
    average: float = 0.0
    """Ask and keep the mean of the weights over the steps, each step counting this much of the one after it, or less
    while few have been taken; 0: do not."""
    patience: int = 2
    """Stop after so many epochs without a gain on the validation questions."""
    max_epochs: int = 20
    """Stop after so many epochs in any case."""
    max_minutes: float = 0.0
    """Begin no epoch that would not end within so many minutes; 0: no limit. A first epoch that takes longer is cut."""
    seed: int = 0
    """Draws the first weights and the order of the questions."""
    read_ahead: int = 10
    """So many batches are read ahead and sorted by length."""
    shuffle_entities: bool = False
    """Whether the anonymous entities of CNN / Daily Mail trade names every time a question is read."""
    strangers: float = 0.0
    """The share of names among the candidates that are made strangers for a question, drawn anew every time it is read."""
    own_questions: int = 0
    """How many questions a passage asks itself beside every given one, drawn anew every time: a sentence is taken out of it, and in
    that sentence a mention of a candidate left out."""
    precision: str = "tf32"
    """fp32, tf32 (the GPU's faster fp32) or bf16 (mixed)."""
    log_every: int = 100
    """Write the loss down every so many steps."""
    checkpoint_minutes: float = 5.0
    """Save so that the run can go on after a crash, this often."""

    def __post_init__(self) -> None:
        refuse_below_one(self, "training", "batch_size", "patience", "max_epochs", "read_ahead", "log_every")
        if self.precision not in ("fp32", "tf32", "bf16"):
            raise ValueError(f"training.precision must be fp32, tf32 or bf16, got {self.precision!r}")
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"training.optimizer must be {' or '.join(OPTIMIZERS)}, got {self.optimizer!r}")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"training.learning_rate must be above 0 and finite, got {self.learning_rate}")
        refuse_no_share(self, "training", "average")
        refuse_negative(self, "training", "l2", "clip_norm", "own_questions", "checkpoint_minutes", "max_minutes")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"training.seed must be at least 0 and below 2**32, got {self.seed}")
        if not 0 <= self.strangers <= 1:
            raise ValueError(f"training.strangers is a share and lies between 0 and 1, got {self.strangers}")


@dataclass(frozen=True, kw_only=True)
class BooksConfig:
    """What is asked of prepared books, where a reader is trained on them."""

    questions: int = 200_000
    """Questions in an epoch."""
    names: float = 0.5
    """The share of them that is about names; the rest is about nouns."""
    max_words: int = 1000
    """A passage that has more words than this with its question is passed over."""

    def __post_init__(self) -> None:
        refuse_below_one(self, "books", "questions", "max_words")
        if not 0 <= self.names <= 1:
            raise ValueError(f"books.names is a share and lies between 0 and 1, got {self.names}")


@dataclass(frozen=True, kw_only=True)
class Config:
    """A whole run. `model` is the settings dataclass of `reader`."""

    reader: str
    model: Any
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    books: BooksConfig | None = None
    """None where nothing is said of books: they can be given all the same."""

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> "Config":
        sections = ("reader", "model", "vocabulary", "training", "books")
        for name in values:
            if name not in sections:
                raise BadSetting(f"there is no setting {name}{nearest(name, sections)}")
            if name != "reader" and not isinstance(values[name], Mapping):
                raise BadSetting(f"{name} is a section of settings, not one of them; got {values[name]!r}")
        reader = values.get("reader", "epireader")
        if not isinstance(reader, str):
            raise BadSetting(f"reader must be text, got {reader!r}")
        return cls(
            reader=reader,
            model=reader_settings(reader, values.get("model", {})),
            vocabulary=from_mapping(VocabularyConfig, values.get("vocabulary", {}), "vocabulary"),
            training=from_mapping(TrainingConfig, values.get("training", {}), "training"),
            books=from_mapping(BooksConfig, values["books"], "books") if "books" in values else None,
        )


def presets() -> list[str]:
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def run_name(settings: Mapping[str, Any]) -> str:
    """Settings as the name of a run's folder: `filters=16,seed=0`."""
    name = ",".join(f"{name.rpartition('.')[2]}={value}" for name, value in settings.items())
    return as_file_name(name)


def as_file_name(text: str) -> str:
    return re.sub(r"[^\w.=,+-]", "_", text)


def load_config(preset: str, overrides: Iterable[str] = ()) -> Config:
    """A preset by name, or a TOML file by path, with `section.name=value` overrides on top."""
    path = PRESETS / f"{preset}.toml"
    if preset not in presets():
        path = Path(preset)
        if not path.is_file():
            raise BadSetting(f"there is no preset {preset!r}{nearest(preset, presets())}")
    values = _read(path)
    made_for = values.get("reader")
    _override(values, overrides)
    if made_for is not None:
        _refuse_another_reader(preset, made_for, values["reader"])
    return Config.from_mapping(values)


def config_of_trained(folder: Path, overrides: Iterable[str] = (), *, with_books: bool) -> Config:
    """The settings that the reader in a folder was trained with, but for the time it was given, with overrides on top.

    Those of books are left out where none are to be read. What the reader is and which words it knows cannot be changed.
    """
    overrides = list(overrides)
    for override in overrides:
        if parse_override(override)[0] in ("", "vocabulary"):
            raise BadSetting(
                f"{override} cannot be set here: a reader that was trained before stays what it is, with its words"
            )
    record = read_record(folder)
    recorded = {"model": "model", "vocabulary": "vocabulary_choice", "training": "training"}
    recorded |= {"books": "books"} if with_books else {}
    values = {section: dict(record.get(name) or {}) for section, name in recorded.items()}
    values["training"].pop("max_minutes", None)
    for trace in ("path", "sha256"):  # of the books it was trained on
        values.get("books", {}).pop(trace, None)
    whole = {"reader": record.get("reader"), **values}
    _override(whole, overrides)
    return Config.from_mapping(whole)


def _override(values: dict[str, Any], overrides: Iterable[str]) -> None:
    for override in overrides:
        section, name, value = parse_override(override)
        where = values.setdefault(section, {}) if section else values
        if not isinstance(where, dict):
            raise BadSetting(f"there is no setting {section}.{name}")
        where[name] = value


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSetting(f"{path}: {error}") from None


def _refuse_another_reader(preset: str, made_for: Any, wanted: Any) -> None:
    """Settings found for one reader are not another's, even where they have the same names."""
    fitting = [name for name in presets() if _read(PRESETS / f"{name}.toml")["reader"] == wanted]
    if wanted != made_for and fitting:  # a reader that there is not is refused for that
        raise BadSetting(f"preset {preset} is for the reader {made_for}, not {wanted}; give {' or '.join(fitting)}")
