"""Questions made from a book by the rules of the Children's Book Test.

Twenty consecutive sentences of one book are the passage; the twenty-first is the question, with one word left out that
stands in the passage too. The candidates are words of its kind from the passage. What kind each word is of is said by
one letter a word, from a file, a tagger or `epireader.text.names`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

NAME, NOUN, OTHER = "N", "C", "-"
"""The kinds of word: names (of anything, capitalised), common nouns, the rest."""

PASSAGE = 20
"""Sentences in a passage."""

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedBook:
    """The sentences of one book, and a letter for every word of them."""

    title: str
    sentences: Sequence[Words]
    kinds: Sequence[str]

    def __post_init__(self) -> None:
        if list(map(len, self.sentences)) != list(map(len, self.kinds)):
            raise ValueError(f"the book {self.title!r} must have one kind for each of its words")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClozeRules:
    """What is left out and what is offered in its place."""

    kind: str = NAME
    """The kind of word to leave out: NAME or NOUN."""
    candidates: int = 10
    """How many words to choose from. Where names are too few, nouns of the passage fill up."""
    fewest: int = 10
    """A passage that has fewer candidates than this to offer makes no question."""
    case_twins: bool = False
    """Whether a wrong candidate may be the answer but for its case (CHUCK and Chuck), as in CBT."""

    def __post_init__(self) -> None:
        if self.kind not in (NAME, NOUN):
            raise ValueError(f"the kind of word to leave out must be {NAME} or {NOUN}, got {self.kind!r}")
        if not 2 <= self.fewest <= self.candidates:
            raise ValueError(f"fewest must lie between 2 and the {self.candidates} candidates, got {self.fewest}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloze:
    """One question: its passage, the sentence after it, and which word of that is left out."""

    passage: tuple[Words, ...]
    sentence: Words
    blank: int
    """The place in `sentence` of the word to find."""
    candidates: Words
    """Sorted; the answer is among them."""
    title: str
    number: int
    """The place of `sentence` in its book; the book's first sentence has number 0."""

    @property
    def answer(self) -> str:
        return self.sentence[self.blank]


def clozes(book: TaggedBook, rules: ClozeRules, *, every: int = 1, seed: int = 0) -> Iterator[Cloze]:
    """The questions of a book, from first to last, each at least `every` sentences after the one before.

    What a passage is asked depends on the seed, the title and its place in the book, and on nothing else.
    """
    if every < 1:
        raise ValueError(
            f"a question can stand at every sentence or more rarely, so every must be 1 or more, got {every}"
        )
    number = PASSAGE
    while number < len(book.sentences):
        question = cloze_at(book, number, rules, Random(f"{seed} {rules.kind} {number} {book.title}"))
        if question:
            yield question
        number += every if question else 1


def cloze_at(book: TaggedBook, number: int, rules: ClozeRules, random: Random) -> Cloze | None:
    """The question that sentence `number` of a book makes, None where it makes none."""
    passage = tuple(book.sentences[number - PASSAGE : number])
    sentence, kinds = book.sentences[number], book.kinds[number]
    places = [
        place
        for place, kind in enumerate(kinds)
        if kind == rules.kind and any(sentence[place] in words for words in passage)
    ]
    if len(passage) < PASSAGE or not places:
        return None
    blank = random.choice(places)
    candidates = _candidates(sentence[blank], passage, book.kinds[number - PASSAGE : number], rules, random)
    if len(candidates) < rules.fewest:
        return None
    return Cloze(
        passage=passage,
        sentence=sentence,
        blank=blank,
        candidates=tuple(sorted(candidates)),
        title=book.title,
        number=number,
    )


def _candidates(
    answer: str, passage: tuple[Words, ...], kinds: Sequence[str], rules: ClozeRules, random: Random
) -> list[str]:
    """The answer and others: of its kind while there are any, then nouns."""
    chosen = [answer]
    for kind in dict.fromkeys((rules.kind, NOUN)):
        others = dict.fromkeys(  # a set whose order is that of the text
            word
            for words, letters in zip(passage, kinds, strict=True)
            for word, letter in zip(words, letters, strict=True)
            if letter == kind and word not in chosen
        )
        if not rules.case_twins:
            others = {word: None for word in others if word.lower() != answer.lower()}
        chosen += random.sample(list(others), min(len(others), rules.candidates - len(chosen)))
    return chosen
