"""Finding and streaming files: folders, packed files, archives, and what can be wrong with them."""

import gzip
import io
import lzma
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.example import BadExample
from epireader.data.sources import cut, damage_named, decode, files_of, one_blank, text_files, without_blank

LINES = b"".join(b"line %d\n" % number for number in range(20000))


def everything(name: str) -> bool:
    return True


def contents(source: Path) -> dict[str, bytes]:
    return {file.where: file.stream.read() for file in text_files(source, wanted=everything)}


def write_tar(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.txt", bytes), ("a.txt.gz", gzip.compress), ("a.txt.xz", lzma.compress), ("a.XZ", lzma.compress)],
)
def test_a_packed_file_reads_like_a_plain_one(tmp_path: Path, name: str, pack: type[bytes]) -> None:
    path = tmp_path / name
    path.write_bytes(pack(LINES))
    assert contents(path) == {str(path): LINES}


@pytest.mark.parametrize(
    ("name", "mode"),
    [("a.tar", "w"), ("a.tgz", "w:gz"), ("a.tar.gz", "w:gz"), ("a.tar.xz", "w:xz"), ("a.txz", "w:xz")],
)
def test_an_archive_gives_its_members(tmp_path: Path, name: str, mode: str) -> None:
    long_name = "/".join(["folder"] * 40) + "/b.txt"
    members = {"x/a.txt": LINES, "x/a.txt.xz": lzma.compress(LINES), long_name: b"b", "empty.txt": b""}
    path = write_tar(tmp_path / name, members, mode)
    assert contents(path) == {
        f"{path}:x/a.txt": LINES,
        f"{path}:x/a.txt.xz": LINES,
        f"{path}:{long_name}": b"b",
        f"{path}:empty.txt": b"",
    }


def test_members_may_be_left_unread(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar.gz", {"a": LINES, "b": LINES, "c": LINES}, "w:gz")
    firsts = [(file.name, file.stream.readline()) for file in text_files(path, wanted=lambda name: name != "b")]
    assert firsts == [("a", b"line 0\n"), ("c", b"line 0\n")]


def test_a_folder_gives_its_files_sorted_without_hidden_ones_and_archives(tmp_path: Path) -> None:
    for name in ("b/2.txt", "b/1.txt.gz", "a.txt", ".hidden", "b/.DS_Store", ".git/config", "b/all.tar", "c.tgz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert files_of(tmp_path, wanted=everything) == [tmp_path / name for name in ("a.txt", "b/1.txt.gz", "b/2.txt")]


def test_a_link_in_a_folder_is_followed_to_a_file_and_passed_over_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.txt").write_text("a")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "file.txt").symlink_to(tmp_path / "elsewhere" / "a.txt")
    (tmp_path / "here" / "folder").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "here" / "loop").symlink_to(tmp_path / "here")
    for source, found in ((tmp_path / "here", "file.txt"), (tmp_path / "here" / "folder", "a.txt")):
        assert files_of(source, wanted=everything) == [source / found]


def test_hidden_members_and_links_of_an_archive_are_passed_over(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"._a.txt": b"x", "__MACOSX/a.txt": b"x", "./a.txt": b"a", "in.tar": b"x"})
    with tarfile.open(path, "a") as tar:
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "a.txt"
        tar.addfile(link)
    assert contents(path) == {f"{path}:a.txt": b"a"}


def test_an_archive_made_from_another_folder_is_read(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"../data/a.txt": b"a", "../.git/b.txt": b"b"})
    assert contents(path) == {f"{path}:../data/a.txt": b"a"}


def test_a_file_both_plain_and_packed_is_not_read_twice(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"")
    (tmp_path / "a.txt.gz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"a\.txt and .*a\.txt\.gz are the same file"):
        files_of(tmp_path, wanted=everything)


def test_the_bytes_told_add_up_to_the_size_on_disk(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(LINES)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(LINES))
    write_tar(tmp_path / "c.tar.xz", {"a": LINES, "b": LINES}, "w:xz")
    for source in (tmp_path, tmp_path / "c.tar.xz"):
        told: list[int] = []
        for file in text_files(source, wanted=everything, on_bytes=told.append):
            file.stream.readline()
        assert sum(told) == sum(path.stat().st_size for path in files_of(source, wanted=everything))
        assert min(told) > 0


def read_all(path: Path) -> None:
    for file in text_files(path, wanted=everything):
        with damage_named(file.where):
            file.stream.read()


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.xz"])
@pytest.mark.parametrize("damage", ["cut", "rubbish", "changed"])
def test_a_damaged_packed_file_is_an_error_that_names_it(tmp_path: Path, name: str, damage: str) -> None:
    whole = bytearray(gzip.compress(LINES) if name.endswith("gz") else lzma.compress(LINES))
    whole[len(whole) // 2] ^= 0xFF if damage == "changed" else 0
    path = tmp_path / name
    path.write_bytes({"cut": bytes(whole[:-20]), "rubbish": LINES, "changed": bytes(whole)}[damage])
    with pytest.raises(ValueError, match=rf"{name} is damaged or cut off: "):
        read_all(path)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
@pytest.mark.parametrize("keep", [0, 100, 512, 700, 1024, 1536, 2000, -20])
def test_a_cut_archive_is_an_error_that_names_it(tmp_path: Path, mode: str, keep: int) -> None:
    path = write_tar(tmp_path / {"w": "a.tar", "w:gz": "a.tgz", "w:xz": "a.txz"}[mode], {"a": b"a", "b": LINES}, mode)
    content = path.read_bytes()
    if mode == "w" and keep == -20:
        return  # only the zeros that fill up the last block are cut
    path.write_bytes(content[: keep if keep < len(content) else -9])
    with pytest.raises(ValueError, match=rf"{path.name}(:[ab])? is damaged or cut off: "):
        read_all(path)


def test_a_bad_header_in_an_archive_is_not_taken_for_its_end(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"a": b"a", "b": b"b"})
    content = bytearray(path.read_bytes())
    content[1024 + 10] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.tar is damaged or cut off: bad checksum"):
        read_all(path)


def test_a_checksum_at_the_very_end_of_an_archive_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    padding = bytes(1_000_000)  # more than is read ahead
    content = bytearray(gzip.compress(write_tar(tmp_path / "a.tar", {"a": b"a"}).read_bytes() + padding, 0))
    content[-6] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.tgz is damaged or cut off: CRC"):
        read_all(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.txt does not exist"):
        read_all(tmp_path / "nowhere.txt")


def test_what_is_neither_file_nor_folder_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is neither a file nor a folder"):
        read_all(tmp_path / "pipe")


def test_a_folder_that_may_not_be_listed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shut").mkdir()
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError, match="shut"):
        files_of(tmp_path, wanted=everything)


@given(st.lists(st.integers()).map(lambda items: tuple(map(str, items))), st.integers(1, 9))
def test_cutting_keeps_every_word_and_the_limit(words: tuple[str, ...], limit: int) -> None:
    pieces = cut(words, limit)
    assert tuple(word for piece in pieces for word in piece) == words
    assert all(0 < len(piece) <= limit for piece in pieces)
    assert len(pieces) == -(-len(words) // limit)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("a XXXXX b", ("a ", " b")),
        ("(XXXXX)", ("(", ")")),
        ("XXXXXs and @placeholder", ("XXXXXs and ", "")),
        ("me@placeholder.org or ____", ("me@placeholder.org or ", "")),
        ("R____ and __ and ____!", ("R____ and __ and ", "!")),
        ("____ and [MASK]", ("____ and ", "")),
    ],
)
def test_a_blank_stands_free_of_letters(question: str, parts: tuple[str, str]) -> None:
    assert one_blank(question) == parts


def test_a_passage_may_hold_underscores_and_longer_words_but_no_blank() -> None:
    assert without_blank("Mr. ____ of XXXXXX") == "Mr. ____ of XXXXXX"
    with pytest.raises(BadExample, match="XXXXX in it; only the question may"):
        without_blank("Mr. XXXXX's dog")


def test_a_line_that_is_not_utf_8_is_refused_with_its_column() -> None:
    with pytest.raises(BadExample, match="byte 0x80 at column 3"):
        decode(b"ab\x80c")
