"""Word vectors from a file."""

import gzip
import lzma
from pathlib import Path

import pytest
import torch
from shared_data import shared_data

from epireader.data.embeddings import BadEmbeddings, read_vectors
from epireader.data.vocabulary import Vocabulary

GOOD = "the 0.5 -1\nParis 1e-3 2\nparis 7 7\nl\u00a0b 3 3\nunused 4 4\n"
WORDS = Vocabulary(("paris", "nowhere", "The", "Paris", "l\u00a0b"), strangers=3)


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_words_get_their_vectors_and_a_cased_one_that_is_missing_gets_the_lower_cased_ones(tmp_path: Path) -> None:
    found = read_vectors(written(tmp_path, GOOD), WORDS, 2)
    assert found.ids.tolist() == [5, 7, 8, 9]
    expected = torch.tensor([[7.0, 7.0], [0.5, -1.0], [0.001, 2.0], [3.0, 3.0]])
    assert torch.equal(found.vectors, expected)
    assert found.coverage == "vectors for 4 of 5 words (80.0%)"


def test_a_word_in_lower_case_does_not_get_the_vector_of_a_name(tmp_path: Path) -> None:
    assert read_vectors(written(tmp_path, "Bill 1 2\n"), Vocabulary(("bill",)), 2).ids.tolist() == []


@pytest.mark.parametrize(("ending", "packed"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_packed_file_is_read_like_a_plain_one(tmp_path: Path, ending: str, packed) -> None:
    path = tmp_path / f"vectors.txt{ending}"
    path.write_bytes(packed(GOOD.encode()))
    plain = read_vectors(written(tmp_path, GOOD), WORDS, 2)
    assert torch.equal(read_vectors(path, WORDS, 2).vectors, plain.vectors)


@pytest.mark.parametrize("text", ["the 1 2", "\ufeffthe 1 2\r\n", "the 1 2 \n"])
def test_line_ends_and_marks_of_other_writers_do_no_harm(tmp_path: Path, text: str) -> None:
    assert read_vectors(written(tmp_path, text), Vocabulary(("the",)), 2).vectors.tolist() == [[1.0, 2.0]]


def test_a_first_line_of_counts_is_passed_over(tmp_path: Path) -> None:
    assert read_vectors(written(tmp_path, "2 3\nthe 1 2 3\n2 4 5 6\n"), Vocabulary(("the",)), 3).vectors.tolist() == [
        [1, 2, 3]
    ]
    with pytest.raises(BadEmbeddings, match=r"vectors\.txt:2: '2' has 1 numbers"):
        read_vectors(written(tmp_path, "the 1 2 3\n2 3\n"), WORDS, 3)


def test_a_word_with_spaces_is_passed_over_unless_numbers_follow_them(tmp_path: Path) -> None:
    found = read_vectors(written(tmp_path, ". . 1 2\nat a@b.org 3 4\nthe 5 6\n"), Vocabulary(("the", "at", ".")), 2)
    assert found.vectors.tolist() == [[5.0, 6.0]]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("b 1", "'b' has 1 numbers and the reader's vectors have 2; another width is given with --set model.embedding_dim"),
        ("b 1 2 3", "'b' has 3 numbers and the reader's vectors have 2; another width is given with --set model.embedding_dim"),
        ("b 1  2", "'b' has 3 numbers and the reader's vectors have 2; another width is given with --set model.embedding_dim"),
        ("b 1 2x", "'2x' is not a number of ordinary size"),
        ("b 1 nan", "'nan' is not a number of ordinary size"),
        ("b -inf 1", "'-inf' is not a number of ordinary size"),
        ("b 1e99 1", "'1e99' is not a number of ordinary size"),
        ("", "there is no word at the start of the line"),
        (" 1 2", "there is no word at the start of the line"),
        (b"\xff 1 2", "the line is not UTF-8: byte 0xff at column 1; save the file as plain text in UTF-8"),
    ],
)  # fmt: skip
def test_a_broken_line_is_refused_with_its_number_even_for_a_word_nobody_wants(
    tmp_path: Path, line: str | bytes, reason: str
) -> None:
    path = written(tmp_path, b"a 1 2\n" + (line.encode() if isinstance(line, str) else line) + b"\nc 5 6\n")
    with pytest.raises(BadEmbeddings) as error:
        read_vectors(path, Vocabulary(("c",)), 2)
    assert str(error.value) == f"{path}:2: {reason}"


def test_a_word_comes_twice_only_if_nobody_wants_it(tmp_path: Path) -> None:
    path = written(tmp_path, "a 1 2\nc 5 6\na 3 4\n")
    assert read_vectors(path, Vocabulary(("c",)), 2).vectors.tolist() == [[5.0, 6.0]]
    for word in ("a", "A"):
        with pytest.raises(BadEmbeddings, match=r"vectors\.txt:3: 'a' has a vector in line 1 already"):
            read_vectors(path, Vocabulary((word,)), 2)


def test_an_empty_or_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadEmbeddings, match=r"vectors\.txt holds no word vectors"):
        read_vectors(written(tmp_path, ""), WORDS, 2)
    path = tmp_path / "cut.txt.xz"
    path.write_bytes(lzma.compress(GOOD.encode())[:-9])
    with pytest.raises(ValueError, match=r"cut\.txt\.xz is damaged or cut off"):
        read_vectors(path, WORDS, 2)


def test_glove_is_read_whole() -> None:
    path = shared_data("glove") / "glove.6B.100d.subset.txt.xz"
    found = read_vectors(path, Vocabulary(("the", "Alice", "zzzyx")), 100)
    assert found.coverage == "vectors for 2 of 3 words (66.7%)"
    assert found.vectors[0, 0].item() == pytest.approx(-0.038194)
