"""Small readers whose weights are large, so that nothing they do can hide, and questions that are hard to read."""

from dataclasses import fields
from typing import Any

import numpy as np
import torch
from builders import random_example
from torch import nn

from epireader.data.example import Example
from epireader.readers import READERS
from epireader.readers.epireader import EpiReader, EpiReaderConfig
from epireader.readers.extractor import AttentionSumConfig, AttentionSumReader
from epireader.readers.language_model import LanguageModelConfig, LanguageModelReader
from epireader.readers.memory import MemoryConfig, MemoryReader
from epireader.readers.reading import ReaderModule
from reference.cases import Case, encode

KNOWN = tuple(f"w{n}" for n in range(8))
"""The words small readers know."""
STRANGERS = 3
WORDS = 2 + STRANGERS + len(KNOWN)


def roughened(module: nn.Module, seed: int, scale: float = 0.6) -> nn.Module:
    """In double precision, with every weight and bias drawn anew."""
    generator = torch.Generator().manual_seed(seed)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
        for part in module.modules():
            if isinstance(part, nn.Embedding):
                part.weight[0] = 0.0
    return module


def epireader(seed: int = 0, **settings: float) -> EpiReader:
    sizes = {"embedding_dim": 4, "hidden_dim": 3, "hypotheses": 3, "filters": 3, "reasoner_hidden_dim": 3}
    return roughened(EpiReader(EpiReaderConfig(**(sizes | settings)), WORDS), seed)


def as_reader(seed: int = 0) -> AttentionSumReader:
    return roughened(AttentionSumReader(AttentionSumConfig(embedding_dim=4, hidden_dim=3), WORDS), seed)


def memory_reader(seed: int = 0, window: int = 5) -> MemoryReader:
    return roughened(MemoryReader(MemoryConfig(embedding_dim=4, window=window), WORDS), seed)


def language_model(seed: int = 0) -> LanguageModelReader:
    return roughened(LanguageModelReader(LanguageModelConfig(embedding_dim=4, hidden_dim=3), WORDS), seed)


def small_settings(name: str) -> Any:
    """Few and small weights for any reader of the table: whatever it calls its sizes."""
    kind = READERS[name]
    sizes = {"embedding_dim": 4, "hidden_dim": 3, "hypotheses": 3, "filters": 3, "reasoner_hidden_dim": 3}
    return kind.config(**{field.name: sizes[field.name] for field in fields(kind.config) if field.name in sizes})


def any_reader(name: str, seed: int = 0) -> ReaderModule:
    """A small reader by its name in the table."""
    return roughened(READERS[name].module(small_settings(name), WORDS), seed)


def hard_example(random: np.random.Generator, **sizes: int) -> Example:
    """With strangers, phrases, a candidate that may stand nowhere, and an answer that may be missing."""
    example = random_example(random, **({"words": 12, "candidates": 5, "phrase": 3} | sizes))
    candidates = list(example.candidates)
    if random.random() < 0.5:
        absent = tuple(f"w{n}" for n in random.integers(0, 16, random.integers(1, 4)))
        if absent not in candidates:
            candidates.insert(int(random.integers(0, len(candidates) + 1)), absent)
    draw = random.random()
    answer = None if draw < 0.15 else candidates[int(random.integers(0, len(candidates)))]
    return Example(
        sentences=example.sentences,
        question=example.question,
        candidates=tuple(candidates),
        answer=("elsewhere",) if draw > 0.9 else answer,
    )


def hard_cases(seed: int, count: int, **sizes: int) -> list[Case]:
    random = np.random.default_rng(seed)
    return [encode(hard_example(random, **sizes), KNOWN, STRANGERS) for _ in range(count)]
