"""The words a reader knows, and those it does not."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders import batch_of, example, vocabulary

from epireader.data.example import BLANK
from epireader.data.vocabulary import BLANK_ID, FIRST_STRANGER_ID, PAD_ID, Vocabulary, most_frequent


def test_ids_are_padding_the_blank_the_strangers_and_then_the_words_in_order() -> None:
    words = Vocabulary(("the", "fox"), strangers=3)
    assert (PAD_ID, BLANK_ID, FIRST_STRANGER_ID) == (0, 1, 2)
    assert words.ids_of(["fox", BLANK, "the"]).tolist() == [6, 1, 5]
    assert len(words) == 7


def test_distinct_strangers_are_told_apart_and_the_same_one_is_known_again() -> None:
    assert Vocabulary(("the",), strangers=1).ids_of(["owl", "the", "elk", "owl"]).tolist() == [-1, 3, -2, -1]


def test_case_is_kept_unless_lowercase_is_asked_for() -> None:
    assert Vocabulary(("fox",), strangers=1).ids_of(["Fox", "fox"]).tolist() == [-1, 3]
    assert Vocabulary(("fox",), strangers=1, lowercase=True).ids_of(["Fox", "fox", "FOX"]).tolist() == [3, 3, 3]


def test_lowercase_joins_the_spellings_of_a_stranger_too() -> None:
    assert Vocabulary((), strangers=1, lowercase=True).ids_of(["Elk", "owl", "elk"]).tolist() == [-1, -2, -1]


def test_lowercase_leaves_the_blank_the_blank() -> None:
    assert Vocabulary(("xxxxx",), lowercase=True).ids_of([BLANK]).tolist() == [BLANK_ID]


def test_a_stranger_has_the_same_id_in_passage_question_and_candidates() -> None:
    one = example(["w0 Elk w1", "Owl saw Elk"], "XXXXX met Owl", ["Elk", "Owl", "w1"], "Elk")
    batch = batch_of([one], vocabulary(2, strangers=5))
    elk, owl, saw, met = 2, 3, 4, 5
    assert batch.passage.tolist() == [[7, elk, 8, owl, saw, elk]]
    assert batch.question.tolist() == [[BLANK_ID, met, owl]]
    assert batch.candidates.tolist() == [[[elk], [owl], [8]]]


def test_strangers_are_numbered_by_first_appearance_in_passage_then_question_then_candidates() -> None:
    one = example(["b a b"], "c XXXXX a", ["d", "a"], "a")
    batch = batch_of([one], Vocabulary((), strangers=9))
    assert batch.passage.tolist() == [[2, 3, 2]]
    assert batch.question.tolist() == [[4, 1, 3]]
    assert batch.candidates.tolist() == [[[5], [3]]]


def test_strangers_are_numbered_anew_in_every_question() -> None:
    batch = batch_of([example(["a b"], "XXXXX"), example(["b a"], "XXXXX")], Vocabulary((), strangers=9))
    assert batch.passage.tolist() == [[2, 3], [2, 3]]


def test_the_stranger_after_the_last_vector_begins_again_at_the_first() -> None:
    batch = batch_of([example(["a b c d c"], "XXXXX e", ["e", "a"])], Vocabulary((), strangers=3))
    assert batch.passage.tolist() == [[2, 3, 4, 2, 4]]
    assert batch.question.tolist() == [[1, 3]]
    assert batch.candidates.tolist() == [[[3], [2]]]


def test_spellings_of_one_stranger_are_one_stranger_in_a_lowercased_passage() -> None:
    batch = batch_of([example(["Elk saw ELK"], "XXXXX", ["elk"])], Vocabulary((), strangers=4, lowercase=True))
    assert batch.passage.tolist() == [[2, 3, 2]]
    assert batch.candidates.tolist() == [[[2]]]


def test_padding_is_never_taken_for_a_stranger() -> None:
    batch = batch_of([example(["a"], "XXXXX"), example(["b c d"], "XXXXX e")], Vocabulary((), strangers=4))
    assert batch.passage.tolist() == [[2, PAD_ID, PAD_ID], [2, 3, 4]]
    assert batch.passage_mask.tolist() == [[True, False, False], [True, True, True]]


def test_saving_and_loading_gives_the_same_vocabulary_whatever_its_words_hold(tmp_path: Path) -> None:
    words = Vocabulary(("naïve", "a b", "line\u2028end", "cr\rhere", "\x85", "-"), strangers=2, lowercase=True)
    words.save(tmp_path / "vocab.txt")
    assert Vocabulary.load(tmp_path / "vocab.txt", strangers=2, lowercase=True) == words
    renaming = Vocabulary.load(tmp_path / "vocab.txt", strangers=2, lowercase=True, rename_entities=True)
    assert renaming == replace(words, rename_entities=True)


def test_an_empty_vocabulary_survives_saving(tmp_path: Path) -> None:
    Vocabulary(()).save(tmp_path / "vocab.txt")
    assert Vocabulary.load(tmp_path / "vocab.txt", strangers=64, lowercase=False) == Vocabulary(())


def test_a_vocabulary_without_stranger_vectors_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one stranger vector, got 0"):
        Vocabulary(("a",), strangers=0)


def test_a_vocabulary_with_a_word_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="a word twice"):
        Vocabulary(("a", "b", "a"))


def test_words_are_ordered_by_frequency_and_then_by_spelling() -> None:
    counted = [("b", 2), ("a", 2), ("rare", 1), ("the", 9)]
    assert most_frequent(counted, min_count=1, max_words=None) == ("the", "a", "b", "rare")
    assert most_frequent(counted, min_count=2, max_words=None) == ("the", "a", "b")
    assert most_frequent(counted, min_count=1, max_words=2) == ("the", "a")


def test_the_blank_is_never_a_word_of_the_vocabulary() -> None:
    assert most_frequent([(BLANK, 50), ("a", 1)], min_count=1, max_words=None) == ("a",)


def test_an_entity_has_a_vector_however_rare_it_is() -> None:
    counted = [("the", 9), ("@entity7", 1), ("@entitys", 1)]
    assert most_frequent(counted, min_count=5, max_words=None) == ("@entity7", "the")
    assert most_frequent(counted, min_count=1, max_words=1) == ("@entity7",)


def test_entities_are_the_words_that_are_an_entity_from_end_to_end() -> None:
    words = Vocabulary(("@entity0", "a@entity1", "@entity12", "@entity3s", "@entity"), strangers=1)
    assert words.entity_ids.tolist() == [3, 5]
