"""The front door: which files of a source are read, as what, and into which split."""

import gzip
import lzma
import shutil
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_data

from epireader.data.example import BadExample, Example
from epireader.data.loading import read_examples, source_bytes

FIXTURES = Path(__file__).parents[2] / "fixtures"
CBT = (FIXTURES / "cbtest_CN_valid_2000ex.txt").read_bytes()
CNN = (FIXTURES / "cnn" / "questions" / "test" / "7c3e.question").read_bytes()
JSONL = (FIXTURES / "own_dev.jsonl").read_bytes()


def splits(source: Path, kind: str | None = None) -> Counter[str]:
    return Counter(split for split, _ in read_examples(source, kind=kind))


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def pack(folder: Path, archive: Path, mode: str = "w:gz") -> Path:
    with tarfile.open(archive, mode) as tar:  # type: ignore[call-overload]
        tar.add(folder, arcname=folder.name)
    return archive


def official_cbt(folder: Path) -> Path:
    """A folder like the one the CBT archive holds."""
    for kind in ("NE", "CN", "V", "P"):
        for split in ("train", "valid_2000ex", "test_2500ex"):
            write(folder / f"cbtest_{kind}_{split}.txt", CBT)
    write(folder / "cbt_train.txt", b"_BOOK_TITLE_ : A_Tale.txt.out\n1 fox sat .\n2 crows sang .\n")
    write(folder / "stats_CN.txt", b"----------\t\nPROCESSING: \tcbtest_CN_train.txt\t\n")
    write(folder / "README.txt", b"1 What is here\n2 What is not\n")
    return folder


def test_a_folder_is_read_with_every_format_in_it() -> None:
    assert splits(FIXTURES) == {"valid": 4, "train": 1, "test": 1}


def test_a_folder_its_archive_and_its_packed_files_read_the_same(tmp_path: Path) -> None:
    def read(source: Path) -> list[tuple[str, Example]]:
        stripped = []
        for split, example in read_examples(source):
            object.__setattr__(example, "where", "")
            stripped.append((split, example))
        return stripped

    shutil.copytree(FIXTURES, tmp_path / "plain")
    for path in sorted((tmp_path / "plain").rglob("*.*")):
        if path.is_file():
            name = path.relative_to(tmp_path / "plain")
            write(tmp_path / "packed" / f"{name}.xz", lzma.compress(path.read_bytes()))
    plain = read(tmp_path / "plain")
    assert len(plain) == 6
    assert sorted(read(pack(tmp_path / "plain", tmp_path / "a.tgz")), key=str) == sorted(plain, key=str)
    assert read(tmp_path / "packed") == plain


@pytest.mark.parametrize(
    ("name", "content", "split"),
    [
        ("cbtest_NE_train.txt", CBT, "train"),
        ("cbtest_V_valid_2000ex.txt", CBT, "valid"),
        ("cbtest_P_test_2500ex.txt", CBT, "test"),
        ("my_questions.txt", CBT, "all"),
        ("mine", CBT, "all"),
        ("mine-train.txt", b"\xef\xbb\xbf" + CBT, "train"),
        ("questions/training/a.question", CNN, "train"),
        ("questions/validation/a.question", CNN, "valid"),
        ("questions/test/a.question", CNN, "test"),
        ("train.question", CNN, "all"),
        ("one.txt", CNN, "all"),
        ("train.jsonl", JSONL, "train"),
        ("my-dev.set.jsonl", JSONL, "valid"),
        ("valid_2.ndjson", JSONL, "valid"),
        ("TEST.jsonl", JSONL, "test"),
        ("latest.jsonl", JSONL, "all"),
        ("train_and_test.jsonl", JSONL, "all"),
        ("own.json", JSONL, "all"),
    ],
)
def test_the_split_is_read_from_the_name_and_the_format_from_name_or_content(
    tmp_path: Path, name: str, content: bytes, split: str
) -> None:
    path = write(tmp_path / "in" / name, content)
    assert set(splits(path)) == {split}
    assert set(splits(path.parent)) == {split}
    assert set(splits(write(path.with_name(path.name + ".gz"), gzip.compress(content)))) == {split}


def test_a_cnn_folder_gives_its_split_when_named_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES / "cnn" / "questions" / "test")
    assert set(splits(Path())) == {"test"}


@pytest.mark.parametrize("packed", [False, True])
def test_several_kinds_of_cbt_need_one_picked(tmp_path: Path, packed: bool) -> None:
    folder = official_cbt(tmp_path / "CBTest")
    source = pack(folder, tmp_path / "CBTest.tgz") if packed else folder
    with pytest.raises(ValueError, match=r"several kinds \(.*, .*\); pick one with --kind"):
        list(read_examples(source))
    assert splits(source, "NE") == {"train": 2, "valid": 2, "test": 2}


def test_raw_books_statistics_and_readmes_beside_questions_are_passed_over(tmp_path: Path) -> None:
    folder = official_cbt(tmp_path)
    for path in [*folder.glob("cbtest_NE*"), *folder.glob("cbtest_V*"), *folder.glob("cbtest_P*")]:
        path.unlink()
    assert splits(folder) == {"train": 2, "valid": 2, "test": 2}


def test_the_wrong_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one of NE, CN, V, P, got 'XX'"):
        read_examples(FIXTURES, kind="XX")
    with pytest.raises(ValueError, match="is not a CBT file of kind NE"):
        list(read_examples(FIXTURES / "cbtest_CN_valid_2000ex.txt", kind="NE"))
    with pytest.raises(ValueError, match="is not a CBT file of kind NE"):
        list(read_examples(FIXTURES / "own_dev.jsonl", kind="NE"))
    with pytest.raises(ValueError, match="no CBT questions of kind NE in"):
        list(read_examples(FIXTURES, kind="NE"))


def test_a_sentence_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one word, got 0"):
        read_examples(FIXTURES, sentence_limit=0)


@pytest.mark.parametrize("content", [b"", b"Once upon a time .\n", b"\x89PNG\r\n", b'{"a": 1}\n', b"1 fox\n2 crow\n"])
def test_an_unknown_file_named_outright_is_refused_with_what_is_read(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ValueError, match=r"story\.txt holds no questions .* CBT .*\*\.question.*\*\.jsonl"):
        list(read_examples(write(tmp_path / "story.txt", content)))


def test_a_folder_or_archive_with_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(folder / "story.txt", b"Once upon a time .\n")
    with pytest.raises(ValueError, match=r"there are no questions in .*in\. What is read"):
        list(read_examples(folder))
    with pytest.raises(ValueError, match=r"there are no questions in .*a\.tgz"):
        list(read_examples(pack(folder, tmp_path / "a.tgz")))
    with pytest.raises(ValueError, match=r"to read an archive in it, name it: .*a\.tgz"):
        list(read_examples(tmp_path))


@pytest.mark.parametrize("name", ["train.jsonl", "cbtest_CN_train.txt", "a.question"])
@pytest.mark.parametrize("content", [b"", b"\n \n\r\n"])
def test_a_file_of_questions_without_any_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(BadExample, match=r":\d: (the file has no questions|the file is cut off|the passage is empty)"):
        list(read_examples(write(tmp_path / name, content)))


def test_a_refused_question_is_raised_or_passed_over_and_told(tmp_path: Path) -> None:
    path = write(tmp_path / "cbtest_CN_train.txt", CBT + b"1 nonsense\n\n" + CBT)
    with pytest.raises(BadExample, match=r"cbtest_CN_train\.txt:45: the record is cut off"):
        list(read_examples(path))
    bad: list[BadExample] = []
    assert len(list(read_examples(path, on_bad=bad.append))) == 4
    assert [each.where for each in bad] == [f"{path}:45"]


def test_a_file_of_bad_questions_only_is_told_of_once_for_each(tmp_path: Path) -> None:
    bad: list[BadExample] = []
    assert list(read_examples(write(tmp_path / "a.jsonl", b"{\n{\n"), on_bad=bad.append)) == []
    assert [each.where[-2:] for each in bad] == [":1", ":2"]


def test_a_refused_question_in_an_archive_names_archive_member_and_line(tmp_path: Path) -> None:
    write(tmp_path / "in" / "b.jsonl", JSONL + b"{")
    archive = pack(tmp_path / "in", tmp_path / "a.tar.xz", "w:xz")
    with pytest.raises(BadExample) as refused:
        list(read_examples(archive))
    assert refused.value.where == f"{archive}:in/b.jsonl:3"


def test_damage_is_raised_even_where_bad_questions_are_passed_over(tmp_path: Path) -> None:
    whole = gzip.compress(CBT)
    path = write(tmp_path / "cbtest_CN_train.txt.gz", whole[:-9])
    with pytest.raises(ValueError, match=r"cbtest_CN_train\.txt\.gz is damaged or cut off"):
        list(read_examples(path, on_bad=list[BadExample]().append))


def test_the_bytes_told_add_up_to_source_bytes(tmp_path: Path) -> None:
    folder = official_cbt(tmp_path / "CBTest")
    for source in (folder, pack(folder, tmp_path / "CBTest.tgz")):
        told: list[int] = []
        list(read_examples(source, kind="V", on_bytes=told.append))
        assert sum(told) == source_bytes(source, "V") > 0
    assert source_bytes(folder, "V") == 3 * len(CBT)


@given(
    st.sampled_from(
        ["a.txt", "cbtest_CN_train.txt", "a.question", "a.jsonl", "a.gz", "a.xz", "a.tar", "a.tgz", "a.txz"]
    ),
    st.binary(max_size=2000),
    st.sampled_from([b"", CBT, JSONL, CNN, gzip.compress(CBT), lzma.compress(JSONL)]),
    st.integers(0, 3000),
)
def test_no_bytes_give_anything_but_examples_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, name: str, noise: bytes, good: bytes, at: int
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(good[:at] + noise + good[at:])
    error = str(path)
    try:
        assert all(isinstance(example, Example) for _, example in read_examples(path))
    except ValueError as raised:
        error = str(raised)
    assert str(path) in error


def test_the_rebuilt_sets_lie_in_one_folder_with_two_kinds() -> None:
    folder = shared_data("cbt-r")
    with pytest.raises(ValueError, match=r"\(NE, CN\); pick one with --kind"):
        next(read_examples(folder))
    assert source_bytes(folder, "NE") < source_bytes(folder)
    assert next(read_examples(folder, kind="NE"))[0] == "test"
