"""One step of training."""

from pathlib import Path

import numpy as np
import pytest
import torch
from builders import toy_corpus
from running import tiny

from epireader.data.corpus import Corpus
from epireader.data.questions import Shape
from epireader.readers.saved import Model
from epireader.training.batches import TrainingBatches
from epireader.training.beginning import fresh_model
from epireader.training.optimizer import regularised
from epireader.training.processes import Processes
from epireader.training.step import Step, loss_of, make_step, places, rounded_up

CPU = Processes(0, 1, torch.device("cpu"))
ROWS = np.array([4, 1, 7, 2])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return toy_corpus(tmp_path_factory.mktemp("toy") / "corpus", train=10, valid=2)


def start(corpus: Corpus, *overrides: str) -> tuple[Model, TrainingBatches, Step]:
    """A reader, and steps that go straight down the gradient."""
    config = tiny("cbt-ne", *overrides)
    model = fresh_model(corpus, config, CPU.device)
    optimizer = torch.optim.SGD(model.module.parameters(), lr=0.5)
    batches = TrainingBatches(corpus, model.vocabulary, config.training, CPU)
    return model, batches, make_step(model, model.module, optimizer, batches, config.training, CPU)


def test_a_step_goes_down_the_shortened_gradient_of_the_loss_with_l2(corpus: Corpus) -> None:
    model, _, step = start(corpus, "training.l2=0.01", "training.clip_norm=0.3")
    losses = step(ROWS, 0)
    other, batches, _ = start(corpus)
    batch = batches.cut(torch.from_numpy(ROWS), batches.shape(ROWS), batches.shuffle(0))
    penalty = torch.stack([weight.square().sum() for weight in regularised(other.module).values()]).sum()
    loss = other.module.loss(other.module(batch), batch).total + 0.01 * penalty
    gradients = torch.autograd.grad(loss, list(other.module.parameters()))
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    assert norm > 0.3, "there is nothing to shorten"
    assert losses["loss"].item() == pytest.approx(loss.item(), rel=1e-6)
    for (name, after), before, gradient in zip(
        model.module.named_parameters(), other.module.parameters(), gradients, strict=True
    ):
        expected = before - 0.5 * gradient * 0.3 / norm
        torch.testing.assert_close(after, expected, rtol=1e-5, atol=1e-6, msg=lambda text, n=name: f"{n}: {text}")


def test_a_step_forgets_the_gradients_of_the_one_before(corpus: Corpus) -> None:
    model, _, step = start(corpus)
    step(ROWS, 0)
    assert all(parameter.grad is None or not parameter.grad.any() for parameter in model.module.parameters())


def test_the_losses_of_a_step_are_named_and_hold_on_to_no_graph(corpus: Corpus) -> None:
    for overrides, names in ((["training.l2=0.1"], {"l2"}), (["training.l2=0"], set())):
        *_, step = start(corpus, *overrides)
        losses = step(ROWS, 0)
        assert set(losses) == {"loss", "extractor", "reasoner"} | names
        assert not any(value.requires_grad for value in losses.values())


def test_gradients_are_shortened_only_where_that_is_asked_for(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr("epireader.training.step.clip_grad_norm_", lambda _, norm: asked.append(norm))
    for norm in ("0", "2.5"):
        start(corpus, f"training.clip_norm={norm}")[-1](ROWS, 0)
    assert asked == [2.5]


def test_half_precision_reads_in_bf16_and_adds_up_its_loss_in_fp32(corpus: Corpus) -> None:
    model, batches, _ = start(corpus)
    batch = batches.cut(torch.from_numpy(ROWS), batches.shape(ROWS), batches.shuffle(0))
    half, full = (
        loss_of(model.module, model, batch, tiny("cbt-ne", f"training.precision={name}").training).total
        for name in ("bf16", "fp32")
    )
    assert half.dtype == full.dtype == torch.float32
    assert half != full
    assert half.item() == pytest.approx(full.item(), rel=0.05)


def test_the_right_answer_is_among_the_hypotheses_while_training(corpus: Corpus) -> None:
    model, batches, _ = start(corpus, "model.hypotheses=1")
    batch = batches.cut(torch.from_numpy(ROWS), batches.shape(ROWS), batches.shuffle(0))
    reading = model.module.train()(batch)
    assert reading.evidence.hypotheses[:, 0].tolist() == batch.answer.tolist()


def test_the_number_that_shuffles_changes_with_the_epoch_alone(corpus: Corpus) -> None:
    _, batches, _ = start(corpus)
    seen: list[int] = []
    step = Step(lambda _rows, _shape, shuffle: seen.append(int(shuffle)) or {}, batches)
    for epoch in (0, 0, 1, 0):
        step(ROWS, epoch)
    assert seen[0] == seen[1] == seen[3] != seen[2]


def test_shapes_are_rounded_up_so_that_there_are_few_of_them() -> None:
    least = Shape(words=64, sentences=24, question=32, candidates=10, phrase=1)
    assert rounded_up(Shape(words=1, sentences=1, question=1, candidates=1, phrase=1)) == rounded_up(least) == least
    exact = Shape(words=128, sentences=48, question=64, candidates=20, phrase=2)
    assert rounded_up(exact) == exact
    over = Shape(words=129, sentences=49, question=65, candidates=21, phrase=3)
    assert rounded_up(over) == Shape(words=192, sentences=96, question=128, candidates=40, phrase=4)
    assert rounded_up(Shape(words=1100, sentences=25, question=33, candidates=81, phrase=1)) == Shape(
        words=1280, sentences=48, question=64, candidates=160, phrase=1
    )


def test_weights_that_moved_are_noticed() -> None:
    weights = [torch.zeros(3), torch.ones(2)]
    before = places(weights)
    weights[0].add_(1)
    assert places(weights) == before
    weights[1] = weights[1].clone()
    assert places(weights) != before


def test_a_corpus_may_stand_anywhere(corpus: Corpus, tmp_path: Path) -> None:
    again = toy_corpus(tmp_path / "again", train=10, valid=2)
    assert start(again)[-1](ROWS, 0)["loss"] == start(corpus)[-1](ROWS, 0)["loss"]
