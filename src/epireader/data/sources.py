"""Text files, wherever they lie: alone, in a folder or in an archive, plain or packed; and the rules all formats share.

Everything streams: nothing is unpacked to disk and no file is held in memory whole. Lines end at `\\n` only; a
`\\r` before it and the line separators of Unicode are white space like any other.
"""

import gzip
import io
import lzma
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import cast

from epireader.data.example import BLANK, BadExample, Words

ARCHIVE_ENDINGS = (".tar", ".tgz", ".tar.gz", ".txz", ".tar.xz")
PACKED_ENDINGS = (".gz", ".xz")
BUFFER = 1 << 16

Wanted = Callable[[str], bool]
OnBytes = Callable[[int], None]
OnBad = Callable[[BadExample], None]


@dataclass(frozen=True, slots=True)
class TextFile:
    """One file, open at its start."""

    name: str
    """Its whole path, with `/` between folders and without `.gz` or `.xz`."""
    where: str
    """How messages call it: its path, or `archive:member`."""
    stream: io.BufferedReader
    """Its bytes, unpacked."""


def text_files(source: Path, *, wanted: Wanted, on_bytes: OnBytes | None = None) -> Iterator[TextFile]:
    """The files of a source whose names are wanted, one after the other; each is closed when the next is asked for.

    `on_bytes` is told how many more bytes of the source, as it lies on disk, are done with.
    """
    for path in files_of(source, wanted=wanted):
        with damage_named(str(path)), _Counted(path, on_bytes) as disk:
            if is_archive(path.name):
                yield from _members(path, _unpacked(disk, path.name), wanted)
            else:
                yield TextFile(_plain_name(path.absolute().as_posix()), str(path), _unpacked(disk, path.name))


def files_of(source: Path, *, wanted: Wanted) -> list[Path]:
    """The files on disk to read: the source itself, or those under a folder, in sorted order.

    Hidden files are passed over, and so are archives inside a folder, which often hold what lies unpacked beside them.
    """
    if not source.exists():
        raise FileNotFoundError(f"{source} does not exist")
    if not source.is_dir():
        if not source.is_file():
            raise ValueError(f"{source} is neither a file nor a folder")
        return [source]
    paths: dict[str, Path] = {}
    for name in _names_under(source):
        if is_archive(name) or not wanted(plain := _plain_name(name)):
            continue
        if plain in paths:
            raise ValueError(f"{paths[plain]} and {source / name} are the same file, packed and not; keep one of them")
        paths[plain] = source / name
    return list(paths.values())


def is_archive(name: str) -> bool:
    return name.lower().endswith(ARCHIVE_ENDINGS)


@contextmanager
def damage_named(where: str) -> Iterator[None]:
    """Turns what unpackers raise for a damaged file into an error that says which file it is."""
    try:
        yield
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise ValueError(f"{where} is damaged or cut off: {error}") from error


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Says where a question was refused, for what is refused inside."""
    try:
        yield
    except BadExample as bad:
        raise BadExample(bad.reason, where) from None


def decode(line: bytes) -> str:
    """The text of one line; what is not clean UTF-8 is refused."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = line[error.start]
        raise BadExample(
            f"the line is not UTF-8: byte 0x{byte:02x} at column {error.start + 1}; save the file as plain text in UTF-8"
        ) from None
    return checked(text)


def checked(text: str) -> str:
    """The text itself, unless no text file should hold it: NUL characters and halves of surrogate pairs are refused."""
    if "\0" in text:
        raise BadExample("there is a NUL character in it; is this really a text file?")
    if not text.isascii() and (half := _SURROGATE.search(text)):
        raise BadExample(f"there is half a surrogate pair in it: \\u{ord(half[0]):04x}")
    return text


def without_mark(line: bytes, number: int) -> bytes:
    """A line without the byte order mark that may open the first one."""
    return line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def one_blank(question: str) -> tuple[str, str]:
    """What stands before and after the blank of a question, which must have exactly one.

    Underscores are the blank only where no other form of it stands: CBT has questions with both.
    """
    found = list(_NAMED_BLANK.finditer(question)) or list(_UNDERSCORES.finditer(question))
    if len(found) != 1:
        glued = not found and any(mark in question for mark in (*_BLANK_NAMES, "___"))
        raise BadExample(
            f"the question must have exactly one blank ({', '.join(_BLANK_NAMES)} or ____), it has {len(found)}"
            + ("; put spaces around what is meant as one" if glued else "")
        )
    return question[: found[0].start()], question[found[0].end() :]


def without_blank(passage: str) -> str:
    """The passage itself, unless a blank stands in it. Underscores there are text: books print names as ____."""
    if any(mark in passage for mark in _BLANK_NAMES) and (found := _NAMED_BLANK.search(passage)):
        raise BadExample(f"the passage has the blank {found[0]} in it; only the question may")
    return passage


def cut(words: Words, limit: int) -> tuple[Words, ...]:
    """A sentence in pieces of at most `limit` words, none of them lost; no words give no pieces."""
    if 0 < len(words) <= limit:
        return (words,)
    return tuple(words[start : start + limit] for start in range(0, len(words), limit))


def distinct(candidates: Sequence[Words]) -> tuple[Words, ...]:
    """The candidates in their order, each once, those with no words left out."""
    return tuple(candidate for candidate in dict.fromkeys(candidates) if candidate)


_BLANK_NAMES = (BLANK, "@placeholder", "[MASK]")
_NAMED_BLANK = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, _BLANK_NAMES))})(?!\w)")
_UNDERSCORES = re.compile(r"(?<!\w)_{3,}(?!\w)")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Counted(io.FileIO):
    """A file on disk that tells how much of it was read, and the rest of it when closed."""

    def __init__(self, path: Path, on_bytes: OnBytes | None) -> None:
        super().__init__(path)
        self._left = os.fstat(self.fileno()).st_size
        self._on_bytes = on_bytes

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        count = super().readinto(buffer)
        self._report(count or 0)
        return count

    def close(self) -> None:
        if not self.closed:
            self._report(self._left)
        super().close()

    def _report(self, count: int) -> None:
        if count and self._on_bytes:
            self._left -= count
            self._on_bytes(count)


def _unpacked(stream: io.RawIOBase | io.BufferedIOBase, name: str) -> io.BufferedReader:
    packed: io.BufferedReader = io.BufferedReader(cast(io.RawIOBase, stream), BUFFER)
    unpacked: gzip.GzipFile | lzma.LZMAFile
    if name.lower().endswith((".gz", ".tgz")):
        unpacked = gzip.GzipFile(fileobj=packed)
    elif name.lower().endswith((".xz", ".txz")):
        unpacked = lzma.LZMAFile(packed)  # noqa: SIM115
    else:
        return packed
    return io.BufferedReader(cast(io.RawIOBase, unpacked), BUFFER)


def _members(path: Path, stream: io.BufferedReader, wanted: Wanted) -> Iterator[TextFile]:
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_StrictMember) as tar:
        while member := tar.next():
            tar.members = []  # type: ignore[attr-defined]  # tarfile would keep every member it has seen
            name = str(PurePosixPath(member.name))
            if member.isreg() and not _hidden(name) and not is_archive(name) and wanted(_plain_name(name)):
                opened = cast(io.BufferedIOBase, tar.extractfile(member))
                yield TextFile(_plain_name(name), f"{path}:{name}", _unpacked(opened, name))
    while stream.read(BUFFER):  # to the end, where the checksum of a packed archive stands
        pass


class _StrictMember(tarfile.TarInfo):
    """A member of an archive whose damage is told: tarfile takes a bad header for the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "_StrictMember":
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            if "end of file" in str(error):  # the zeros that close an archive
                raise
            raise tarfile.ReadError(str(error)) from error


def _names_under(folder: Path) -> list[str]:
    def refuse(error: OSError) -> None:
        raise error

    names = [
        Path(top, name).relative_to(folder).as_posix()
        for top, _, files in os.walk(folder, onerror=refuse)
        for name in files
    ]
    return sorted(name for name in names if not _hidden(name))


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) and part != ".." for part in PurePosixPath(name).parts)


def _plain_name(name: str) -> str:
    return name[:-3] if name.lower().endswith(PACKED_ENDINGS) else name
