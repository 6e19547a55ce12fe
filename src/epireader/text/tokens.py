"""The words of a text, each with its place in it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """One word as the readers see it, and the characters `text[start:end]` of the original that it stands for."""

    text: str
    start: int
    end: int


Sentence = tuple[Token, ...]
