"""Small things for tests: examples, vocabularies, batches, readers."""

import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from epireader.data.batches import Batch, BatchCutter
from epireader.data.corpus import Corpus, CorpusRecord, open_corpus, write_corpus
from epireader.data.example import BLANK, Example
from epireader.data.prepare_books import ShelfBuilder
from epireader.data.questions import Lexicon, QuestionsBuilder
from epireader.data.shelf import Shelf
from epireader.data.statistics import StatisticsCounter
from epireader.data.vocabulary import Vocabulary
from epireader.evaluation.results import Result
from epireader.text.cloze import TaggedBook


def example(
    passage: Sequence[str], question: str, candidates: Sequence[str] = (), answer: str | None = None
) -> Example:
    """An example from sentences and phrases written as plain strings."""
    return Example(
        sentences=tuple(tuple(sentence.split()) for sentence in passage),
        question=tuple(question.split()),
        candidates=tuple(tuple(candidate.split()) for candidate in candidates),
        answer=None if answer is None else tuple(answer.split()),
    )


def random_example(
    random: np.random.Generator,
    *,
    words: int = 12,
    sentences: int = 4,
    longest: int = 6,
    candidates: int = 4,
    phrase: int = 1,
) -> Example:
    """A random example; its candidates stand in its passage, and each has at most `phrase` words."""
    text = [
        tuple(f"w{n}" for n in random.integers(0, words, random.integers(1, longest + 1)))
        for _ in range(random.integers(1, sentences + 1))
    ]
    flat = [word for sentence in text for word in sentence]
    chosen: dict[tuple[str, ...], None] = {}
    for _ in range(candidates):
        start, length = int(random.integers(0, len(flat))), int(random.integers(1, phrase + 1))
        chosen[tuple(flat[start : start + length])] = None
    question = [f"w{n}" for n in random.integers(0, words, random.integers(0, longest + 1))]
    question.insert(int(random.integers(0, len(question) + 1)), BLANK)
    phrases = tuple(chosen)
    return Example(
        sentences=tuple(text),
        question=tuple(question),
        candidates=phrases,
        answer=phrases[int(random.integers(0, len(phrases)))],
    )


def vocabulary(words: int = 12, **options: int) -> Vocabulary:
    """The words w0, w1 and so on."""
    return Vocabulary(tuple(f"w{n}" for n in range(words)), **options)


def batch_of(examples: Sequence[Example], words: Vocabulary) -> Batch:
    """All examples in one batch."""
    builder = QuestionsBuilder()
    for one in examples:
        builder.add(one)
    questions = builder.build()
    rows = np.arange(len(examples))
    return BatchCutter(questions, words).cut(torch.from_numpy(rows), questions.sizes.of(rows))


def who_has_what(random: np.random.Generator) -> Example:
    """`Ann has the cup .` and so on: a question that can only be answered by reading."""
    people = random.permutation(["Ann", "Bob", "Kit", "Max", "Pam", "Sue", "Tom"])[: int(random.integers(3, 6))]
    things = random.permutation(["box", "bun", "cat", "cup", "dog", "hat", "jug"])[: len(people)]
    right = int(random.integers(0, len(people)))
    return example(
        [f"{person} has the {thing} ." for person, thing in zip(people, things, strict=True)],
        f"The {things[right]} is with {BLANK} .",
        people,
        people[right],
    )


def corpus_of(folder: Path, **splits: Sequence[Example]) -> Corpus:
    """A prepared corpus of these questions."""
    lexicon = Lexicon()
    builders = {split: QuestionsBuilder(lexicon) for split in splits}
    counters = {split: StatisticsCounter() for split in splits}
    for split, asked in splits.items():
        for one in asked:
            builders[split].add(one)
            counters[split].add(one)
    figures = {split: counter.result() for split, counter in counters.items()}
    folder.mkdir(parents=True)
    write_corpus(folder, builders, CorpusRecord(made_by="tests", sources=(), options={}, skipped=0, statistics=figures))
    return open_corpus(folder)


def toy_corpus(folder: Path, *, train: int = 200, valid: int = 40, seed: int = 0) -> Corpus:
    """A prepared corpus of `who_has_what` questions."""
    random = np.random.default_rng(seed)
    counts = {"train": train, "valid": valid}
    return corpus_of(folder, **{split: [who_has_what(random) for _ in range(n)] for split, n in counts.items()})


def result(**changes: Any) -> Result:
    """A line of results."""
    figures = {"accuracy": {"extractor": 0.5, "final": 0.75}}
    values: dict[str, Any] = {
        "set": "CBT-R NE", "corpus": "c0ffee", "reader": "as-reader", "preset": "as-reader", "seed": 0,
        "overrides": [], "embeddings": None, "max_minutes": 0.0, "finished": True, "epochs": 4, "best_epoch": 2,
        "seconds": 59.0, "parameters": 1000, "valid": figures, "test": figures, "version": "0", "torch": "2",
        "device": "CPU", "date": "2026-11-15", "command": "epireader reproduce corpora/cbt-ne --out results",
    }  # fmt: skip
    return Result(**{**values, **changes})


MANY_KINDS = {  # a word may be of one kind here and of another there, or differ from one of another kind by case alone
    **dict.fromkeys(("Ann", "ANN", "Bob", "Cid", "Dot", "Eve", "Fay", "Gus"), "N"),
    **dict.fromkeys(("axe", "bun", "cap", "dog", "elk", "fig", "gem", "rose", "bob"), "C"),
    "Rose": "NC",
    "Will": "NC-",
    **dict.fromkeys(("the", "a", "sees", "has", "and", "."), "-"),
}


def small_book(random: np.random.Generator, *, sentences: int = 40, longest: int = 6, words: int = 30) -> TaggedBook:
    """A book without any sense, of the first so many words of a shuffled list."""
    known = random.permutation(list(MANY_KINDS)).tolist()[:words]
    draws = [
        random.integers(0, 6 * len(known), length).tolist() for length in random.integers(1, longest + 1, sentences)
    ]
    text = [tuple(known[n // 6] for n in row) for row in draws]
    kinds = ["".join(MANY_KINDS[known[n // 6]][n % 6 % len(MANY_KINDS[known[n // 6]])] for n in row) for row in draws]
    return TaggedBook(title=f"Book {random.integers(1 << 30)}", sentences=text, kinds=kinds)


def household_book(random: np.random.Generator, title: str, sentences: int = 60) -> TaggedBook:
    """`Ann cup` and so on: who has what stays the same within a book, and is different in the next."""
    people = random.permutation(["Ann", "Bob", "Kit", "Max", "Pam", "Sue", "Tom"]).tolist()
    things = ["box", "bun", "cat", "cup", "dog", "hat", "jug"]
    pairs = [int(n) for n in random.integers(0, len(people), sentences)]
    return TaggedBook(title=title, sentences=[(people[n], things[n]) for n in pairs], kinds=["NC"] * sentences)


def shelf_of(books: Sequence[TaggedBook], *, sentence_limit: int = 100, folder: Path = Path("nowhere")) -> Shelf:
    """Books compiled in memory."""
    builder = ShelfBuilder(sentence_limit)
    for book in books:
        builder.add(book)
    return builder.build(folder, ())


def write_books(path: Path, books: Sequence[TaggedBook]) -> Path:
    """Books as a text with its kinds beside it."""
    lines, kinds = [], []
    for book in books:
        lines += [f"_BOOK_TITLE_ : {book.title}", *(" ".join(sentence) for sentence in book.sentences)]
        kinds += ["", *book.kinds]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    path.with_name(f"{path.stem}.kinds.txt").write_text("".join(f"{line}\n" for line in kinds), encoding="utf-8")
    return path


@contextmanager
def small_disk(largest: int = 100) -> Iterator[None]:
    """Here no file can grow beyond so many bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
