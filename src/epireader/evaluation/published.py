"""Published accuracies, on the official CBT and CNN questions: the paper's Table 2, and some that came after it.

None of them was measured here. They are in per cent, on validation and test.
"""

from dataclasses import dataclass, field

Accuracies = tuple[float | None, float | None]

HILL = "Hill et al. 2016"
KADLEC = "Kadlec et al. 2016"
HERMANN = "Hermann et al. 2015"
CHEN = "Chen et al. 2016"
TRISCHLER = "Trischler et al. 2016"
CUI = "Cui et al. 2017"
DHINGRA = "Dhingra et al. 2017"
BAJGAR = "Bajgar et al. 2016"


@dataclass(frozen=True, kw_only=True)
class System:
    """A system with published figures, and the reader here that is the same thing."""

    name: str
    source: str
    reader: str | None = None
    stage: str = "final"
    """`extractor` for the EpiReader before reranking."""
    given_vectors: bool = False
    """Whether its authors began with word vectors made elsewhere."""
    later: bool = False
    """Whether it came after the paper."""
    ensemble_of: str | None = None
    """The reader here that it is several of."""
    members: int | None = None
    """How many they are, where that is said."""
    figures: dict[str, Accuracies] = field(default_factory=dict)


def _cbt(names: Accuracies, nouns: Accuracies) -> dict[str, Accuracies]:
    return {"CBT NE": names, "CBT CN": nouns}


def _cnn(valid: float, test: float) -> dict[str, Accuracies]:
    return {"CNN": (valid, test)}


SYSTEMS = (
    System(name="Humans (context + query)", source=HILL, figures=_cbt((None, 81.6), (None, 81.6))),
    System(
        name="LSTM (context + query)",
        source=HILL,
        reader="language-model",
        figures=_cbt((51.2, 41.8), (62.6, 56.0)),
    ),
    System(name="Deep LSTM Reader", source=HERMANN, reader="deep-lstm", figures=_cnn(55.0, 57.0)),
    System(name="Attentive Reader", source=HERMANN, reader="attentive", figures=_cnn(61.6, 63.0)),
    System(name="Impatient Reader", source=HERMANN, reader="impatient", figures=_cnn(61.8, 63.8)),
    System(
        name="MemNN",
        source=HILL,
        reader="memory",
        figures={**_cbt((70.4, 66.6), (64.2, 63.0)), **_cnn(63.4, 66.8)},
    ),
    System(
        name="AS Reader",
        source=KADLEC,
        reader="as-reader",
        figures={**_cbt((73.8, 68.6), (68.8, 63.4)), **_cnn(68.6, 69.5)},
    ),
    System(name="Stanford AR", source=CHEN, reader="stanford", given_vectors=True, figures=_cnn(72.4, 72.4)),
    System(
        name="EpiReader Extractor",
        source=TRISCHLER,
        reader="epireader",
        stage="extractor",
        figures={**_cbt((73.2, 69.4), (69.9, 66.7)), **_cnn(71.8, 72.0)},
    ),
    System(
        name="EpiReader",
        source=TRISCHLER,
        reader="epireader",
        figures={**_cbt((75.3, 69.7), (71.5, 67.4)), **_cnn(73.4, 74.0)},
    ),
    System(
        name="AS Reader (ensemble)",
        source=KADLEC,
        ensemble_of="as-reader",
        figures=_cbt((74.5, 70.6), (71.1, 68.9)),
    ),
    System(
        name="EpiReader (ensemble of 7)",
        source=TRISCHLER,
        ensemble_of="epireader",
        members=7,
        figures=_cbt((76.6, 71.8), (73.6, 70.6)),
    ),
    System(
        name="AoA Reader",
        source=CUI,
        later=True,
        figures={**_cbt((77.8, 72.0), (72.2, 69.4)), **_cnn(73.1, 74.4)},
    ),
    System(name="AoA Reader, reranked", source=CUI, later=True, figures=_cbt((79.6, 74.0), (75.7, 73.1))),
    System(
        name="GA Reader",
        source=DHINGRA,
        later=True,
        figures={**_cbt((78.5, 74.9), (74.4, 70.7)), **_cnn(77.9, 77.9)},
    ),
    System(name="AS Reader, on BookTest", source=BAJGAR, later=True, figures=_cbt((80.5, 76.2), (83.2, 80.8))),
)
"""In the order of the table."""

GIVEN_VECTORS = frozenset(system.reader for system in SYSTEMS if system.given_vectors)

EPIREADER_PRESETS = {"CBT NE": "cbt-ne", "CBT CN": "cbt-cn", "CNN": "cnn"}
"""The EpiReader's settings for each set (Table 1)."""

FLOOR_NAMES = {
    "most-frequent": "Most frequent candidate",
    "last-mentioned": "Last mentioned candidate",
    "random": "Random candidate",
}


def compared_on(official: str) -> tuple[str, ...]:
    """The readers that the table has figures of for a set, in its order."""
    readers = (system.reader for system in SYSTEMS if official in system.figures)
    return tuple(dict.fromkeys(reader for reader in readers if reader))
