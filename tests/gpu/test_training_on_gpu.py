"""What a GPU adds must not change what is computed. These tests need one and are skipped without it."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import household_book, random_example, shelf_of, small_book, toy_corpus, vocabulary
from running import Watch

from epireader.data.batches import Batch, BatchCutter
from epireader.data.corpus import Corpus
from epireader.data.estranging import estranged, names_in
from epireader.data.fresh import FreshQuestions
from epireader.data.own import OwnQuestions
from epireader.data.questions import QuestionsBuilder
from epireader.data.vocabulary import Vocabulary
from epireader.evaluation.predict import predict
from epireader.readers.saved import load_model
from epireader.training.averaging import mean_weights
from epireader.training.batches import Books, TrainingBatches
from epireader.training.beginning import fresh_model
from epireader.training.config import BooksConfig, load_config
from epireader.training.loop import seed_dropout, set_precision, train
from epireader.training.optimizer import make_optimizer
from epireader.training.processes import Processes
from epireader.training.step import GraphReplay, make_step, rounded_up
from epireader.training.together import train_together

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

SMALL = ["model.embedding_dim=24", "model.hidden_dim=16", "training.precision=fp32", "training.batch_size=16"]

PRESETS = ["as-reader", "cbt-ne", "attentive", "impatient", "deep-lstm"]
"""Not the Stanford Reader: from one seed, a GPU draws other numbers for its dropout than the CPU."""


def trained_weights(corpus: Corpus, preset: str, device: str, *, replay: bool) -> dict[str, torch.Tensor]:
    """The weights after some epochs, validation between them as in a real run, and their means over the steps."""
    config = load_config(preset, SMALL)
    processes = Processes(0, 1, torch.device(device))
    set_precision("fp32", processes.device)
    model = fresh_model(corpus, config, processes.device)
    optimizer = make_optimizer(model.module.parameters(), 1e-3, config.training.optimizer, average=0.9)
    batches = TrainingBatches(corpus, model.vocabulary, config.training, processes)
    step = make_step(model, model.module, optimizer, batches, config.training, processes)
    assert isinstance(step._take, GraphReplay) == (device == "cuda")
    if device == "cuda" and not replay:
        plain = step._take._take
        step._take = lambda rows, shape, shuffle: plain(rows.to(device), rounded_up(shape), shuffle)
    for epoch in range(3):
        model.module.train()
        for number, rows in enumerate(batches.plan(epoch)):
            seed_dropout(epoch, number, processes)
            losses = step(rows, epoch)
        assert all(value.isfinite() for value in losses.values())
        predict([model], corpus.questions("valid"), device=device)
    weights = {name: tensor.to("cpu", copy=True) for name, tensor in model.module.state_dict().items()}
    with mean_weights(optimizer):
        means = {f"mean of {name}": tensor.to("cpu", copy=True) for name, tensor in model.module.state_dict().items()}
    return weights | means


@pytest.mark.parametrize("preset", [*PRESETS, "stanford"])
def test_replayed_steps_train_the_same_reader_as_plain_ones(tmp_path: Path, preset: str) -> None:
    corpus = toy_corpus(tmp_path / "corpus")
    plain = trained_weights(corpus, preset, "cuda", replay=False)
    replayed = trained_weights(corpus, preset, "cuda", replay=True)
    for name, weight in plain.items():
        torch.testing.assert_close(
            replayed[name], weight, rtol=1e-3, atol=1e-4, msg=lambda text, n=name: f"{n}: {text}"
        )


@pytest.mark.parametrize("preset", PRESETS)
def test_a_gpu_trains_the_same_reader_as_the_cpu(tmp_path: Path, preset: str) -> None:
    corpus = toy_corpus(tmp_path / "corpus")
    on_cpu = trained_weights(corpus, preset, "cpu", replay=False)
    on_gpu = trained_weights(corpus, preset, "cuda", replay=True)
    for name, weight in on_cpu.items():
        torch.testing.assert_close(on_gpu[name], weight, rtol=1e-2, atol=1e-3, msg=lambda text, n=name: f"{n}: {text}")


def test_moved_weights_are_recorded_anew(tmp_path: Path) -> None:
    corpus = toy_corpus(tmp_path / "corpus")
    config = load_config("as-reader", SMALL)
    processes = Processes(0, 1, torch.device("cuda"))
    model = fresh_model(corpus, config, processes.device)
    batches = TrainingBatches(corpus, model.vocabulary, config.training, processes)
    step = make_step(
        model, model.module, make_optimizer(model.module.parameters(), 1e-3), batches, config.training, processes
    )
    model.module.train()
    for epoch in range(3):
        for rows in batches.plan(epoch):
            step(rows, epoch)
        before = model.module.extractor.passage_encoder.forwards.recurrence.weight_hh_l0.detach().clone()
        model.module.to("cpu")
        model.module.to("cuda")
        after = model.module.extractor.passage_encoder.forwards.recurrence.weight_hh_l0.detach()
        assert torch.equal(before, after)
    for rows in batches.plan(3):
        step(rows, 3)
    moved = model.module.extractor.passage_encoder.forwards.recurrence.weight_hh_l0.detach()
    assert moved.isfinite().all()
    assert not torch.equal(before, moved)


@pytest.mark.parametrize(("preset", "precision"), [("as-reader", "fp32"), ("cbt-ne", "fp32"), ("cbt-ne", "tf32")])
def test_readers_trained_at_once_are_those_trained_alone(tmp_path: Path, preset: str, precision: str) -> None:
    corpus = toy_corpus(tmp_path / "corpus")
    here = Processes(0, 1, torch.device("cuda"))
    settings = [*SMALL, "training.max_epochs=1", f"training.precision={precision}"]
    configs = {tmp_path / str(n): load_config(preset, [*settings, f"training.seed={n}"]) for n in range(3)}
    together = train_together(corpus, configs, tmp_path / "standing", here, Watch())
    # Where a gradient is next to nothing, rounding decides which way Adam goes: a few weights may drift, with TF32 more.
    most, apart = (1e-3, 0.06) if precision == "fp32" else (1e-2, 0.1)
    for (folder, progress), config in zip(together.items(), configs.values(), strict=True):
        alone = train(corpus, config, tmp_path / "alone" / folder.name, here, Watch())
        assert progress.best_accuracy == pytest.approx(alone.best_accuracy, abs=apart)
        expected = load_model(tmp_path / "alone" / folder.name).module.state_dict()
        for name, weight in load_model(folder).module.state_dict().items():
            drift = (weight - expected[name]).abs()
            assert drift.mean() < most, name
            assert drift.max() < 5e-2, name


def test_a_gpu_makes_the_same_questions_from_books_as_the_cpu() -> None:
    random = np.random.default_rng(0)
    shelf = shelf_of([small_book(random, sentences=200) for _ in range(3)], sentence_limit=4)
    known = Vocabulary(("the", "Ann", "axe", "Bob"))
    made = [
        FreshQuestions(shelf, known, device, questions=300, about_names=150, max_words=1000)
        for device in ("cpu", "cuda")
    ]
    rows = made[0].rows_of_epoch(seed=1, epoch=2)
    here, there = (
        estranged(one.cut(torch.from_numpy(rows), one.shape(rows), shuffle=5), 5, 0.5, names_in(known).to(device), 64)
        for one, device in zip(made, ("cpu", "cuda"), strict=True)
    )
    for field in fields(Batch):
        assert torch.equal(getattr(here, field.name), getattr(there, field.name).cpu()), field.name


def test_passages_ask_themselves_the_same_on_a_gpu_as_on_the_cpu() -> None:
    random = np.random.default_rng(0)
    builder = QuestionsBuilder()
    for _ in range(200):
        builder.add(random_example(random, words=9, sentences=9, candidates=6))
    questions, known = builder.build(), vocabulary(6)
    here, there = (
        OwnQuestions(BatchCutter(questions, known, device), 2, shuffle_entities=True) for device in ("cpu", "cuda")
    )
    rows = here.rows_of_epoch(seed=1, epoch=2)
    one, other = (asked.cut(torch.from_numpy(rows), asked.shape(rows), shuffle=5) for asked in (here, there))
    for field in fields(Batch):
        assert torch.equal(getattr(one, field.name), getattr(other, field.name).cpu()), field.name


@pytest.mark.parametrize("strangers", [0.0, 0.5])
def test_replayed_steps_ask_new_questions_of_the_books(tmp_path: Path, strangers: float) -> None:
    corpus, processes = toy_corpus(tmp_path / "corpus"), Processes(0, 1, torch.device("cuda"))
    shelf = shelf_of([household_book(np.random.default_rng(n), f"{n}") for n in range(9)])
    config = load_config("as-reader", [*SMALL, f"training.strangers={strangers}"])
    set_precision("fp32", processes.device)
    losses: dict[bool, list[float]] = {}
    for replay in (True, False):
        model = fresh_model(corpus, config, processes.device, shelf)
        optimizer = make_optimizer(model.module.parameters(), 1e-3, config.training.optimizer)
        books = Books(shelf, BooksConfig(questions=96))
        batches = TrainingBatches(corpus, model.vocabulary, config.training, processes, books)
        step = make_step(model, model.module, optimizer, batches, config.training, processes)
        if not replay:
            plain = step._take._take
            step._take = lambda rows, shape, shuffle, plain=plain: plain(rows.cuda(), rounded_up(shape), shuffle)
        losses[replay] = [float(step(rows, epoch)["loss"]) for epoch in range(3) for rows in batches.plan(epoch)]
    assert len({*losses[True]}) == len(losses[True]) == 18
    assert losses[True] == pytest.approx(losses[False], rel=1e-3)
