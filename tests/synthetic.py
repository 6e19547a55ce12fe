"""Tasks that only a reader with the right mechanism solves. In each the most frequent candidate is right by chance only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

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
FILLERS = ("and", "here", "now", "often", "so", "soon", "still", "then", "too", "very")
ENTITIES = tuple(f"@entity{n}" for n in range(500))


def pointing(random: np.random.Generator) -> Example:
    """`@entity31 has the cup .` and so on, and where the cup is: so many names that only pointing at one can tell it."""
    people = some(random, ENTITIES, int(random.integers(3, 6)))
    things = some(random, THINGS, len(people))
    right = int(random.integers(len(people)))
    sentences = [f"{person} has the {thing} ." for person, thing in zip(people, things, strict=True)]
    sentences.insert(int(random.integers(len(people))), f"{random.choice(people)} sat .")
    return example(sentences, f"The {things[right]} is with {BLANK} .", people, people[right])


def together(random: np.random.Generator) -> Example:
    """`so @entity31 very @entity7 now` and so on, with no full stops: which name shares a sentence with the question's?"""
    entities = some(random, ENTITIES, 8)
    people, asked = entities[:4], entities[4:]
    words = [some(random, (*pair, *random.choice(FILLERS, 3)), 5) for pair in zip(people, asked, strict=True)]
    sentences = some(random, [*map(" ".join, words), f"{random.choice(people)} sat"], 5)
    return example(sentences, f"{asked[0]} is with {BLANK}", some(random, people, 4), people[0])


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


def link(random: np.random.Generator) -> Example:
    """`cup five` and so on among as many `red cup`: which number stands with the cup?"""
    sentences, (_, thing, number) = chained(random)
    return example(one_again(random, sentences, NUMBERS[:4]), f"{BLANK} {thing}", NUMBERS[:4], number)


def first_link(random: np.random.Generator) -> Example:
    """What is red?"""
    sentences, (colour, thing, _) = chained(random)
    return example(one_again(random, sentences, THINGS[:4]), f"{BLANK} {colour}", THINGS[:4], thing)


def chain(random: np.random.Generator) -> Example:
    """Which number stands with what is red? Where to look for it is known only to one who has looked for the red thing."""
    sentences, (colour, _, number) = chained(random)
    return example(one_again(random, sentences, NUMBERS[:4]), f"{BLANK} {colour} then", NUMBERS[:4], number)


def chained(random: np.random.Generator) -> tuple[list[str], tuple[str, str, str]]:
    """`red cup`, `cup five` and so on in any order, and the words of one of the four chains."""
    chains = list(zip(*(some(random, words[:4], 4) for words in (COLOURS, THINGS, NUMBERS)), strict=True))
    colour_of = [f"{colour} {thing}" for colour, thing, _ in chains]
    number_of = [f"{thing} {number}" for _, thing, number in chains]
    return some(random, colour_of + number_of, 8), chains[0]


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


Maker = Callable[[np.random.Generator], Example]


@dataclass(frozen=True)
class Task:
    """Questions of one sort, and how often a guess is right."""

    make: Maker
    chance: float
    leading_up: tuple[Maker, ...] = ()
    """Easier questions that a lesson holds as many of."""

    def questions(self, count: int, seed: int) -> Questions:
        return made((self.make,), count, seed)

    def lesson(self, count: int, seed: int) -> Questions:
        """Questions to learn from."""
        return made((self.make, *self.leading_up), count, seed)


TASKS = {
    "pointing": Task(pointing, 0.26),
    "together": Task(together, 0.25),
    "windows": Task(windows, 0.25),
    "next words": Task(next_words, 0.25),
    "keyed": Task(keyed, 1 / 3),
    "link": Task(link, 0.25),
    "chain": Task(chain, 0.25, leading_up=(first_link, link)),
    "renamed": Task(renamed, 0.25),
}


def made(makers: Sequence[Maker], count: int, seed: int) -> Questions:
    """So many questions, by each of the makers in turn."""
    random, builder = np.random.default_rng(seed), QuestionsBuilder()
    for maker in islice(cycle(makers), count):
        builder.add(maker(random))
    return builder.build()


def some(random: np.random.Generator, words: Sequence[str], count: int) -> list[str]:
    """A few of the words, in any order."""
    return [str(word) for word in random.permutation(list(words))[:count]]
