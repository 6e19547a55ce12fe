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
COLOURS = ("red", "blue", "green", "white", "black", "pink")
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
ENTITIES = tuple(f"@entity{n}" for n in range(500))


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


def keyed(random: np.random.Generator) -> Example:
    """`red is five` and so on, and what was red: the question must be in mind where its colour stands."""
    colours, numbers = some(random, COLOURS[:3], 3), some(random, NUMBERS, 3)
    sentences = [f"{colour} is {number}" for colour, number in zip(colours, numbers, strict=True)]
    right = int(random.integers(3))
    return example(one_again(random, sentences, numbers), f"{BLANK} was {colours[right]}", NUMBERS, numbers[right])


def crossing(random: np.random.Generator) -> Example:
    """`red cup five`, `blue cup two` and so on: either word of the question leaves two numbers, only both leave one."""
    pairs = some(random, [f"{colour} {thing}" for colour in COLOURS[:2] for thing in THINGS[:2]], 4)
    numbers, right = some(random, NUMBERS, 4), int(random.integers(4))
    sentences = [f"{pair} {number}" for pair, number in zip(pairs, numbers, strict=True)]
    return example(one_again(random, sentences, numbers), f"{pairs[right]} {BLANK}", NUMBERS, numbers[right])


def renamed(random: np.random.Generator) -> Example:
    """`red @entity31` and so on: names that mean nothing but where they first stand."""
    colours, entities = some(random, COLOURS, 4), some(random, ENTITIES, 4)
    sentences = [f"{colour} {entity}" for colour, entity in zip(colours, entities, strict=True)]
    right = int(random.integers(4))
    candidates = some(random, entities, 4)
    return example(one_again(random, sentences, entities), f"{colours[right]} {BLANK}", candidates, entities[right])


def one_again(random: np.random.Generator, sentences: list[str], answers: Sequence[str]) -> list[str]:
    """The sentences with any one answer said once more somewhere, so that one of them is the most frequent."""
    place = int(random.integers(len(sentences) + 1))
    return [*sentences[:place], f"and {random.choice(answers)}", *sentences[place:]]


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


TASKS = {
    "pointing": Task(pointing, 0.26),
    "windows": Task(windows, 0.25),
    "next words": Task(next_words, 0.25),
    "keyed": Task(keyed, 1 / 3),
    "crossing": Task(crossing, 0.25),
    "renamed": Task(renamed, 0.25),
}


def some(random: np.random.Generator, words: Sequence[str], count: int) -> list[str]:
    """A few of the words, in any order."""
    return [str(word) for word in random.permutation(list(words))[:count]]
