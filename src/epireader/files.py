"""Files that are there whole or not at all."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_beside(target: Path) -> Iterator[Path]:
    """A path to write a file to; it takes the place of `target` when the block ends well, and is removed otherwise.

    A link stays one: the file it leads to is replaced.
    """
    if target.exists() and not target.is_file():
        raise FileExistsError(f"{target} is a device, a pipe or a folder; choose another name for the file")
    target = target.resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield beside
        _settle(beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def folder_made_beside(target: Path) -> Iterator[Path]:
    """An empty folder that becomes `target` when the block ends well, and is removed otherwise."""
    if target.exists():
        raise FileExistsError(f"{target} exists already; choose another name or remove it first")
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    beside.mkdir(parents=True)
    try:
        yield beside
        for path in beside.iterdir():
            _settle(path)
        beside.rename(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def sha256_of(path: Path, on_bytes: Callable[[int], None] | None = None) -> str:
    """The checksum of a file, or of a folder's files with their names."""
    digest = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        if path.is_dir():
            digest.update(file.relative_to(path).as_posix().encode() + b"\0")
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
                if on_bytes:
                    on_bytes(len(block))
    return digest.hexdigest()


def _settle(path: Path) -> None:
    """On the disk for good, and readable by whom the user's umask says (some writers make private files)."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)
