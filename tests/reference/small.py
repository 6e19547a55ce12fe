"""Small readers whose weights are large, so that nothing they do can hide, and questions that are hard to read."""

from dataclasses import fields
from typing import Any

import numpy as np
import torch
from builders import random_example
from torch import nn

from epireader.data.example import Example
from epireader.data.vocabulary import Vocabulary
from epireader.readers import READERS
from epireader.readers.epireader import EpiReader
from epireader.readers.extractor import AttentionSumReader
from epireader.readers.language_model import LanguageModelReader
from epireader.readers.memory import MemoryReader
from epireader.readers.reading import ReaderModule
from reference.cases import Case, encode
from reference.sense import ROOM, VOCABULARY

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


SMALL: dict[str, float] = {
    "embedding_dim": 4, "hidden_dim": 3, "hypotheses": 3, "filters": 3, "reasoner_hidden_dim": 3, "dropout": 0.0,
    "sense_embedding_dim": 3, "sense_words": ROOM,
}  # fmt: skip


def small_settings(name: str, sizes: dict[str, float]) -> dict[str, float]:
    """Those of the sizes that a reader has."""
    known = {field.name for field in fields(READERS[name].config)}
    return {size: value for size, value in sizes.items() if size in known}


MORE: dict[str, tuple[str, dict[str, float]]] = {
    "as-reader, more than its paper's": ("as-reader", {"marks_question": True, "asks_at_blank": True}),
    "epireader, more than its paper's": (
        "epireader",
        {"marks_question": True, "asks_at_blank": True, "fits_blank": True, "reads_again": 2},
    ),
    "as-reader, aligned": ("as-reader", {"aligns_question": True}),
    "epireader, aligned": ("epireader", {"aligns_question": True, "reads_again": 2}),
    "as-reader, marks beside": ("as-reader", {"marks_beside": 2, "asks_at_blank": True}),
    "epireader, marks beside and sense": ("epireader", {"marks_beside": 2, "asks_at_blank": True, "sense_dim": 3}),
}
"""Readers with what their papers' do not have."""


def small(name: str, seed: int = 0, **settings: float) -> ReaderModule:
    """Any reader, by its name, or by that of one with more."""
    name, more = MORE.get(name, (name, {}))
    settings = more | settings
    kind = READERS[name]
    module = kind.module(kind.config(**(small_settings(name, SMALL) | settings)), WORDS)
    module.introduce(Vocabulary(VOCABULARY, STRANGERS))
    return roughened(module, seed)


def epireader(seed: int = 0, **settings: float) -> EpiReader:
    return small("epireader", seed, **settings)


def as_reader(seed: int = 0, **settings: float) -> AttentionSumReader:
    return small("as-reader", seed, **settings)


def memory_reader(seed: int = 0, window: int = 5) -> MemoryReader:
    return small("memory", seed, window=window)


def language_model(seed: int = 0) -> LanguageModelReader:
    return small("language-model", seed)


def small_config(name: str) -> Any:
    """The settings of a small reader of the table."""
    return READERS[name].config(**small_settings(name, SMALL))


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
