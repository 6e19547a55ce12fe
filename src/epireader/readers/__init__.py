"""The readers. To add one: a file here, a line in `READERS`, a preset."""

from dataclasses import dataclass
from typing import Any

from epireader.readers.attentive import AttentiveConfig, AttentiveReader
from epireader.readers.deep_lstm import DeepLSTMConfig, DeepLSTMReader
from epireader.readers.epireader import EpiReader, EpiReaderConfig
from epireader.readers.extractor import AttentionSumConfig, AttentionSumReader
from epireader.readers.impatient import ImpatientReader
from epireader.readers.language_model import LanguageModelConfig, LanguageModelReader
from epireader.readers.memory import MemoryConfig, MemoryReader
from epireader.readers.reading import ReaderModule
from epireader.readers.stanford import StanfordConfig, StanfordReader


@dataclass(frozen=True)
class ReaderKind:
    """A reader and the dataclass of its settings."""

    config: type[Any]
    module: type[ReaderModule]


READERS = {
    "epireader": ReaderKind(EpiReaderConfig, EpiReader),
    "as-reader": ReaderKind(AttentionSumConfig, AttentionSumReader),
    "attentive": ReaderKind(AttentiveConfig, AttentiveReader),
    "impatient": ReaderKind(AttentiveConfig, ImpatientReader),
    "deep-lstm": ReaderKind(DeepLSTMConfig, DeepLSTMReader),
    "stanford": ReaderKind(StanfordConfig, StanfordReader),
    "memory": ReaderKind(MemoryConfig, MemoryReader),
    "language-model": ReaderKind(LanguageModelConfig, LanguageModelReader),
}
