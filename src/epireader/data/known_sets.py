"""Which set of questions a corpus is, and by what name its figures go.

The paper's sets are CBT NE, CBT CN and CNN. A corpus in their form that is not as large as the official files is a
rebuilt one, and its name says so: CBT-R NE, CBT-R CN, CNN-R. So a figure can never pass for an official one by mistake.
"""

import re
from collections.abc import Mapping, Sequence

from epireader.data.cbt import kind_of

OFFICIAL_SIZES = {
    "CBT NE": {"train": 108_719, "valid": 2_000, "test": 2_500},
    "CBT CN": {"train": 120_769, "valid": 2_000, "test": 2_500},
    "CNN": {"train": 380_298, "valid": 3_924, "test": 3_198},
}
"""Questions in each split (Hill et al. 2016, Hermann et al. 2015)."""

_CNN = re.compile(r"cnn(?![a-z])", re.IGNORECASE)


def set_name(folder: str, sources: Sequence[str], kind: str | None, sizes: Mapping[str, int]) -> str:
    """`CBT NE`, `CNN-R` and so on; for a corpus of another kind the name of its folder, in lower case.

    `kind` is what it was prepared with (`--kind`), `sizes` are the questions in each split.
    """
    official = _known(folder, sources, kind)
    if official is None:
        return folder.lower()
    family, _, part = official.partition(" ")
    return official if sizes == OFFICIAL_SIZES[official] else f"{family}-R {part}".strip()


def official_name(name: str) -> str | None:
    """The official set that a set is, or was rebuilt after: `CBT NE` for `CBT-R NE`. None for any other."""
    name = name.replace("-R", "")
    return name if name in OFFICIAL_SIZES else None


def _known(folder: str, sources: Sequence[str], kind: str | None) -> str | None:
    """The set a corpus has the form of: CBT by the kind asked for or its files' names, CNN by a name that begins so."""
    kinds = {kind} if kind else set(map(kind_of, sources))
    name = f"CBT {kinds.pop()}" if len(kinds) == 1 else ""
    if name in OFFICIAL_SIZES:
        return name
    return "CNN" if not kind and any(map(_CNN.match, (*sources, folder))) else None
