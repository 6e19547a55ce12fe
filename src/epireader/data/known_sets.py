"""Which set of questions a corpus is, and by what name its figures go.

The paper's sets are CBT NE, CBT CN and CNN. A corpus in their form that is not as large as the official files is a
rebuilt one, and its name says so: CBT-R NE, CBT-R CN, CNN-R. So a figure can never pass for an official one by mistake.
"""

import re

from epireader.data.cbt import kind_of
from epireader.data.corpus import Corpus

OFFICIAL_SIZES = {
    "CBT NE": {"train": 108_719, "valid": 2_000, "test": 2_500},
    "CBT CN": {"train": 120_769, "valid": 2_000, "test": 2_500},
    "CNN": {"train": 380_298, "valid": 3_924, "test": 3_198},
}
"""Questions in each split (Hill et al. 2016, Hermann et al. 2015)."""

_CNN = re.compile(r"cnn(?![a-z])", re.IGNORECASE)


def set_name(corpus: Corpus) -> str:
    """`CBT NE`, `CNN-R` and so on; for a corpus of another kind the name of its folder, in lower case."""
    official = _known(corpus)
    if official is None:
        return corpus.folder.resolve().name.lower()
    sizes = {split: figures.questions for split, figures in corpus.record.statistics.items()}
    family, _, kind = official.partition(" ")
    return official if sizes == OFFICIAL_SIZES[official] else f"{family}-R {kind}".strip()


def official_name(name: str) -> str | None:
    """The official set that a set is, or was rebuilt after: `CBT NE` for `CBT-R NE`. None for any other."""
    name = name.replace("-R", "")
    return name if name in OFFICIAL_SIZES else None


def _known(corpus: Corpus) -> str | None:
    """The set a corpus has the form of: CBT by the kind asked for or its files' names, CNN by a name that begins so."""
    record = corpus.record
    kind = record.options.get("kind")
    kinds = {kind} if kind else {kind_of(source.name) for source in record.sources}
    name = f"CBT {kinds.pop()}" if len(kinds) == 1 else ""
    if name in OFFICIAL_SIZES:
        return name
    names = [source.name for source in record.sources] + [corpus.folder.resolve().name]
    return "CNN" if not kind and any(map(_CNN.match, names)) else None
