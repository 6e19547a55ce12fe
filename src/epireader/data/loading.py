"""The front door to questions on disk: any file, folder or archive in, examples out, one at a time.

What is read, and by which rules, stands in docs/data.md.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from epireader.data.cbt import KINDS, kind_of, looks_like_cbt, read_cbt
from epireader.data.cnn import looks_like_cnn, read_cnn
from epireader.data.example import BadExample, Example
from epireader.data.jsonl import looks_like_jsonl, read_jsonl
from epireader.data.sources import (
    BUFFER,
    OnBad,
    OnBytes,
    TextFile,
    Wanted,
    damage_named,
    files_of,
    is_archive,
    text_files,
    without_mark,
)

Split = str  # "train", "valid", "test", or "all" where a file's name does not say

SENTENCE_LIMIT = 100
"""The most words a sentence may have; a longer one is cut into pieces."""

_Read = Callable[..., Iterator[Example]]  # (file, *, sentence_limit, on_bad), one for each format

WHAT_IS_READ = (
    "CBT questions (cbtest_NE_train.txt and the like), CNN / Daily Mail questions (*.question) and JSONL (*.jsonl), "
    "each plain, .gz or .xz, in a folder, or in an archive (.tar, .tgz, .tar.gz, .tar.xz)"
)


def read_examples(
    source: Path,
    *,
    kind: str | None = None,
    on_bad: OnBad | None = None,
    on_bytes: OnBytes | None = None,
    sentence_limit: int = SENTENCE_LIMIT,
) -> Iterator[tuple[Split, Example]]:
    """Every question of a file, a folder or an archive, with the split its file belongs to.

    `kind` picks the CBT files of one kind. A question that cannot be read is raised as BadExample, or given to
    `on_bad` and passed over; a damaged file is a ValueError in any case. `on_bytes` is told now and then how many
    more bytes of the source are done with; they add up to `source_bytes`.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"the kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if sentence_limit < 1:
        raise ValueError(f"the sentence limit must be at least one word, got {sentence_limit}")
    return _examples(source, kind, on_bad or _raise, on_bytes, sentence_limit)


def source_bytes(source: Path, kind: str | None = None) -> int:
    """How many bytes on disk `read_examples` will go through."""
    return sum(path.stat().st_size for path in source_files(source, kind))


def source_files(source: Path, kind: str | None = None) -> list[Path]:
    """The files on disk that `read_examples` will look into."""
    return files_of(source, wanted=_wanted(kind))


def _examples(
    source: Path, kind: str | None, on_bad: OnBad, on_bytes: OnBytes | None, sentence_limit: int
) -> Iterator[tuple[Split, Example]]:
    alone = source.is_file() and not is_archive(source.name)
    kinds = {kind_of(path.name) for path in source_files(source, kind)}
    something = False
    for file in text_files(source, wanted=_wanted(kind), on_bytes=on_bytes):
        with damage_named(file.where):
            read = _format_of(file)
            if alone:
                _check_file(file, read, kind)
            if read is None:
                continue
            something = True
            kinds.add(kind_of(file.name))
            _check_kinds(source, kinds)
            split = _split_of(file.name, read)
            for example in _in_file(file, read, sentence_limit, on_bad):
                yield split, example
    if not something:
        raise ValueError(_nothing_in(source, kind))


def _in_file(file: TextFile, read: _Read, sentence_limit: int, on_bad: OnBad) -> Iterator[Example]:
    """The examples of one file; a file without any question, good or bad, is itself bad."""
    empty = True

    def refuse(bad: BadExample) -> None:
        nonlocal empty
        empty = False
        on_bad(bad)

    for example in read(file, sentence_limit=sentence_limit, on_bad=refuse):
        empty = False
        yield example
    if empty:
        on_bad(BadExample("the file has no questions in it", f"{file.where}:1"))


def _format_of(file: TextFile) -> _Read | None:
    """What reads a file, by its name and then by how it starts; None where nothing does."""
    if kind_of(file.name):
        return read_cbt
    if file.name.endswith(".question"):
        return read_cnn
    if file.name.endswith((".jsonl", ".ndjson")):
        return read_jsonl
    start = without_mark(file.stream.peek(BUFFER), 1)
    looks = {looks_like_cbt: read_cbt, looks_like_cnn: read_cnn, looks_like_jsonl: read_jsonl}
    return next((read for looks_right, read in looks.items() if looks_right(start)), None)


def split_named(name: str) -> Split:
    """The split that a file's name says it belongs to."""
    found = splits_named(name)
    return found.pop() if len(found) == 1 else "all"


def splits_named(name: str) -> set[Split]:
    """Every split that has a word in a file's name."""
    return {_SPLITS[word] for word in re.split("[^a-z]+", name.lower()) if word in _SPLITS}


def usual_split(source: Path) -> Split | None:
    """The validation questions; but a file has one split only, which its name says."""
    return None if source.is_file() and not is_archive(source.name) else "valid"


def _split_of(name: str, read: _Read) -> Split:
    path = PurePosixPath(name)
    return _SPLITS.get(path.parent.name, "all") if read is read_cnn else split_named(path.name)


_SPLITS = {
    "train": "train",
    "training": "train",
    "valid": "valid",
    "validation": "valid",
    "dev": "valid",
    "test": "test",
}


def _wanted(kind: str | None) -> Wanted:
    return lambda name: kind is None or kind_of(name) == kind


def _check_file(file: TextFile, read: _Read | None, kind: str | None) -> None:
    """A file that was named outright must be what it was taken for."""
    if read is None:
        raise ValueError(f"{file.where} holds no questions in a form we know. What is read: {WHAT_IS_READ}")
    if kind is not None and (read is not read_cbt or kind_of(file.name) not in (kind, None)):
        raise ValueError(f"{file.where} is not a CBT file of kind {kind}; leave out --kind to read it")


def _check_kinds(source: Path, kinds: set[str | None]) -> None:
    found = [kind for kind in KINDS if kind in kinds]
    if len(found) > 1:
        raise ValueError(f"{source} holds CBT questions of several kinds ({', '.join(found)}); pick one with --kind")


def _nothing_in(source: Path, kind: str | None) -> str:
    what = f"CBT questions of kind {kind}" if kind else "questions"
    if source.is_dir() and (archives := sorted(path.name for path in source.iterdir() if is_archive(path.name))):
        return f"there are no {what} in the folder {source}; to read an archive in it, name it: {source / archives[0]}"
    return f"there are no {what} in {source}. What is read: {WHAT_IS_READ}"


def _raise(bad: BadExample) -> None:
    raise bad
