"""`epireader train --embeddings`."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from builders import toy_corpus
from running import Watch, as_options, call, tiny, train_here
from torch import nn

from epireader.data.corpus import open_corpus
from epireader.readers import READERS
from epireader.training.beginning import fresh_model, give_vectors
from epireader.training.run import RunRefused

ONE_EPOCH = "training.max_epochs=1"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_corpus(tmp_path_factory.mktemp("toy") / "corpus", train=16, valid=4).folder


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{word} {' '.join([str(n)] * 8)}\n" for n, word in enumerate(["ann", "cup", "."])))
    return path


@pytest.mark.parametrize("preset", ["as-reader", "cbt-ne", "stanford", "deep-lstm"])
def test_words_begin_with_the_vectors_of_the_file_and_the_rest_where_it_would(
    corpus: Path, vectors: Path, preset: str
) -> None:
    plain, given = (fresh_model(open_corpus(corpus), tiny(preset), torch.device("cpu")) for _ in range(2))
    give_vectors([given], [vectors])
    for row, word in enumerate(given.vocabulary.words, start=given.vocabulary.first_word_id):
        number = {"Ann": 0.0, "cup": 1.0, ".": 2.0}.get(word)
        expected = plain.module.embedding.weight[row] if number is None else torch.full((8,), number)
        assert torch.equal(given.module.embedding.weight[row], expected)
    first = given.vocabulary.first_word_id
    assert torch.equal(given.module.embedding.weight[:first], plain.module.embedding.weight[:first])


def test_the_command_reports_coverage_and_the_record_names_the_file(
    corpus: Path, vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*as_options("stanford", ONE_EPOCH), "--embeddings", vectors, "--out", tmp_path / "run"]
    assert call("train", corpus, *options) == 0
    assert "vectors for 3 of " in capsys.readouterr().err
    record = json.loads((tmp_path / "run" / "config.json").read_text())["embeddings"]
    assert record["name"] == "vectors.txt"
    assert len(record["sha256"]) == 64


def test_a_run_goes_on_with_the_same_vectors_only_wherever_they_lie(
    corpus: Path, vectors: Path, tmp_path: Path
) -> None:
    config, out, watch = tiny("as-reader", ONE_EPOCH), tmp_path / "run", Watch()
    train_here(corpus, out, config, watch, embeddings=vectors)
    assert watch.said[0].startswith("vectors.txt: vectors for 3 of ")
    train_here(corpus, out, config, embeddings=Path(shutil.copy(vectors, tmp_path / "moved.txt")))
    with pytest.raises(RunRefused, match="embeddings was"):
        train_here(corpus, out, config)
    vectors.write_text("ann" + " 5" * 8 + "\n")
    with pytest.raises(RunRefused, match=r"embeddings\.sha256 was"):
        train_here(corpus, out, config, embeddings=vectors)


def test_readers_trained_at_once_begin_with_a_file_each_or_all_with_the_same(
    corpus: Path, vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("ann" + " 5" * 8 + "\n")
    settings = [*as_options("as-reader", ONE_EPOCH), "--seeds", 2]
    for name, files in {"one": [vectors], "each": [vectors, other]}.items():
        given = [option for file in files for option in ("--embeddings", file)]
        assert call("train", corpus, *settings, *given, "--out", tmp_path / name) == 0
    said = capsys.readouterr().err
    assert said.count("vectors.txt: vectors for 3 of ") == 2
    assert said.count("other.txt: vectors for 1 of ") == 1
    assert begun_with(tmp_path / "one") == ["vectors.txt", "vectors.txt"]
    assert begun_with(tmp_path / "each") == ["vectors.txt", "other.txt"]


def test_each_reader_begins_with_the_vectors_of_its_own_file(corpus: Path, vectors: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("cup" + " 5" * 8 + "\n")
    models = [fresh_model(open_corpus(corpus), tiny("as-reader"), torch.device("cpu")) for _ in range(3)]
    begun = models[2].module.embedding.weight.clone()
    assert {path: len(found.ids) for path, found in give_vectors(models, [vectors, other, None]).items()} == {
        vectors: 3,
        other: 1,
    }
    row = models[0].vocabulary.first_word_id + models[0].vocabulary.words.index("cup")
    first, second, third = (model.module.embedding.weight for model in models)
    assert (first[row].unique().tolist(), second[row].unique().tolist()) == ([1.0], [5.0])
    assert torch.equal(third, begun)


def begun_with(out: Path) -> list[str]:
    records = [json.loads((out / f"seed-{seed}" / "config.json").read_text()) for seed in range(2)]
    return [record["embeddings"]["name"] for record in records]


@pytest.mark.parametrize(("seeds", "readers"), [(["--seeds", 3], "3 readers"), ([], "one reader")])
def test_files_of_vectors_for_another_number_of_readers_are_refused(
    corpus: Path, vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], seeds: list[str], readers: str
) -> None:
    files = ["--embeddings", vectors, "--embeddings", vectors]
    assert call("train", corpus, *as_options("as-reader"), *files, *seeds, "--out", tmp_path / "run") == 2
    assert f"2 files of word vectors are given for {readers}; give one, or one for each" in capsys.readouterr().err


@pytest.mark.parametrize(("width", "begins"), [(8, True), (7, False)])
def test_a_language_model_begins_with_the_same_vectors_where_its_own_are_as_wide(
    corpus: Path, vectors: Path, width: int, begins: bool
) -> None:
    config = tiny("cbt-ne", "model.sense_dim=3", f"model.sense_embedding_dim={width}")
    given, plain = (fresh_model(open_corpus(corpus), config, torch.device("cpu")) for _ in range(2))
    give_vectors([given], [vectors])
    changed = given.module.sense.embedding.weight != plain.module.sense.embedding.weight
    assert int(changed.any(dim=1).sum()) == (2 if begins else 0), "the cup and the stop, but not Ann"


def test_vectors_of_another_width_end_the_command_in_one_sentence_and_make_no_run(
    corpus: Path, vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = as_options("as-reader", "model.embedding_dim=9")
    assert call("train", corpus, *options, "--embeddings", vectors, "--out", tmp_path / "run") == 1
    said = capsys.readouterr().err
    assert said.startswith(f"epireader: {vectors}:1: 'ann' has 8 numbers and the reader's vectors have 9;")
    assert not (tmp_path / "run").exists()


def test_every_reader_can_begin_with_vectors_but_the_memory_network_which_has_a_table_for_each_place() -> None:
    with torch.device("meta"):
        modules = {name: kind.module(kind.config(), 9) for name, kind in READERS.items()}
    without = [
        name for name, module in modules.items() if not isinstance(getattr(module, "embedding", None), nn.Embedding)
    ]
    assert without == ["memory"]
