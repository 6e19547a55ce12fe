"""Questions as columns, and back again."""

import numpy as np
import pytest
from builders import example, random_example
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.example import Example
from epireader.data.questions import ANSWER_OUTSIDE, ANSWER_UNKNOWN, Lexicon, Questions, QuestionsBuilder, Shape

seeds = st.integers(0, 2**32 - 1)


def questions_of(*examples: Example) -> Questions:
    builder = QuestionsBuilder()
    for one in examples:
        builder.add(one)
    return builder.build()


@given(seed=seeds, count=st.integers(1, 6))
def test_an_example_comes_back_out_of_the_columns_as_it_went_in(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    examples = [random_example(random, phrase=3) for _ in range(count)]
    questions = questions_of(*examples)
    assert [questions.example(n) for n in range(len(questions))] == examples


def test_without_candidates_every_distinct_word_of_the_passage_is_one_in_order_of_appearance() -> None:
    questions = questions_of(example(["b a b", "c a"], "XXXXX x", answer="c"))
    assert questions.example(0).candidates == (("b",), ("a",), ("c",))
    assert questions.answers.tolist() == [2]


def test_an_answer_outside_the_candidates_and_an_unknown_answer_are_told_apart() -> None:
    questions = questions_of(
        example(["a b"], "XXXXX", ["a", "b"], "b"),
        example(["a b"], "XXXXX", ["a"], "b"),
        example(["a b"], "XXXXX", ["a"]),
        example(["a b"], "XXXXX", ["a", "b a"], "a b"),
    )
    assert questions.answers.tolist() == [1, ANSWER_OUTSIDE, ANSWER_UNKNOWN, ANSWER_OUTSIDE]
    assert ANSWER_OUTSIDE < 0
    assert ANSWER_UNKNOWN < 0
    assert ANSWER_OUTSIDE != ANSWER_UNKNOWN


def test_sentences_of_overlapping_windows_are_stored_once() -> None:
    book = [f"sentence {n} of the book has some words in it ." for n in range(120)]
    windows = [example(book[n : n + 20], f"XXXXX {n}", ["book", "words"], "book") for n in range(100)]
    questions = questions_of(*windows)
    assert questions.example(57) == windows[57]
    words_in_windows = sum(int(n) for n in questions.sizes.words)
    assert len(questions.sequences.values) < words_in_windows / 10
    assert len(questions.sequences) == 119 + 100 + 2


def test_a_run_of_words_is_stored_once_whatever_it_is_used_for() -> None:
    questions = questions_of(example(["fox"], "XXXXX", ["fox"], "fox"), example(["fox", "fox"], "XXXXX", ["fox"]))
    assert len(questions.sequences) == 2


def test_sizes_are_those_of_each_question() -> None:
    sizes = questions_of(
        example(["a b c", "d"], "x XXXXX y", ["a", "b c d", "c"]), example(["a"], "XXXXX", ["a b"])
    ).sizes
    assert sizes.words.tolist() == [4, 1]
    assert sizes.sentences.tolist() == [2, 1]
    assert sizes.question.tolist() == [3, 1]
    assert sizes.candidates.tolist() == [3, 1]
    assert sizes.phrase.tolist() == [3, 2]


@given(seed=seeds)
def test_sizes_agree_with_counting_the_words_of_examples(seed: int) -> None:
    random = np.random.default_rng(seed)
    examples = [random_example(random, phrase=3) for _ in range(4)]
    sizes = questions_of(*examples).sizes
    assert sizes.words.tolist() == [sum(map(len, one.sentences)) for one in examples]
    assert sizes.phrase.tolist() == [max(map(len, one.candidates)) for one in examples]


def test_the_shape_of_a_batch_is_the_largest_of_every_size_in_it() -> None:
    questions = questions_of(
        example(["a b c d"], "XXXXX", ["a", "b"]), example(["a", "b", "a"], "x XXXXX", ["a b"]), example(["z"], "XXXXX")
    )
    shape = questions.sizes.of(np.array([0, 1]))
    assert shape == Shape(words=4, sentences=3, question=2, candidates=2, phrase=2)
    assert questions.sizes.of(np.array([2])) == Shape(words=1, sentences=1, question=1, candidates=1, phrase=1)


def test_words_are_counted_once_for_every_distinct_run_they_stand_in() -> None:
    first = example(["a a b"], "XXXXX c", ["b"], "b")
    again = example(["a a b", "d"], "XXXXX c", ["b"], "b")
    assert dict(questions_of(first, again).word_counts()) == {"a": 2, "b": 2, "c": 1, "d": 1}


def test_a_word_of_another_split_is_not_counted() -> None:
    lexicon = Lexicon()
    train, test = QuestionsBuilder(lexicon), QuestionsBuilder(lexicon)
    train.add(example(["a b"], "XXXXX"))
    test.add(example(["z a"], "XXXXX"))
    assert dict(train.build().word_counts()) == {"a": 2, "b": 2}
    assert list(test.build().lexicon) == ["", "XXXXX", "a", "b", "z"]
    assert test.build().example(0).sentences == (("z", "a"),)


def test_a_builder_counts_its_questions_and_one_without_any_is_refused() -> None:
    builder = QuestionsBuilder()
    assert len(builder) == 0
    with pytest.raises(ValueError, match="no questions"):
        builder.build()
    builder.add(example(["a"], "XXXXX"))
    assert len(builder) == len(builder.build()) == 1
