"""Questions from a book: the rules of the Children's Book Test, checked on small books and against CBT-R."""

import lzma
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from builders import example
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_data

from epireader.data.books import example_of, tagged_books
from epireader.data.example import BLANK, Example
from epireader.text.cloze import NAME, NOUN, PASSAGE, ClozeRules, TaggedBook, cloze_at, clozes

PEOPLE = ["Ann", "Bob", "Cid", "Dot", "Eve", "Fay", "Gus", "Hal", "Ivy", "Jim", "Kit", "Lee"]
THINGS = ["axe", "bun", "cap", "dog", "elk", "fig", "gem", "hat", "ink", "jug", "key", "log"]
ANY_SIZE = ClozeRules(fewest=2)


def book(sentences: int = 60, people: int = 12, seed: int = 0) -> TaggedBook:
    """`Ann sees the axe .` and so on."""
    random = Random(seed)
    lines = [(random.choice(PEOPLE[:people]), "sees", "the", random.choice(THINGS), ".") for _ in range(sentences)]
    return TaggedBook(title="A Book", sentences=lines, kinds=["N--C-"] * sentences)


books = st.tuples(st.integers(0, 70), st.integers(1, 12), st.integers(0, 999))
rules = st.builds(
    ClozeRules, kind=st.sampled_from([NAME, NOUN]), candidates=st.integers(6, 12), fewest=st.integers(2, 6)
)


@given(books, rules, st.integers(1, 30), st.integers())
def test_every_question_follows_the_rules(
    numbers: tuple[int, int, int], rules: ClozeRules, every: int, seed: int
) -> None:
    tagged = book(*numbers)
    for question in clozes(tagged, rules, every=every, seed=seed):
        number = question.number
        assert question.passage == tuple(tagged.sentences[number - 20 : number])
        assert question.sentence == tagged.sentences[number]
        assert tagged.kinds[number][question.blank] == rules.kind
        assert any(question.answer in words for words in question.passage)
        assert question.answer in question.candidates
        assert list(question.candidates) == sorted(set(question.candidates))
        assert rules.fewest <= len(question.candidates) <= rules.candidates
        of_the_kind = {
            w for words in question.passage for w in words if w in (PEOPLE if rules.kind == NAME else THINGS)
        }
        chosen = of_the_kind & {*question.candidates}
        assert len(chosen) == min(rules.candidates, len(of_the_kind))
        assert {*question.candidates} - chosen <= {w for words in question.passage for w in words if w in THINGS}


@given(books, st.integers(1, 30))
def test_questions_keep_their_distance_and_none_is_missed(numbers: tuple[int, int, int], every: int) -> None:
    tagged = book(*numbers)
    made = [question.number for question in clozes(tagged, ANY_SIZE, every=every)]
    possible = [n for n in range(PASSAGE, len(tagged.sentences)) if cloze_at(tagged, n, ANY_SIZE, Random(0))]
    assert all(after - before >= every for before, after in pairwise(made))
    expected: list[int] = []
    for number in possible:
        if not expected or number >= expected[-1] + every:
            expected.append(number)
    assert made == expected


def test_every_sentence_after_the_twentieth_can_be_a_question() -> None:
    made = [question.number for question in clozes(book(40, people=1), ANY_SIZE)]
    assert made == list(range(20, 40))
    assert list(clozes(book(20), ANY_SIZE)) == []


def test_a_word_that_is_new_in_the_sentence_is_not_asked_for() -> None:
    lines = [("Ann", "and", "Bob")] * 20 + [("Cid", "and", "Bob")]
    questions = [
        next(clozes(TaggedBook(title="", sentences=lines, kinds=["N-N"] * 21), ANY_SIZE, seed=seed))
        for seed in range(20)
    ]
    assert {question.answer for question in questions} == {"Bob"}


def test_the_answer_may_be_of_another_kind_in_the_passage() -> None:
    lines = [("a", "rose", "Ann")] * 20 + [("rose", "slept")]
    tagged = TaggedBook(title="", sentences=lines, kinds=["-CN"] * 20 + ["N-"])
    assert next(clozes(tagged, ANY_SIZE)).candidates == ("Ann", "rose")


def test_nouns_fill_up_where_names_are_too_few_and_names_never_stand_in_for_nouns() -> None:
    names = next(clozes(book(people=3), ClozeRules(kind=NAME)))
    assert {*names.candidates} & {*PEOPLE} == {*PEOPLE[:3]}
    assert len({*names.candidates} & {*THINGS}) == 7
    assert {*next(clozes(book(200), ClozeRules(kind=NOUN))).candidates} <= {*THINGS}


def test_a_passage_with_too_few_candidates_makes_no_question() -> None:
    bare = book(people=3)
    bare = TaggedBook(title="", sentences=bare.sentences, kinds=["N----"] * 60)
    assert list(clozes(bare, ClozeRules(fewest=4))) == []
    assert len(next(clozes(bare, ClozeRules(fewest=3))).candidates) == 3


def test_the_answer_in_another_case_is_offered_only_as_in_cbt() -> None:
    lines = [("ANN", "Ann", "Bob", "BOB")] * 20 + [("Ann",)]
    tagged = TaggedBook(title="", sentences=lines, kinds=["NNNN"] * 20 + ["N"])
    assert next(clozes(tagged, ANY_SIZE)).candidates == ("Ann", "BOB", "Bob")
    assert next(clozes(tagged, ClozeRules(fewest=2, case_twins=True))).candidates == ("ANN", "Ann", "BOB", "Bob")


def test_the_same_seed_makes_the_same_questions_and_another_makes_others() -> None:
    rules = ClozeRules(candidates=4, fewest=2)
    same, again, other = (list(clozes(book(), rules, seed=seed)) for seed in (1, 1, 2))
    assert same == again
    assert [question.candidates for question in same] != [question.candidates for question in other]


def test_passages_and_books_that_are_alike_are_asked_differently() -> None:
    lines, kinds = [("Ann", "and", "Bob")] * 60, ["N-N"] * 60
    one, two = (TaggedBook(title=title, sentences=lines, kinds=kinds) for title in ("One", "Two"))
    asked = [[question.answer for question in clozes(tagged, ANY_SIZE)] for tagged in (one, two)]
    assert asked[0] != asked[1]
    assert 10 < asked[0].count("Ann") < 30


def test_what_a_passage_is_asked_does_not_depend_on_the_questions_before_it() -> None:
    rules = ClozeRules(candidates=4, fewest=2)
    all_of_them = {question.number: question for question in clozes(book(200), rules)}
    for question in clozes(book(200), rules, every=7):
        assert question == all_of_them[question.number]


def test_questions_do_not_depend_on_how_python_hashes() -> None:
    code = (
        "from epireader.text.cloze import *\n"
        "words = [tuple('abcdefghijklmnopqrstuvwxyz'[n % 7 :: 2]) for n in range(50)]\n"
        "book = TaggedBook(title='T', sentences=words, kinds=['N' * len(w) for w in words])\n"
        "print([(c.answer, c.candidates) for c in clozes(book, ClozeRules(fewest=2))])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert len(printed.pop()) > 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "V"}, "must be N or C, got 'V'"),
        ({"fewest": 1}, "got 1"),
        ({"fewest": 11}, "the 10 candidates, got 11"),
    ],
)
def test_rules_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ClozeRules(**options)  # type: ignore[arg-type]


def test_a_book_whose_kinds_do_not_fit_and_a_distance_of_none_are_refused() -> None:
    with pytest.raises(ValueError, match="'Kim' must have one kind for each"):
        TaggedBook(title="Kim", sentences=[("a", "b")], kinds=["N"])
    with pytest.raises(ValueError, match="must be 1 or more, got 0"):
        list(clozes(book(), ANY_SIZE, every=0))


@pytest.mark.parametrize(("kind", "letter"), [("NE", NAME), ("CN", NOUN)])
def test_every_question_of_cbt_r_is_one_that_the_rules_can_make(kind: str, letter: str) -> None:
    """The same window, a blank the rules can pick, and candidates the rules can draw, for all 2,000."""
    source = shared_data(f"cbt-r/cbtest_{kind}_valid_2000ex.txt.xz")
    rules = ClozeRules(kind=letter, case_twins=True)
    places = defaultdict(list)
    for book in validation_books():
        for number, sentence in enumerate(book.sentences):
            places[sentence].append((book, number))
    made = 0
    for asked in records_of(source):
        whole = tuple((asked.answer or ("",))[0] if word == BLANK else word for word in asked.question)
        made += any(can_make(asked, book, number, rules) for book, number in places[whole])
    assert made == 2000


def records_of(path: Path) -> Iterator[Example]:
    """The questions of an official file, read as its form is defined: the package's reader is slow while it is checked."""
    for record in lzma.decompress(path.read_bytes()).decode().split("\n\n")[:-1]:
        *passage, last = (line.partition(" ")[2] for line in record.split("\n"))
        question, answer, _, candidates = last.split("\t")
        yield example(passage, question, candidates.split("|"), answer)


@cache
def validation_books() -> list[TaggedBook]:
    folder = shared_data("cbt-books")
    return list(tagged_books(folder / "cbt_valid.txt.xz", folder / "cbt_valid.kinds.txt.xz"))


def can_make(asked: Example, book: TaggedBook, number: int, rules: ClozeRules) -> bool:
    """Whether some choice of a word, and then of candidates, makes this question of sentence `number`."""
    of_kind = [place for place, kind in enumerate(book.kinds[number]) if kind == rules.kind]
    found = (cloze_at(book, number, rules, Choosing(choice, asked)) for choice in range(len(of_kind)))
    return any(question is not None and example_of(question) == asked for question in found)


class Choosing(Random):
    """Picks the place it is told to, and the candidates of a question where it can."""

    def __init__(self, place: int, asked: Example) -> None:
        super().__init__(0)
        self.place = place
        self.wanted = [words[0] for words in asked.candidates]

    def choice(self, options):  # type: ignore[no-untyped-def]
        return options[min(self.place, len(options) - 1)]

    def sample(self, options, k):  # type: ignore[no-untyped-def]
        return sorted(options, key=lambda word: word not in self.wanted)[:k]
