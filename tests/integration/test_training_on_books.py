"""Readers trained on questions made freshly from books."""

import json
import signal
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import household_book, small_book, write_books
from running import Watch, as_options, call, result_of, tiny
from safetensors.torch import load_file

from epireader.data.books import example_of
from epireader.data.corpus import Corpus, CorpusRecord, open_corpus, write_corpus
from epireader.data.prepare_books import prepare_books
from epireader.data.questions import QuestionsBuilder
from epireader.data.shelf import Shelf
from epireader.data.statistics import StatisticsCounter
from epireader.settings import BadSetting
from epireader.text.cloze import NAME, ClozeRules, TaggedBook, clozes
from epireader.training.batches import Books, TrainingBatches
from epireader.training.beginning import choose_vocabulary
from epireader.training.config import BooksConfig, Config, VocabularyConfig, load_config
from epireader.training.loop import Interrupted, train
from epireader.training.processes import Processes
from epireader.training.run import Progress, RunRefused
from epireader.training.together import train_together as train_at_once

HERE = Processes(0, 1, torch.device("cpu"))
STEPS = 6
FEW = (f"books.questions={8 * STEPS - 3}", "training.max_epochs=3", "training.patience=3")


def households(first: int, end: int) -> list[TaggedBook]:
    return [household_book(np.random.default_rng(n), f"Household {n}") for n in range(first, end)]


def corpus_of(folder: Path, books: Iterable[TaggedBook]) -> Corpus:
    """Validation questions about names, and no others."""
    builder, counter = QuestionsBuilder(), StatisticsCounter()
    for book in books:
        for cloze in clozes(book, ClozeRules(kind=NAME), every=3):
            builder.add(example_of(cloze))
            counter.add(example_of(cloze))
    figures = {"valid": counter.result()}
    folder.mkdir()
    write_corpus(
        folder, {"valid": builder}, CorpusRecord(made_by="", sources=(), options={}, skipped=0, statistics=figures)
    )
    return open_corpus(folder)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("valid") / "corpus", households(1000, 1008))


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    folder = tmp_path_factory.mktemp("books")
    return prepare_books([write_books(folder / "tales.txt", households(0, 40))], folder / "shelf")


def run(corpus: Corpus, shelf: Shelf | None, out: Path, config: Config, watch: Watch | None = None) -> Progress:
    return train(corpus, config, out, HERE, watch or Watch(), shelf=shelf)


def test_a_reader_learns_from_books_alone(corpus: Corpus, shelf: Shelf, tmp_path: Path) -> None:
    settings = ["model.embedding_dim=24", "model.hidden_dim=24", "training.learning_rate=0.02"]
    config = load_config(
        "as-reader", [*settings, *FEW[1:], "books.questions=400", "books.names=1", "training.batch_size=16"]
    )
    watch = Watch()
    progress = run(corpus, shelf, tmp_path / "run", config, watch)
    assert watch.began == [(epoch, 25, 0) for epoch in range(3)]
    assert progress.best_accuracy >= 0.9, watch.accuracies
    assert watch.accuracies[0] < 0.9, "there was nothing to learn"


def test_a_run_stopped_in_mid_epoch_goes_on_bit_by_bit(corpus: Corpus, shelf: Shelf, tmp_path: Path) -> None:
    config = tiny("cbt-ne", *FEW, "training.checkpoint_minutes=1000", "training.strangers=0.3")
    run(corpus, shelf, tmp_path / "whole", config)
    for at in (2, STEPS, STEPS):
        with pytest.raises(Interrupted):
            run(corpus, shelf, tmp_path / "run", config, Watch(at, lambda: signal.raise_signal(signal.SIGINT)))
    watch = Watch()
    run(corpus, shelf, tmp_path / "run", config, watch)
    assert watch.began[0] == (2, STEPS, 2)
    assert result_of(tmp_path / "run") == result_of(tmp_path / "whole")


def test_every_epoch_asks_something_new(corpus: Corpus, shelf: Shelf) -> None:
    words = choose_vocabulary(corpus, VocabularyConfig(), shelf)
    settings = tiny("as-reader").training

    def batches(seed: int = 0) -> TrainingBatches:
        one = TrainingBatches(corpus, words, settings, HERE, Books(shelf, BooksConfig(questions=21)))
        return one.sown_with(seed)

    def questions(epoch: int, seed: int = 0) -> list[list[list[int]]]:
        one = batches(seed)
        cut = [one.cut(torch.from_numpy(rows), one.shape(rows), one.shuffle(epoch)) for rows in one.plan(epoch)]
        return [batch.question.tolist() + batch.candidates.flatten(1).tolist() for batch in cut]

    assert sorted(len(rows) for rows in batches().plan(0)) == [5, 8, 8]
    assert questions(0) == questions(0)
    assert questions(0) != questions(1)
    assert questions(0) != questions(0, seed=1)


def test_processes_share_out_the_questions_of_one(corpus: Corpus, shelf: Shelf) -> None:
    words, settings = choose_vocabulary(corpus, VocabularyConfig(), shelf), tiny("as-reader").training
    books = Books(shelf, BooksConfig(questions=32))
    whole = TrainingBatches(corpus, words, settings, HERE, books).plan(2)
    shares = [
        TrainingBatches(corpus, words, settings, Processes(rank, 2, HERE.device), books).plan(2) for rank in range(2)
    ]
    for rows, first, second in zip(whole, *shares, strict=True):
        assert sorted([*first, *second]) == sorted(rows)


def test_the_words_come_from_the_books_and_the_training_questions(corpus: Corpus, shelf: Shelf) -> None:
    words = choose_vocabulary(corpus, VocabularyConfig(), shelf).words
    assert {*words} == {word for word, _ in shelf.word_counts()}, "no word of the validation questions is counted"
    assert choose_vocabulary(corpus, VocabularyConfig(max_words=2), shelf).words == words[:2]


def test_readers_trained_at_once_become_what_they_become_alone(corpus: Corpus, shelf: Shelf, tmp_path: Path) -> None:
    settings = (*FEW, "training.strangers=0.3")
    configs = {tmp_path / f"{seed}": tiny("as-reader", *settings, f"training.seed={seed}") for seed in (3, 4)}
    together = train_at_once(corpus, configs, tmp_path / "standing.safetensors", HERE, Watch(), shelf=shelf)
    for (folder, config), progress in zip(configs.items(), together.values(), strict=True):
        alone = run(corpus, shelf, tmp_path / f"alone-{folder.name}", config)
        assert progress.total_steps == alone.total_steps == 3 * STEPS
        there, here = (load_file(place / "resume.safetensors") for place in (folder, tmp_path / f"alone-{folder.name}"))
        for name, tensor in there.items():
            if name.startswith("model."):
                torch.testing.assert_close(here[name], tensor, rtol=2e-2, atol=2e-3)


def test_other_books_or_other_questions_of_them_are_another_run(corpus: Corpus, shelf: Shelf, tmp_path: Path) -> None:
    config = tiny("as-reader", *FEW)
    run(corpus, shelf, tmp_path / "run", config)
    record = json.loads((tmp_path / "run" / "config.json").read_text())["books"]
    assert record["questions"] == 8 * STEPS - 3
    assert (tmp_path / "run" / record["path"]).resolve() == shelf.folder.resolve()
    source = write_books(tmp_path / "others.txt", [small_book(np.random.default_rng(0))])
    others = prepare_books([source], tmp_path / "others")
    with pytest.raises(RunRefused, match=r"books\.sha256 was"):
        run(corpus, others, tmp_path / "run", tiny("as-reader", *FEW))
    with pytest.raises(RunRefused, match=r"books\.names was 0\.5 and is 0\.25"):
        run(corpus, shelf, tmp_path / "run", tiny("as-reader", *FEW, "books.names=0.25"))


def test_settings_of_books_without_books_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="settings of books are given, but no books"):
        run(corpus, None, tmp_path / "run", tiny("as-reader", *FEW))
    for override, words in (
        ("books.names=1.5", "books.names is a share and lies between 0 and 1, got 1.5"),
        ("books.questions=0", "books.questions must be at least 1, got 0"),
        ("books.nouns=1", "there is no setting books.nouns"),
    ):
        with pytest.raises(BadSetting, match=words):
            tiny("as-reader", override)


def test_books_and_questions_of_passages_do_not_go_together(corpus: Corpus, shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(
        BadSetting, match=r"training\.own_questions is for the passages of a corpus, and books make all"
    ):
        run(corpus, shelf, tmp_path / "run", tiny("as-reader", *FEW, "training.own_questions=1"))


def test_a_report_shows_how_accuracy_grows_with_the_questions_asked(
    corpus: Corpus, shelf: Shelf, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    run(corpus, shelf, tmp_path / "run", tiny("as-reader", *FEW))
    out, pictures = tmp_path / "report.html", tmp_path / "pictures"
    assert call("report", tmp_path / "run", "--out", out, "--png", pictures, "--device", "cpu") == 0
    assert "Validation accuracy by training questions, %" in out.read_text(encoding="utf-8")
    assert (pictures / "size.png").is_file()


def test_books_are_prepared_and_trained_on_from_the_command_line(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_books(tmp_path / "tales.txt", households(0, 5))
    assert call("prepare-books", source, tmp_path / "books") == 0
    said = capsys.readouterr()
    assert [line.split()[-1] for line in said.out.splitlines()] == ["5", "300", "191", "191", "600", "14"]
    assert "MB" in said.err
    assert call("prepare-books", source, tmp_path / "more", "--json") == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts["books"], counts["words"], counts["distinct_words"]) == (5, 600, 14)
    assert call("prepare-books", source, tmp_path / "books") == 1
    assert "exists already" in capsys.readouterr().err
    command = ["train", corpus.folder, "--device", "cpu", "--books", tmp_path / "books"]
    options = as_options("as-reader", *FEW)
    assert call(*command, *options, "--out", tmp_path / "run") == 0
    assert call(*command, *options, "--out", tmp_path / "two", "--seeds", 2, "--json") == 0
    assert len(json.loads(capsys.readouterr().out.splitlines()[-1])["runs"]) == 2
    assert call("train", corpus.folder, "--books", corpus.folder, *options, "--out", tmp_path / "bad") == 1
    assert "holds no prepared books: it has no books.json" in capsys.readouterr().err
