"""The readers. To add one: a file here, a line in `READERS`, a preset."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from epireader.readers.epireader import EpiReader, EpiReaderConfig
from epireader.readers.extractor import AttentionSumConfig, AttentionSumReader


@dataclass(frozen=True)
class ReaderKind:
    """A reader and the dataclass of its settings."""

    config: type[Any]
    module: type[nn.Module]


READERS = {
    "epireader": ReaderKind(EpiReaderConfig, EpiReader),
    "as-reader": ReaderKind(AttentionSumConfig, AttentionSumReader),
}
