"""Files and folders that are there whole or not at all."""

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from epireader.files import folder_made_beside, sha256_of, written_beside


def write_half(path: Path) -> None:
    path.write_text("half")
    raise KeyboardInterrupt


def test_a_file_takes_its_place_when_the_block_ends_well(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with written_beside(target) as beside:
        beside.write_text("new")
        assert target.read_text() == "old"
        assert beside.parent == tmp_path, "a rename is only at once within one folder"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), written_beside(target) as beside:
        write_half(beside)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_block_that_writes_nothing_is_an_error_and_no_empty_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), written_beside(tmp_path / "file"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_a_file_takes_the_place_of_files_only(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "there")
    before = (tmp_path / "there").stat()
    with (
        pytest.raises(FileExistsError, match="there is a device, a pipe or a folder"),
        written_beside(tmp_path / "there"),
    ):
        pytest.fail("the block must not be entered")
    assert (tmp_path / "there").stat() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_link_to_a_file_stays_one_and_the_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "far" / "file")
    with written_beside(tmp_path / "link") as beside:
        beside.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "file").read_text() == "new"


def test_a_folder_appears_when_the_block_ends_well(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder"
    with folder_made_beside(target) as beside:
        (beside / "a.txt").write_text("a")
        assert not target.exists()
    assert [path.name for path in target.parent.iterdir()] == ["folder"]
    assert (target / "a.txt").read_text() == "a"


def test_a_failure_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), folder_made_beside(tmp_path / "folder") as beside:
        write_half(beside / "a.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_folder_is_never_made_over_what_is_there(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "there"
    target.write_text("mine") if kind == "file" else target.mkdir()
    with pytest.raises(FileExistsError, match="there exists already; choose another name"), folder_made_beside(target):
        pytest.fail("the block must not be entered")
    assert list(tmp_path.iterdir()) == [target]


def test_files_are_readable_by_whom_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with written_beside(tmp_path / "file") as beside:
            beside.touch(0o600)
        with folder_made_beside(tmp_path / "folder") as beside:
            (beside / "inside").touch(0o600)
        after = os.umask(0o027)
    finally:
        os.umask(before)
    assert after == 0o027, "the umask must be left as it was"
    for path in (tmp_path / "file", tmp_path / "folder" / "inside"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_the_checksum_of_a_file_is_its_sha256_in_any_number_of_blocks(tmp_path: Path) -> None:
    content = os.urandom((1 << 20) + 17)
    (tmp_path / "file").write_bytes(content)
    told: list[int] = []
    assert sha256_of(tmp_path / "file", told.append) == hashlib.sha256(content).hexdigest()
    assert told == [1 << 20, 17]


def test_the_checksum_of_a_folder_depends_on_names_and_contents_alone(tmp_path: Path) -> None:
    def folder(name: str, **files: str) -> Path:
        (tmp_path / name / "sub").mkdir(parents=True)
        for file, text in files.items():
            (tmp_path / name / "sub" / file).write_text(text)
        return tmp_path / name

    first = sha256_of(folder("one", a="x", b="y"))
    assert sha256_of(folder("two", b="y", a="x")) == first
    assert sha256_of(folder("three", a="x", c="y")) != first
    assert sha256_of(folder("four", a="x", b="z")) != first
    assert sha256_of(folder("five", a="xb", y="")) != first
