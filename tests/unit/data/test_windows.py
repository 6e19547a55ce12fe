"""Which windows of the books an epoch asks, and how large they are."""

from collections import Counter

import numpy as np
import pytest
from builders import shelf_of, small_book
from hypothesis import assume, given
from hypothesis import strategies as st

from epireader.data.shelf import IS_NAME, IS_NOUN, Shelf
from epireader.data.windows import Windows


def some_shelf(seed: int = 0, *, sentence_limit: int = 4, sentences: int = 60) -> Shelf:
    random = np.random.default_rng(seed)
    return shelf_of([small_book(random, sentences=sentences) for _ in range(3)], sentence_limit=sentence_limit)


@given(st.integers(0, 99), st.integers(20, 120))
def test_a_window_is_twenty_sentences_of_one_book_and_one_that_can_be_asked(seed: int, max_words: int) -> None:
    shelf = some_shelf(seed)
    windows = Windows.of(shelf, max_words=max_words)
    words, expected = np.diff(shelf.pieces.offsets.numpy()[shelf.sentences.numpy()]), {IS_NAME: [], IS_NOUN: []}
    for start, end in zip(shelf.books.tolist(), shelf.books.tolist()[1:], strict=False):
        for number in range(start + 20, end):
            for kind, found in expected.items():
                if int(shelf.asks[number]) & kind and words[number - 20 : number + 1].sum() <= max_words:
                    found.append(number)
    assert windows.asked.tolist() == [*expected[IS_NAME], *expected[IS_NOUN]]
    assert windows.names == len(expected[IS_NAME])


@given(st.integers(0, 99), st.integers(0, 10**6))
def test_a_shape_holds_its_questions_exactly(seed: int, start: int) -> None:
    shelf = some_shelf(seed)
    windows = Windows.of(shelf, max_words=1000)
    rows = np.arange(start, start + 5)
    shape, sentences, offsets = windows.shape(rows), shelf.sentences.tolist(), shelf.pieces.offsets.tolist()
    asked = [int(windows.asked[row % len(windows)]) for row in rows]
    words = [offsets[sentences[number]] - offsets[sentences[number - 20]] for number in asked]
    assert windows.lengths(rows).tolist() == words
    assert windows.question_lengths(rows).tolist() == [
        offsets[sentences[number + 1]] - offsets[sentences[number]] for number in asked
    ]
    assert shape.words == max(words)
    assert shape.sentences == max(sentences[number] - sentences[number - 20] for number in asked)
    assert shape.question == max(offsets[sentences[number + 1]] - offsets[sentences[number]] for number in asked)
    assert (shape.candidates, shape.phrase) == (10, 1)


@given(st.integers(1, 90), st.floats(0, 1), st.integers(0, 5), st.integers(0, 99))
def test_epochs_share_out_the_windows_before_any_comes_again(
    questions: int, share: float, seed: int, shelf_seed: int
) -> None:
    windows = Windows.of(some_shelf(shelf_seed, sentences=30), max_words=1000)
    nouns = len(windows) - windows.names
    assume(windows.names and nouns)
    about_names = round(share * questions)
    epochs = [windows.drawn(questions, about_names, seed=seed, epoch=epoch) for epoch in range(5)]
    for rows in epochs:
        assert len(rows) == questions
        assert int((rows % len(windows) < windows.names).sum()) == about_names
    rows = np.concatenate(epochs)
    assert len({*rows.tolist()}) == len(rows), "a question came twice"
    for of_kind, size in (
        (rows % len(windows) < windows.names, windows.names),
        (rows % len(windows) >= windows.names, nouns),
    ):
        times = Counter((rows[of_kind] % len(windows)).tolist())
        full, rest = divmod(int(of_kind.sum()), size)
        assert {*times.values()} <= {full, full + 1} - {0}
        assert sum(count == full + 1 for count in times.values()) == rest


def test_what_is_drawn_depends_on_the_seed_and_the_epoch_alone() -> None:
    windows = Windows.of(some_shelf(), max_words=1000)

    def drawn(seed: int, epoch: int) -> list[int]:
        return windows.drawn(40, 20, seed=seed, epoch=epoch).tolist()

    assert drawn(1, 2) == drawn(1, 2)
    assert drawn(1, 2) != drawn(1, 3)
    assert drawn(1, 2) != drawn(2, 2)


def test_books_too_short_for_a_passage_have_no_windows() -> None:
    assert len(Windows.of(some_shelf(sentences=20), max_words=1000)) == 0
    tiny = shelf_of([small_book(np.random.default_rng(0), sentences=3)])
    assert len(Windows.of(tiny, max_words=1000)) == 0


@pytest.mark.parametrize("share", [0, 40])
def test_one_kind_alone_can_be_asked(share: int) -> None:
    windows = Windows.of(some_shelf(), max_words=1000)
    rows = windows.drawn(40, share, seed=0, epoch=0)
    assert ((rows % len(windows) < windows.names) == bool(share)).all()
