"""Word vectors learnt from the training text."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import corpus_of, example, household_book, shelf_of, small_book, write_books
from running import call

from epireader.data.embeddings import read_vectors, write_vectors
from epireader.data.example import Example
from epireader.data.ragged import Ragged
from epireader.data.shelf import write_shelf
from epireader.data.vocabulary import Vocabulary
from epireader.data.word2vec import AT_ONCE, LENGTH, Learning, NoText, TrainingText, learn_vectors, training_text

USUAL = Learning(dim=3, epochs=2, seed=0, window=5, whole_words=False)

Captured = pytest.CaptureFixture[str]


def text_of(*runs: str) -> TrainingText:
    """A text of these runs of words."""
    words = sorted({word for run in runs for word in run.split()})
    numbers = [[words.index(word) for word in run.split()] for run in runs]
    lengths = torch.tensor([len(run) for run in numbers])
    return TrainingText(words, Ragged.from_lengths(torch.tensor([n for run in numbers for n in run]), lengths))


def how(**changes: int | bool) -> Learning:
    return replace(USUAL, **changes)


def asked(passage: list[str], question: str) -> Example:
    return example(passage, question, ["a", "b"], "a")


def told(text: TrainingText) -> list[list[str]]:
    return list(text.told(lambda _: None))


def test_of_a_corpus_the_training_passages_are_read_each_sentence_once_and_nothing_else(tmp_path: Path) -> None:
    train = [asked(["a b c", "b a"], "XXXXX asks"), asked(["b a", "a d"], "XXXXX asks again")]
    text = training_text(
        corpus_of(tmp_path / "corpus", train=train, valid=[asked(["a b secret"], "XXXXX hidden")]).folder
    )
    assert sorted(told(text)) == [["a", "b", "c"], ["a", "d"], ["b", "a"]]
    assert len(text) == 7


def test_all_entities_are_one_word_that_gets_no_vector(tmp_path: Path) -> None:
    story = ["@entity1 met @entity22 a", "a @entity1 left b"] * 3
    text = training_text(corpus_of(tmp_path / "corpus", train=[asked(story, "XXXXX left")]).folder)
    assert told(text)[0].count("@entity") == 2
    words, _ = learn_vectors(text, how(dim=4, epochs=1))
    assert not [word for word in words if word.startswith("@")]


def test_of_books_every_sentence_is_read(tmp_path: Path) -> None:
    shelf = shelf_of(
        [household_book(np.random.default_rng(n), f"{n}", sentences=30) for n in range(2)], folder=tmp_path
    )
    write_shelf(shelf)
    text = training_text(tmp_path)
    assert len(text) == shelf.record.words
    assert [len(run) for run in told(text)] == shelf.pieces.lengths.tolist()
    assert told(text)[0] == [shelf.lexicon[number] for number in shelf.pieces.row(0).tolist()]


def test_runs_longer_than_gensim_takes_are_told_in_pieces() -> None:
    heard: list[int] = []
    pieces = list(text_of("a b " * AT_ONCE, "b a").told(heard.append))
    assert [len(piece) for piece in pieces] == [AT_ONCE, AT_ONCE, 2]
    assert heard == [2 * AT_ONCE, 2]


def test_words_with_the_same_neighbours_get_vectors_alike() -> None:
    random = np.random.default_rng(0)
    kinds = [["cat", "dog", "hen"], ["red", "blue", "green"]]
    near = [["runs", "eats", "sleeps", "barn", "milk"], ["paint", "sky", "brush", "wall", "bright"]]
    runs = []
    for _ in range(300):  # long, because so frequent words are mostly left out
        kind = int(random.integers(2))
        runs.append(" ".join(random.choice(near[kind] + kinds[kind], 120).tolist()))
    words, vectors = learn_vectors(text_of(*runs), how(dim=12, epochs=30))
    of = {word: vector / np.linalg.norm(vector) for word, vector in zip(words, vectors, strict=True)}
    assert of["cat"] @ of["dog"] > of["cat"] @ of["red"] + 0.2
    assert of["blue"] @ of["green"] > of["blue"] @ of["hen"] + 0.2
    assert np.linalg.norm(vectors, axis=1).mean() == pytest.approx(LENGTH)


def test_a_seed_gives_the_same_vectors_again_and_another_seed_others() -> None:
    text = text_of(*["a b c d", "b c a", "d a b"] * 9)
    first, again, other = (learn_vectors(text, how(seed=seed))[1] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


@pytest.mark.parametrize("change", [{"window": 1}, {"whole_words": True}])
def test_another_window_and_whole_words_give_other_vectors(change: dict[str, int]) -> None:
    text = text_of(*["a b c d e f", "b c a e", "d a b f"] * 9)
    usual, other = (learn_vectors(text, how(**given))[1] for given in ({}, change))
    assert not np.allclose(usual, other, atol=1e-3)


def test_words_that_share_runs_of_letters_are_alike_where_these_count() -> None:
    random = np.random.default_rng(0)
    alike, others = ["gladness", "goodness", "sadness", "madness"], ["table", "window", "branch", "kettle"]
    text = text_of(*[" ".join(random.permutation(alike + others)) for _ in range(300)])

    def likeness(*, whole_words: bool) -> float:
        words, vectors = learn_vectors(text, how(dim=24, epochs=3, whole_words=whole_words))
        of = {word: vector / np.linalg.norm(vector) for word, vector in zip(words, vectors, strict=True)}
        return float(np.mean([of[a] @ of[b] - of[a] @ of[c] for a in alike for b in alike for c in others if a != b]))

    assert likeness(whole_words=False) > max(likeness(whole_words=True), 0) + 0.1


def test_how_far_it_has_come_is_told_for_every_reading() -> None:
    heard: list[int] = []
    text = text_of(*["a b c"] * 5)
    learn_vectors(text, how(dim=2, epochs=3), heard.append)
    assert sum(heard) == len(text) * 4


def test_a_text_without_a_word_that_comes_twice_is_refused() -> None:
    with pytest.raises(NoText, match="no word stands in the text 2 times; give more of it"):
        learn_vectors(text_of("a b c"), how(dim=2, epochs=1))


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_written_vectors_are_read_again(tmp_path: Path, ending: str) -> None:
    vectors = np.array([[0.5, -1.25], [3.0, 0.00004]], np.float32)
    write_vectors(tmp_path / f"vectors.txt{ending}", ["l\u00a0b", "and"], vectors)
    found = read_vectors(tmp_path / f"vectors.txt{ending}", Vocabulary(("and", "l\u00a0b")), 2)
    assert found.vectors.tolist() == [[3.0, 0.0], [0.5, -1.25]]


@pytest.fixture
def books(tmp_path: Path) -> Path:
    written = write_books(tmp_path / "tales.txt", [small_book(np.random.default_rng(0), sentences=60)])
    assert call("prepare-books", written, tmp_path / "books") == 0
    return tmp_path / "books"


def test_the_command_writes_a_file_to_begin_readers_with(books: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "vectors.txt.xz"
    capsys.readouterr()
    assert call("vectors", books, out, "--dim", 6, "--epochs", 1) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"{out}: vectors for " in printed.err
    assert len(read_vectors(out, Vocabulary(tuple(training_text(books).words[2:])), 6).ids) > 10


def test_the_command_takes_another_window_and_whole_words(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    story = [" ".join(f"w{n}" for n in random.integers(400, size=40)) for _ in range(40)]
    corpus = corpus_of(tmp_path / "corpus", train=[asked(story, "XXXXX asks")]).folder
    kinds: dict[str, list[str]] = {"usual": [], "narrow": ["--window", "1"], "words": ["--whole-words"]}
    for name, options in kinds.items():
        assert call("vectors", corpus, tmp_path / name, "--dim", 4, "--epochs", 1, *options) == 0
    assert len({(tmp_path / name).read_text() for name in kinds}) == 3


def test_the_command_counts_as_json(books: Path, tmp_path: Path, capsys: Captured) -> None:
    capsys.readouterr()
    out = tmp_path / "vectors.txt"
    assert call("vectors", books, out, "--dim", 3, "--epochs", 1, "--json") == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts == {"out": str(out), "words": len(out.read_text().splitlines()), "dim": 3, "text": counts["text"]}
    assert counts["text"] == len(training_text(books))


def test_the_command_overwrites_nothing_unless_told_to(books: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "vectors.txt"
    out.write_text("mine")
    assert call("vectors", books, out, "--dim", 2) == 2
    assert "exists already" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert call("vectors", books, out, "--dim", 2, "--epochs", 1, "--force") == 0
    assert out.read_text() != "mine"


def test_a_folder_of_something_else_is_refused(tmp_path: Path, capsys: Captured) -> None:
    assert call("vectors", tmp_path, tmp_path / "vectors.txt") == 1
    assert "holds neither a prepared corpus nor prepared books" in capsys.readouterr().err


def test_without_gensim_a_sentence_says_what_to_install(
    books: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "gensim"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gensim", None)
    assert call("vectors", books, tmp_path / "vectors.txt") == 1
    assert "pip install 'epireader[vectors]'" in capsys.readouterr().err
    assert not (tmp_path / "vectors.txt").exists()


def test_a_corpus_without_training_questions_is_refused(tmp_path: Path, capsys: Captured) -> None:
    corpus = corpus_of(tmp_path / "corpus", valid=[asked(["a b"], "XXXXX a")])
    assert corpus.splits == ("valid",)
    assert call("vectors", corpus.folder, tmp_path / "vectors.txt") == 1
    assert "has no train questions" in capsys.readouterr().err
