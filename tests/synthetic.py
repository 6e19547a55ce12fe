"""Tasks that only a reader with the right mechanism solves. In each the most frequent candidate is right by chance only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from builders import example

from epireader.data.example import BLANK, Example
from epireader.data.questions import Questions, QuestionsBuilder

NAMES = ("Ann", "Bob", "Kit", "Max", "Pam", "Sue", "Tom")
THINGS = ("box", "bun", "cat", "cup", "dog", "hat", "jug")
CALLS = {
    "bee": "hums",
    "cow": "lows",
    "dog": "barks",
    "hen": "clucks",
    "lion": "roars",
    "pig": "grunts",
    "wolf": "howls",
}
SIDES = ("red", "dry", "old", "big", "sad", "new")


def pointing(random: np.random.Generator) -> Example:
    """`Ann has the cup .` and so on, and where the cup is: found by comparing all of the passage with the question."""
    people = some(random, NAMES, int(random.integers(3, 6)))
    things = some(random, THINGS, len(people))
    right = int(random.integers(len(people)))
    sentences = [f"{person} has the {thing} ." for person, thing in zip(people, things, strict=True)]
    sentences.insert(int(random.integers(len(people))), f"{random.choice(people)} sat .")
    return example(sentences, f"The {things[right]} is with {BLANK} .", people, people[right])


def windows(random: np.random.Generator) -> Example:
    """`red Ann dry` and so on: who stands between these two words, in this order, when others have one or both of them?"""
    people = some(random, NAMES, 5)
    left, right, *other = some(random, SIDES, 4)
    around = [(left, right), (right, left), (left, other[0]), (other[1], right)]
    sentences = [f"{a} {person} {b}" for person, (a, b) in zip(people, around, strict=False)]
    sentences.append(f"{other[0]} {people[int(random.integers(4))]} {other[1]}")
    return example(some(random, sentences, 5), f"{left} {BLANK} {right}", some(random, people[:4], 4), people[0])


def next_words(random: np.random.Generator) -> Example:
    """Which of these animals barks? The passage does not say; the words that follow one another all over do."""
    animals = some(random, tuple(CALLS), 4)
    right = animals[int(random.integers(4))]
    sentences = ["the " + " , the ".join(animals) + " met .", f"the {random.choice(animals)} slept ."]
    return example(sentences, f"the {BLANK} {CALLS[right]} .", some(random, animals, 4), right)


@dataclass(frozen=True)
class Task:
    """Questions of one sort, and how often a guess is right."""

    make: Callable[[np.random.Generator], Example]
    chance: float

    def questions(self, count: int, seed: int) -> Questions:
        random, builder = np.random.default_rng(seed), QuestionsBuilder()
        for _ in range(count):
            builder.add(self.make(random))
        return builder.build()


TASKS = {"pointing": Task(pointing, 0.26), "windows": Task(windows, 0.25), "next words": Task(next_words, 0.25)}


def some(random: np.random.Generator, words: Sequence[str], count: int) -> list[str]:
    """A few of the words, in any order."""
    return [str(word) for word in random.permutation(list(words))[:count]]
