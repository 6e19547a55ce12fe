"""Questions made freshly from books: the rules of the Children's Book Test hold for every one of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from random import Random

import numpy as np
import pytest
import torch
from builders import shelf_of, small_book
from hypothesis import assume, given
from hypothesis import strategies as st
from reference.fresh import mixed_by_hand, question_by_hand
from shared_data import shared_data

from epireader.data.batches import Batch, BatchCutter, mixed
from epireader.data.books import tagged_books
from epireader.data.example import BLANK, Example
from epireader.data.fresh import FreshQuestions
from epireader.data.questions import LEXICON_START, Questions, QuestionsBuilder
from epireader.data.shelf import Shelf
from epireader.data.vocabulary import Vocabulary
from epireader.text.cloze import NAME, NOUN, PASSAGE, ClozeRules, TaggedBook, cloze_at

ANY_SIZE = ClozeRules(fewest=2)


def every_word(shelf: Shelf, **options: int) -> Vocabulary:
    return Vocabulary(tuple(shelf.lexicon[len(LEXICON_START) :]), **options)


def fresh(shelf: Shelf, words: Vocabulary | None = None, *, max_words: int = 10_000) -> FreshQuestions:
    return FreshQuestions(shelf, words or every_word(shelf), questions=100, about_names=50, max_words=max_words)


def cut(questions: FreshQuestions, rows: Sequence[int], shuffle: int = 0) -> Batch:
    numbers = np.array(rows)
    return questions.cut(torch.from_numpy(numbers), questions.shape(numbers), shuffle=shuffle)


def as_words(batch: Batch, words: Vocabulary, number: int) -> Example:
    """One question of a batch in words again."""
    word_of = ("", BLANK, *[f"stranger {n}" for n in range(words.strangers)], *words.words)
    sentences: dict[int, list[str]] = {}
    for word, sentence in zip(batch.passage[number].tolist(), batch.sentence_of[number].tolist(), strict=True):
        if word:
            sentences.setdefault(sentence, []).append(word_of[word])
    lengths = [length for length in batch.sentence_length[number].tolist() if length]
    assert [len(sentence) for sentence in sentences.values()] == lengths
    candidates = tuple((word_of[word],) for word in batch.candidates[number, :, 0].tolist() if word)
    answer = int(batch.answer[number])
    return Example(
        sentences=tuple(map(tuple, sentences.values())),
        question=tuple(word_of[word] for word in batch.question[number].tolist() if word),
        candidates=candidates,
        answer=candidates[answer] if answer >= 0 else None,
    )


def place_of(shelf: Shelf, sentence: int) -> tuple[int, int]:
    """The book a sentence stands in, and its number there."""
    book = int(np.searchsorted(shelf.books.numpy(), sentence, side="right")) - 1
    return book, sentence - int(shelf.books[book])


def joined(example: Example) -> Example:
    """The same with its passage in one piece: long sentences lie in several."""
    return replace(example, sentences=(tuple(word for words in example.sentences for word in words),))


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_are_mixed_as_by_hand(value: int) -> None:
    assert mixed(torch.tensor([value])).tolist() == [mixed_by_hand(value)]


@given(
    st.integers(0, 9999), st.integers(4, 24), st.integers(2, 6), st.sampled_from([3, 100]), st.integers(0, 2**40),
    st.integers(0, 2**40),
)  # fmt: skip
def test_questions_are_those_made_by_hand(
    seed: int, words: int, longest: int, sentence_limit: int, start: int, shuffle: int
) -> None:
    random = np.random.default_rng(seed)
    books = [small_book(random, sentences=26, longest=longest, words=words) for _ in range(2)]
    shelf = shelf_of(books, sentence_limit=sentence_limit)
    assume(int(shelf.asks.count_nonzero()) and 3 in {*shelf.asks.tolist()})
    questions, known = fresh(shelf), every_word(shelf)
    rows = list(range(start, start + 6))
    batch, number_of = cut(questions, rows, shuffle), {word: n for n, word in enumerate(shelf.lexicon)}
    for number, row in enumerate(rows):
        window = row % len(questions._windows)
        book, place = place_of(shelf, int(questions._windows.asked[window]))
        kind = NAME if window < questions._windows.names else NOUN
        wanted, answer = question_by_hand(books[book], place, kind, row, shuffle, number_of)
        assert int(batch.answer[number]) == answer
        wanted = replace(wanted, answer=wanted.answer if answer >= 0 else None)
        assert joined(as_words(batch, known, number)) == joined(wanted)
        assert int(batch.blank[number]) == wanted.question.index(BLANK)


def obeys_the_rules(example: Example, book: TaggedBook, number: int, kind: str) -> None:
    """What `epireader.text.cloze` promises of a question, for this one."""
    blank = example.question.index(BLANK)
    answer = book.sentences[number][blank]
    passage, letters = book.sentences[number - PASSAGE : number], book.kinds[number - PASSAGE : number]
    tagged = [pair for words, marks in zip(passage, letters, strict=True) for pair in zip(words, marks, strict=True)]
    assert [word for words in example.sentences for word in words] == [word for word, _ in tagged]
    assert (*example.question[:blank], answer, *example.question[blank + 1 :]) == book.sentences[number]
    assert book.kinds[number][blank] == kind
    assert answer in {word for word, _ in tagged}
    offered = [word for (word,) in example.candidates]
    assert len({*offered}) == len(offered) <= 10
    others = {*offered} - {answer}
    assert len(others) == len(offered) - 1
    assert answer.lower() not in {word.lower() for word in others}
    right = {word for word, letter in tagged if letter == kind and word.lower() != answer.lower()}
    fill = {word for word, letter in tagged if letter == NOUN and word.lower() != answer.lower()} - right
    assert len(others & right) == min(9, len(right))
    assert len(others - right) == min(9 - len(others & right), len(fill))
    assert others - right <= fill
    assert example.answer == ((answer,) if others else None)


@given(st.integers(0, 9999), st.integers(3, 24), st.integers(0, 99))
def test_every_question_follows_the_rules(seed: int, words: int, shuffle: int) -> None:
    book = small_book(np.random.default_rng(seed), words=words)
    shelf = shelf_of([book])
    assume({1, 2} <= {*shelf.asks.tolist()} or 3 in {*shelf.asks.tolist()})
    questions, known = fresh(shelf), every_word(shelf)
    rows = range(len(questions._windows))
    batch = cut(questions, rows, shuffle)
    for row in rows:
        kind = NAME if row < questions._windows.names else NOUN
        obeys_the_rules(as_words(batch, known, row), book, int(questions._windows.asked[row]), kind)


def test_every_window_that_the_rules_of_cloze_can_ask_is_asked_and_no_other() -> None:
    book = small_book(np.random.default_rng(5), words=20, sentences=80, longest=3)
    windows = fresh(shelf_of([book]))._windows
    for kind, asked in ((NAME, windows.asked[: windows.names]), (NOUN, windows.asked[windows.names :])):
        rules = replace(ANY_SIZE, kind=kind)
        can_be = [n for n in range(PASSAGE, 80) if cloze_at(book, n, rules, Random(n))]
        assert can_be == asked.tolist()


@pytest.fixture(scope="module")
def shelf() -> Shelf:
    random = np.random.default_rng(1)
    return shelf_of([small_book(random, sentences=300) for _ in range(2)], sentence_limit=4)


def test_the_same_numbers_give_the_same_questions_and_others_give_others(shelf: Shelf) -> None:
    questions = fresh(shelf)

    def tensors(rows: Sequence[int], shuffle: int) -> list[torch.Tensor]:
        batch = cut(questions, rows, shuffle)
        return [batch.question, batch.candidates, batch.answer]

    once, again, other = tensors(range(50), 7), tensors(range(50), 7), tensors(range(50), 8)
    assert all(one.equal(two) for one, two in zip(once, again, strict=True))
    assert not any(one.equal(two) for one, two in zip(once, other, strict=True))
    later = tensors(range(len(questions._windows), len(questions._windows) + 50), 7)
    assert not once[0].equal(later[0]), "the next turn asks something else"


def test_a_question_does_not_depend_on_those_beside_it(shelf: Shelf) -> None:
    questions = fresh(shelf)
    whole = cut(questions, range(40), 3)
    for row in (0, 17, 39):
        alone = cut(questions, [row], 3)
        for field in fields(Batch):
            one, beside = getattr(alone, field.name)[0], getattr(whole, field.name)[row]
            if field.name == "sentence_of":
                one, beside = one[alone.passage_mask[0]], beside[whole.passage_mask[row]]
            if one.dim():
                one, beside = one[: len(beside)], beside[: len(one)]
            assert one.equal(beside), field.name


def test_wider_shapes_only_add_padding(shelf: Shelf) -> None:
    questions, known = fresh(shelf), every_word(shelf)
    rows = np.arange(30)
    shape = questions.shape(rows)
    wide = replace(
        shape, words=shape.words + 9, sentences=shape.sentences + 3, question=shape.question + 5, candidates=13
    )
    narrow, padded = (questions.cut(torch.from_numpy(rows), one, shuffle=1) for one in (shape, wide))
    assert padded.passage.shape[1] == shape.words + 9
    assert padded.candidates.shape[1:] == (13, 1)
    for number in range(30):
        assert as_words(narrow, known, number) == as_words(padded, known, number)


def test_a_shuffle_for_each_question_counts_for_that_question_alone(shelf: Shelf) -> None:
    questions, rows = fresh(shelf), np.arange(20)
    shuffles = torch.tensor([4] * 10 + [5] * 10)
    both = questions.cut(torch.from_numpy(rows), questions.shape(rows), shuffle=shuffles)
    for shuffle, part in ((4, slice(0, 10)), (5, slice(10, 20))):
        assert both.candidates[part].equal(cut(questions, rows, shuffle).candidates[part])


def test_the_answer_can_stand_anywhere_and_every_word_is_offered(shelf: Shelf) -> None:
    questions, known = fresh(shelf), every_word(shelf)
    row = questions._windows.names + 3
    turns = [row + turn * len(questions._windows) for turn in range(4000)]
    batch = cut(questions, turns)
    places = Counter(batch.answer.tolist())
    count = int(batch.candidate_mask[0].sum())
    assert sorted(places) == list(range(count))
    assert min(places.values()) > 4000 / count * 0.8
    blanks = Counter(batch.blank.tolist())
    assert min(blanks.values()) > 4000 / len(blanks) * 0.8
    by_answer: dict[str, Counter[str]] = {}
    for number in range(len(turns)):
        example = as_words(batch, known, number)
        assert example.answer
        counts = by_answer.setdefault(example.answer[0], Counter())
        counts.update(word for (word,) in example.candidates if (word,) != example.answer)
    for counts in by_answer.values():
        assert max(counts.values()) < 1.3 * min(counts.values())


def test_strangers_are_encoded_as_those_of_a_corpus(shelf: Shelf) -> None:
    every, few = every_word(shelf), Vocabulary(("the", "Ann", "axe"), strangers=5)
    batch, strange = cut(fresh(shelf), range(30), 2), cut(fresh(shelf, few), range(30), 2)
    builder = QuestionsBuilder()
    for number in range(30):
        builder.add(as_words(batch, every, number))
    given: Questions = builder.build()
    rows = np.arange(30)
    wanted = BatchCutter(given, few).cut(torch.from_numpy(rows), given.sizes.of(rows))
    for name in ("passage", "question", "candidates", "answer", "sentence_of", "sentence_length"):
        assert getattr(strange, name).equal(getattr(wanted, name)), name


def test_books_without_anything_to_ask_are_refused() -> None:
    nouns = TaggedBook(title="", sentences=[("axe",)] * 30, kinds=["C"] * 30)
    with pytest.raises(ValueError, match=r"no passage of 20 sentences to ask about names; books\.names says"):
        fresh(shelf_of([nouns]))
    with pytest.raises(ValueError, match="to ask about names"):
        fresh(shelf_of([small_book(np.random.default_rng(0))]), max_words=5)
    FreshQuestions(shelf_of([nouns]), Vocabulary(("axe",)), questions=3, about_names=0, max_words=100)


def test_a_question_with_nothing_to_choose_counts_for_nothing() -> None:
    alone = TaggedBook(title="", sentences=[("axe",)] * 30, kinds=["C"] * 30)
    shelf = shelf_of([alone])
    questions = FreshQuestions(shelf, every_word(shelf), questions=3, about_names=0, max_words=100)
    batch = cut(questions, range(10))
    assert batch.answer.tolist() == [-1] * 10
    assert batch.candidate_mask.sum(dim=1).tolist() == [1] * 10


def test_questions_from_the_books_of_cbt_follow_the_rules() -> None:
    path = shared_data("cbt-books/cbt_train.txt.xz")
    book = next(iter(tagged_books(path, path.with_name("cbt_train.kinds.txt.xz"))))
    shelf = shelf_of([book])
    questions, known = fresh(shelf), every_word(shelf)
    rows = questions.rows_of_epoch(seed=0, epoch=0)
    batch = questions.cut(torch.from_numpy(rows), questions.shape(rows), shuffle=0)
    for number, row in enumerate(rows.tolist()):
        window = row % len(questions._windows)
        kind = NAME if window < questions._windows.names else NOUN
        obeys_the_rules(as_words(batch, known, number), book, int(questions._windows.asked[window]), kind)
    assert float((batch.candidate_mask.sum(dim=1) == 10).float().mean()) > 0.95
