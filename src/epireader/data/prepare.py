"""Compiling sources into a corpus (`epireader prepare`)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from epireader import __version__
from epireader.data.cbt import kind_of
from epireader.data.corpus import (
    SPLITS,
    Corpus,
    CorpusRecord,
    SourceRecord,
    choose_split,
    is_corpus,
    open_corpus,
    write_corpus,
)
from epireader.data.example import BadExample
from epireader.data.loading import SENTENCE_LIMIT, read_examples, source_files
from epireader.data.questions import Lexicon, Questions, QuestionsBuilder
from epireader.data.statistics import StatisticsCounter
from epireader.files import folder_made_beside, sha256_of


@dataclass(frozen=True, kw_only=True)
class PrepareOptions:
    """How sources are read."""

    kind: str | None = None
    """Which of CBT's kinds of question: NE, CN, V or P."""
    split: str | None = None
    """The split every question goes to; otherwise the names of the files say."""
    sentence_limit: int = SENTENCE_LIMIT
    """A sentence of more words than this is cut into pieces."""

    def __post_init__(self) -> None:
        if self.split is not None and self.split not in SPLITS:
            raise ValueError(f"the split must be one of {', '.join(SPLITS)}, got {self.split!r}")


@dataclass
class SkippedQuestions:
    """Bad questions, counted and listed, where they are to be skipped."""

    listed: list[BadExample] = field(default_factory=list)
    count: int = 0
    most_listed: int = 1000

    def __call__(self, bad: BadExample) -> None:
        self.count += 1
        if len(self.listed) < self.most_listed:
            self.listed.append(bad)


def prepare(
    sources: Iterable[Path],
    out: Path,
    options: PrepareOptions,
    *,
    skipped: SkippedQuestions | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> Corpus:
    """Compile the questions of `sources` into the folder `out`, which must not exist."""
    sources = list(sources)
    _refuse_what_is_named_twice(sources, options.kind)
    with folder_made_beside(out) as folder:
        lexicon = Lexicon()
        builders: dict[str, QuestionsBuilder] = {}
        counters: dict[str, StatisticsCounter] = {}
        for source in sources:
            for split, example in read_examples(
                source,
                kind=options.kind,
                on_bad=skipped,
                on_bytes=on_bytes,
                sentence_limit=options.sentence_limit,
            ):
                split = options.split or split
                if split not in builders:
                    builders[split] = QuestionsBuilder(lexicon)
                    counters[split] = StatisticsCounter()
                builders[split].add(example)
                counters[split].add(example)
        if not builders:
            raise ValueError(
                f"no questions in {', '.join(map(str, sources))}" + (", all were skipped" if skipped else "")
            )
        record = CorpusRecord(
            made_by=f"epireader {__version__}",
            sources=tuple(map(source_record, sources)),
            options={"kind": options.kind, "split": options.split, "sentence_limit": options.sentence_limit},
            skipped=skipped.count if skipped else 0,
            statistics={split: counter.result() for split, counter in counters.items()},
        )
        write_corpus(folder, builders, record)
    return open_corpus(out)


def _refuse_what_is_named_twice(sources: Iterable[Path], kind: str | None) -> None:
    seen: set[Path] = set()
    for source in sources:
        for path in source_files(source.resolve(), kind):
            if path in seen:
                raise ValueError(f"{path} is named twice, by itself or by a folder it lies in; each file is read once")
            seen.add(path)


def open_questions(
    source: Path, *, split: str | None = None, kind: str | None = None, skipped: SkippedQuestions | None = None
) -> Questions:
    """The questions of a prepared corpus, or of any file, folder or archive, which is then read into memory."""
    if is_corpus(source):
        corpus = open_corpus(source)
        _refuse_other_kinds(corpus, kind)
        return corpus.questions(choose_split(corpus.splits, split, source))
    builders: dict[str, QuestionsBuilder] = {}
    for found, example in read_examples(source, kind=kind, on_bad=skipped):
        builders.setdefault(found, QuestionsBuilder()).add(example)
    if not builders:
        raise ValueError(f"{source} has no questions that can be read")
    return builders[choose_split(builders, split, source)].build()


def _refuse_other_kinds(corpus: Corpus, kind: str | None) -> None:
    """A corpus does not say of which kind each of its questions is: it can be asked for one if it is known to have no other."""
    prepared_with = corpus.record.options.get("kind")
    kinds = {prepared_with} if prepared_with else {kind_of(source.name) for source in corpus.record.sources}
    if kind and kinds != {kind}:
        raise ValueError(
            f"{corpus.folder} does not say that all of its questions are of kind {kind}; leave out --kind, or name the"
            " question files themselves"
        )


def source_record(source: Path) -> SourceRecord:
    files = source.rglob("*") if source.is_dir() else [source]
    size = sum(file.stat().st_size for file in files if file.is_file())
    return SourceRecord(source.name, size, sha256_of(source))
