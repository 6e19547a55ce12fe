"""From question files to a corpus folder."""

import hashlib
import json
import tarfile
from pathlib import Path

import pytest
from builders import small_disk
from shared_data import shared_data

from epireader import __version__
from epireader.data.corpus import BadCorpus
from epireader.data.example import BadExample
from epireader.data.loading import source_bytes
from epireader.data.prepare import PrepareOptions, SkippedQuestions, open_questions, prepare
from epireader.files import sha256_of

FIXTURES = Path(__file__).parents[2] / "fixtures"
CBT = FIXTURES / "cbtest_CN_valid_2000ex.txt"


def jsonl(path: Path, *lines: dict[str, object] | str) -> Path:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines))
    return path


def asked(answer: str) -> dict[str, object]:
    return {"passage": "Ann ran. Tom sat.", "question": "XXXXX ran.", "candidates": ["Ann", "Tom"], "answer": answer}


def test_every_source_goes_into_the_split_its_name_says(tmp_path: Path) -> None:
    train = jsonl(tmp_path / "mine.train.jsonl", asked("Ann"), asked("Tom"))
    valid = jsonl(tmp_path / "mine.valid.jsonl", asked("Ann"))
    corpus = prepare([train, valid], tmp_path / "corpus", PrepareOptions())
    assert corpus.splits == ("train", "valid")
    assert [len(corpus.questions(split)) for split in corpus.splits] == [2, 1]
    assert corpus.questions("train").example(1).answer == ("Tom",)


def test_a_split_that_is_asked_for_takes_every_question(tmp_path: Path) -> None:
    train = jsonl(tmp_path / "a.train.jsonl", asked("Ann"))
    other = jsonl(tmp_path / "b.jsonl", asked("Tom"))
    corpus = prepare([train, other], tmp_path / "corpus", PrepareOptions(split="test"))
    assert corpus.splits == ("test",)
    assert len(corpus.questions("test")) == 2


def test_a_split_that_no_corpus_has_is_refused() -> None:
    with pytest.raises(ValueError, match="the split must be one of train, valid, test, all, got 'validation'"):
        PrepareOptions(split="validation")


def test_a_corpus_holds_the_same_questions_as_its_source(tmp_path: Path) -> None:
    corpus = prepare([CBT], tmp_path / "corpus", PrepareOptions())
    direct = open_questions(CBT)
    mapped = open_questions(tmp_path / "corpus")
    assert len(mapped) == len(direct) == corpus.record.statistics["valid"].questions
    assert [mapped.example(n) for n in range(len(mapped))] == [direct.example(n) for n in range(len(direct))]


@pytest.mark.parametrize(
    ("source", "others", "prepared_with", "kind"),
    [
        (CBT, [], None, "CN"),
        (FIXTURES, [], "CN", "CN"),
        (CBT, ["mine.jsonl"], None, None),
    ],
)
def test_a_corpus_is_asked_for_a_kind_only_if_it_has_no_other(
    tmp_path: Path, source: Path, others: list[str], prepared_with: str | None, kind: str | None
) -> None:
    sources = [source, *(jsonl(tmp_path / name, asked("Ann")) for name in others)]
    folder = prepare(sources, tmp_path / "corpus", PrepareOptions(kind=prepared_with)).folder
    for wanted in ("CN", "NE"):
        if wanted == kind:
            assert len(open_questions(folder, split="valid", kind=wanted))
        else:
            with pytest.raises(ValueError, match=f"all of its questions are of kind {wanted}; leave out --kind"):
                open_questions(folder, split="valid", kind=wanted)


def test_checksums_sizes_options_counts_and_the_version_are_recorded(tmp_path: Path) -> None:
    corpus = prepare([CBT, FIXTURES / "cnn"], tmp_path / "corpus", PrepareOptions(sentence_limit=7))
    cbt, cnn = corpus.record.sources
    assert (cbt.name, cbt.bytes) == (CBT.name, CBT.stat().st_size)
    assert cbt.sha256 == hashlib.sha256(CBT.read_bytes()).hexdigest()
    assert (cnn.name, cnn.bytes, cnn.sha256) == ("cnn", source_bytes(FIXTURES / "cnn"), sha256_of(FIXTURES / "cnn"))
    assert corpus.record.made_by == f"epireader {__version__}"
    assert corpus.record.options == {"kind": None, "split": None, "sentence_limit": 7}
    assert corpus.record.skipped == 0
    assert max(len(words) for words in corpus.questions("valid").example(0).sentences) == 7


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "corpus"
    out.mkdir()
    (out / "mine.txt").write_text("keep me")
    with pytest.raises(FileExistsError, match="exists already; choose another name or remove it first"):
        prepare([CBT], out, PrepareOptions())
    assert [path.name for path in tmp_path.rglob("*")] == ["corpus", "mine.txt"]


def test_a_bad_question_stops_it_and_leaves_nothing_behind(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "mine.jsonl", asked("Ann"), "{", asked("Tom"))
    with pytest.raises(BadExample, match=r"mine\.jsonl:2: "):
        prepare([source], tmp_path / "corpus", PrepareOptions())
    assert list(tmp_path.iterdir()) == [source]


def test_a_file_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    source = jsonl(folder / "a.jsonl", asked("Ann"))
    packed = folder / "b.tar"
    with tarfile.open(packed, "w") as archive:
        archive.add(source, "b.jsonl")
    monkeypatch.chdir(tmp_path)
    for sources in ([source, source], [source, Path("mine/a.jsonl")], [folder, source], [tmp_path, folder]):
        with pytest.raises(ValueError, match=r"mine/a\.jsonl is named twice, by itself or by a folder it lies in"):
            prepare(sources, tmp_path / "corpus", PrepareOptions())
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.jsonl", "b.tar", "mine"]
    corpus = prepare([folder, packed], tmp_path / "corpus", PrepareOptions())
    assert len(corpus.questions("all")) == 2, "an archive in a folder is read only where it is named"


def test_a_full_disk_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "mine.jsonl", asked("Ann"))
    with pytest.raises(OSError, match=r"cannot write all\.safetensors: .*File too large"), small_disk():
        prepare([source], tmp_path / "corpus", PrepareOptions())
    assert list(tmp_path.iterdir()) == [source]


def test_bad_questions_are_skipped_counted_listed_and_recorded_where_that_is_asked_for(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "mine.jsonl", asked("Ann"), "{", {"passage": "a", "question": "no blank"}, asked("Tom"))
    skipped = SkippedQuestions()
    corpus = prepare([source], tmp_path / "corpus", PrepareOptions(), skipped=skipped)
    assert skipped.count == corpus.record.skipped == 2
    assert [bad.where for bad in skipped.listed] == [f"{source}:2", f"{source}:3"]
    assert all(bad.reason for bad in skipped.listed)
    assert len(corpus.questions("all")) == 2


def test_skipped_questions_are_counted_beyond_those_listed() -> None:
    skipped = SkippedQuestions(most_listed=2)
    for n in range(5):
        skipped(BadExample(f"reason {n}"))
    assert skipped.count == 5
    assert [bad.reason for bad in skipped.listed] == ["reason 0", "reason 1"]


def test_a_source_whose_questions_are_all_bad_makes_no_corpus(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "mine.jsonl", "{")
    with pytest.raises(ValueError, match="all were skipped"):
        prepare([source], tmp_path / "corpus", PrepareOptions(), skipped=SkippedQuestions())
    assert list(tmp_path.iterdir()) == [source]
    with pytest.raises(ValueError, match="no questions that can be read"):
        open_questions(source, skipped=SkippedQuestions())


def test_all_bytes_of_the_sources_are_told_to_whoever_watches(tmp_path: Path) -> None:
    told: list[int] = []
    prepare([CBT, FIXTURES / "cnn"], tmp_path / "corpus", PrepareOptions(), on_bytes=told.append)
    assert sum(told) == source_bytes(CBT) + source_bytes(FIXTURES / "cnn")


def test_a_corpus_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        prepare([CBT], tmp_path / name, PrepareOptions())
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_questions_are_opened_by_split_from_a_corpus_and_from_files_alike(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    jsonl(folder / "a.train.jsonl", asked("Ann"), asked("Tom"))
    jsonl(folder / "a.test.jsonl", asked("Tom"))
    prepare([folder], tmp_path / "corpus", PrepareOptions())
    for source in (folder, tmp_path / "corpus"):
        assert len(open_questions(source, split="train")) == 2
        assert len(open_questions(source)) == 1
        with pytest.raises(BadCorpus, match="has no valid questions, only test, train"):
            open_questions(source, split="valid")


def test_any_split_may_be_asked_of_a_corpus_whose_files_named_none(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "mine.jsonl", asked("Ann"))
    prepare([source], tmp_path / "corpus", PrepareOptions())
    assert len(open_questions(tmp_path / "corpus", split="valid")) == 1


def test_cbt_r_is_whole_and_its_overlapping_windows_do_not_blow_a_corpus_up(tmp_path: Path) -> None:
    source = shared_data("cbt-r/cbtest_CN_valid_2000ex.txt.xz")
    corpus = prepare([source], tmp_path / "corpus", PrepareOptions())
    statistics = corpus.record.statistics["valid"]
    assert statistics.questions == 2000
    assert statistics.answers_missing == statistics.answers_outside_candidates == statistics.answers_unknown == 0
    words = int(corpus.questions("valid").sizes.words.sum())
    assert statistics.passage_words.mean == pytest.approx(words / 2000, abs=0.005)
    size = sum(file.stat().st_size for file in corpus.folder.iterdir())
    assert size < 2.5 * words, "a word of four bytes would be stored for every window it stands in"
