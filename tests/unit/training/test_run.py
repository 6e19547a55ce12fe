"""The folder of a run."""

import json
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import batch_of, random_example
from safetensors.torch import save_file

from epireader.data.corpus import Corpus, CorpusRecord, open_corpus, write_corpus
from epireader.data.questions import Lexicon, QuestionsBuilder
from epireader.data.statistics import StatisticsCounter
from epireader.data.vocabulary import Vocabulary
from epireader.readers.saved import BadModel, Model, build_model, load_model
from epireader.training.config import Config
from epireader.training.optimizer import make_optimizer, optimizer_tensors
from epireader.training.run import Progress, Run, RunRefused, open_run, parameter_names

EXAMPLES = [random_example(np.random.default_rng(n)) for n in range(6)]
SMALL = {
    "reader": "epireader",
    "model": {"embedding_dim": 4, "hidden_dim": 3, "filters": 2, "reasoner_hidden_dim": 3, "hypotheses": 2},
    "training": {"learning_rate": 0.01},
}


def config(**training: object) -> Config:
    return Config.from_mapping({**SMALL, "training": {**SMALL["training"], **training}})


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    builder, counter = QuestionsBuilder(Lexicon()), StatisticsCounter()
    for one in EXAMPLES:
        builder.add(one)
        counter.add(one)
    record = CorpusRecord(made_by="test", sources=(), options={}, skipped=0, statistics={"train": counter.result()})
    (tmp_path / "corpus").mkdir()
    write_corpus(tmp_path / "corpus", {"train": builder}, record)
    return open_corpus(tmp_path / "corpus")


def fresh(corpus: Corpus, seed: int = 0) -> tuple[Model, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    words = [word for word, _ in corpus.questions("train").word_counts()]
    model = build_model("epireader", config().model, Vocabulary(tuple(words)))
    return model, make_optimizer(model.module.parameters(), 0.01)


def take_steps(model: Model, optimizer: torch.optim.Optimizer, steps: int) -> list[float]:
    batch, losses = batch_of(EXAMPLES, model.vocabulary), []
    for _ in range(steps):
        loss = model.module.loss(model.module.train()(batch), batch).total
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "run").mkdir()
    return Run(tmp_path / "run")


def test_what_is_saved_to_go_on_comes_back_to_the_bit(corpus: Corpus, run: Run) -> None:
    model, optimizer = fresh(corpus)
    take_steps(model, optimizer, 2)
    saved = Progress(
        epoch=2, step=5, total_steps=9, best_accuracy=1 / 3, best_epoch=1, epochs_without_gain=1, metrics_bytes=17,
        seconds=0.1, loss_sums={"loss": 0.1 + 0.2}, loss_steps=4,
    )  # fmt: skip
    run.save_progress(model, optimizer_tensors(optimizer, parameter_names(model)), saved)
    again, other = fresh(corpus, seed=9)
    assert run.load_progress(again, other) == saved
    for name, tensor in model.module.state_dict().items():
        assert torch.equal(again.module.state_dict()[name], tensor)
    old, new = optimizer.state_dict()["state"], other.state_dict()["state"]
    assert old.keys() == new.keys() != set()
    for number, moments in old.items():
        assert moments.keys() == new[number].keys() == {"step", "exp_avg", "exp_avg_sq"}
        for key, tensor in moments.items():
            assert torch.equal(new[number][key], tensor)
            assert new[number][key].dtype == tensor.dtype


def test_a_run_that_goes_on_takes_the_very_steps_it_would_have_taken(corpus: Corpus, run: Run) -> None:
    model, optimizer = fresh(corpus)
    take_steps(model, optimizer, 2)
    run.save_progress(model, optimizer_tensors(optimizer, parameter_names(model)), Progress())
    again, other = fresh(corpus, seed=9)
    run.load_progress(again, other)
    assert take_steps(again, other, 3) == take_steps(model, optimizer, 3)
    for name, tensor in model.module.state_dict().items():
        assert torch.equal(again.module.state_dict()[name], tensor)


def test_a_run_that_never_was_starts_at_the_beginning(corpus: Corpus, run: Run) -> None:
    model, optimizer = fresh(corpus)
    before = [tensor.clone() for tensor in model.module.state_dict().values()]
    assert run.load_progress(model, optimizer) == Progress()
    assert all(map(torch.equal, before, model.module.state_dict().values()))


def test_a_resume_file_that_is_damaged_or_foreign_is_refused(corpus: Corpus, run: Run) -> None:
    model, optimizer = fresh(corpus)
    run.save_progress(model, optimizer_tensors(optimizer, parameter_names(model)), Progress())
    path = run.folder / "resume.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BadModel, match=r"resume\.safetensors is damaged"):
        run.load_progress(model, optimizer)
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(RunRefused, match=r"resume\.safetensors was not written by a run; give another --out"):
        run.load_progress(model, optimizer)


def test_metrics_written_after_the_last_save_are_overwritten_when_a_run_goes_on(run: Run) -> None:
    progress = Progress()
    run.write_metrics(progress, {"step": 1})
    kept = progress.metrics_bytes
    run.write_metrics(progress, {"step": 2, "long": "x" * 50})
    run.write_metrics(progress, {"step": 3})
    run.write_metrics(back := Progress(metrics_bytes=kept), {"step": 2})
    assert run.read_metrics() == [{"step": 1}, {"step": 2}]
    assert back.metrics_bytes == (run.folder / "metrics.jsonl").stat().st_size


@pytest.mark.parametrize("left", [None, 0, 20])
def test_metrics_that_a_crash_cut_short_go_on_after_the_last_whole_line(run: Run, left: int | None) -> None:
    progress, path = Progress(), run.folder / "metrics.jsonl"
    for step in (1, 2, 3):
        run.write_metrics(progress, {"step": step})
    if left is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:left])
    run.write_metrics(progress, {"step": 4})
    assert run.read_metrics() == [*([{"step": 1}] if left else []), {"step": 4}]
    assert progress.metrics_bytes == path.stat().st_size


def test_a_run_that_begins_again_begins_its_metrics_again(run: Run) -> None:
    assert run.read_metrics() == []
    run.write_metrics(Progress(), {"step": 100, "old": True})
    run.write_metrics(Progress(), {"step": 1})
    assert run.read_metrics() == [{"step": 1}]


def test_a_process_that_only_reads_writes_nothing(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    reading = Run(tmp_path / "run", writes=False)
    model, optimizer = fresh(corpus)
    reading.save_best(model, {})
    reading.save_progress(model, optimizer_tensors(optimizer, parameter_names(model)), Progress())
    reading.write_metrics(Progress(), {"a": 1})
    assert list((tmp_path / "run").iterdir()) == []


def test_a_run_holds_its_settings_and_words_and_its_best_reader_can_be_loaded(corpus: Corpus, tmp_path: Path) -> None:
    model, _ = fresh(corpus)
    with open_run(tmp_path / "run", config(), corpus, model) as run:
        run.save_best(model, {"epoch": 0})
    record = json.loads((tmp_path / "run" / "config.json").read_text())
    assert record["training"] == asdict(config().training)
    assert record["corpus"]["path"] == "../corpus"
    loaded = load_model(tmp_path / "run")
    assert loaded.vocabulary == model.vocabulary
    assert torch.equal(loaded.module.embedding.weight, model.module.embedding.weight)


def test_a_run_with_other_settings_is_refused_by_their_names_and_values(corpus: Corpus, tmp_path: Path) -> None:
    model, _ = fresh(corpus)
    with open_run(tmp_path / "run", config(), corpus, model):
        pass
    before = (tmp_path / "run" / "config.json").read_bytes()
    other = config(batch_size=64, seed=3)
    with pytest.raises(RunRefused) as error, open_run(tmp_path / "run", other, corpus, model):
        pytest.fail("another run was let in")
    assert "training.batch_size was 32 and is 64; training.seed was 0 and is 3" in str(error.value)
    assert "learning_rate" not in str(error.value)
    assert "give another --out" in str(error.value)
    assert (tmp_path / "run" / "config.json").read_bytes() == before


def test_a_run_on_another_corpus_is_refused_and_on_the_same_one_moved_it_is_not(corpus: Corpus, tmp_path: Path) -> None:
    model, _ = fresh(corpus)
    with open_run(tmp_path / "run", config(), corpus, model):
        pass
    moved = Path(shutil.move(corpus.folder, tmp_path / "elsewhere"))
    with open_run(tmp_path / "run", config(), open_corpus(moved), model):
        pass
    with (moved / "corpus.json").open("a") as file:
        file.write("\n")
    with (
        pytest.raises(RunRefused, match=r"corpus\.sha256 was "),
        open_run(tmp_path / "run", config(), open_corpus(moved), model),
    ):
        pytest.fail("another corpus was let in")


def test_a_run_of_another_reader_is_refused_by_its_name(corpus: Corpus, tmp_path: Path) -> None:
    model, _ = fresh(corpus)
    with open_run(tmp_path / "run", config(), corpus, model):
        pass
    path = tmp_path / "run" / "config.json"
    path.write_text(path.read_text().replace('"reader": "epireader"', '"reader": "as-reader"'))
    with (
        pytest.raises(
            RunRefused, match="begun with the reader as-reader, and this one is epireader; give another --out"
        ),
        open_run(tmp_path / "run", config(), corpus, model),
    ):
        pytest.fail("another reader's run was let in")


@pytest.mark.parametrize("content", [None, "", "[]", "\xff"])
def test_a_folder_that_is_not_a_run_is_left_alone(corpus: Corpus, tmp_path: Path, content: str | None) -> None:
    model, _ = fresh(corpus)
    out = tmp_path / "run"
    out.mkdir()
    if content is not None:
        (out / "config.json").write_bytes(content.encode("latin-1"))
    before = sorted(out.iterdir())
    with pytest.raises(RunRefused, match="exists and is not a run"), open_run(out, config(), corpus, model):
        pytest.fail("the folder was taken for a run")
    assert sorted(out.iterdir()) == before


def test_two_processes_never_train_in_one_folder(corpus: Corpus, tmp_path: Path) -> None:
    model, _ = fresh(corpus)
    with open_run(tmp_path / "run", config(), corpus, model):
        pass
    hold = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path / "run" / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with (
            pytest.raises(RunRefused, match=r"another process is training in .*run; wait for it or give another --out"),
            open_run(tmp_path / "run", config(), corpus, model),
        ):
            pytest.fail("two processes are in one folder")
        other.kill()
    with open_run(tmp_path / "run", config(), corpus, model):
        pass


def test_a_run_cannot_be_opened_a_second_time_until_it_is_closed(corpus: Corpus, tmp_path: Path) -> None:
    model, _ = fresh(corpus)
    with (
        open_run(tmp_path / "run", config(), corpus, model),
        pytest.raises(RunRefused, match="another process is training"),
        open_run(tmp_path / "run", config(), corpus, model),
    ):
        pytest.fail("the run was opened twice")
    with open_run(tmp_path / "run", config(), corpus, model):
        pass


def test_the_best_epoch_is_the_first_with_the_highest_accuracy_and_patience_counts_from_it() -> None:
    progress, best = Progress(), []
    for accuracy in (0.0, 0.5, 0.5, 0.4):
        assert not progress.finished
        best.append(progress.is_best(accuracy))
        progress.step = 7
        progress.end_epoch(patience=2, max_epochs=20)
        assert progress.step == 0
    assert best == [True, True, False, False]
    assert (progress.best_epoch, progress.best_accuracy, progress.epoch) == (1, 0.5, 4)
    assert progress.finished


def test_a_run_ends_after_its_last_epoch_in_any_case() -> None:
    progress = Progress(epoch=2)
    progress.is_best(0.9)
    progress.end_epoch(patience=2, max_epochs=3)
    assert progress.finished
