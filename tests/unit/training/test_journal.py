"""What a run writes down about itself."""

import json
import math
from pathlib import Path

import pytest
import torch
from running import metrics

from epireader.evaluation.accuracy import Evaluation, Share
from epireader.training.journal import Diverged, Journal
from epireader.training.processes import Processes
from epireader.training.run import Progress, Run

ALONE = Processes(0, 1, torch.device("cpu"))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "run").mkdir()
    return Run(tmp_path / "run")


def journal(run: Run, progress: Progress | None = None) -> Journal:
    return Journal(run, progress or Progress(), ALONE)


def add(book: Journal, *losses: float) -> None:
    for loss in losses:
        book.add({"loss": torch.tensor(loss), "part": torch.tensor(loss / 4)})
        book.progress.total_steps += 1


def test_a_line_is_the_mean_of_the_losses_since_the_last_one(run: Run) -> None:
    book = journal(run, Progress(epoch=2))
    add(book, 1.0, 2.0, 6.0)
    book.write_losses()
    add(book, 5.0)
    book.write_losses()
    book.close()
    assert metrics(run.folder) == [
        {"kind": "train", "epoch": 2, "step": 3, "loss": 3.0, "part": 0.75},
        {"kind": "train", "epoch": 2, "step": 4, "loss": 5.0, "part": 1.25},
    ]


def test_without_a_step_there_is_no_line(run: Run) -> None:
    book = journal(run)
    book.write_losses()
    add(book, 1.0)
    book.write_losses()
    book.write_losses()
    book.close()
    assert len(metrics(run.folder)) == 1


def test_losses_that_were_not_written_yet_are_kept_for_a_run_that_goes_on(run: Run) -> None:
    losses = [0.1, 0.7, 0.3, 0.2, 0.9]
    whole = journal(run)
    add(whole, *losses)
    whole.write_losses()
    whole.close()
    expected = metrics(run.folder)
    broken = journal(run)
    add(broken, *losses[:3])
    kept = json.loads(json.dumps(vars(broken.kept())))
    broken.close()
    later = journal(run, Progress(**kept))
    add(later, *losses[3:])
    later.write_losses()
    later.close()
    assert metrics(run.folder) == expected, "not the same to the last bit"


def test_a_step_may_reuse_the_memory_of_its_losses(run: Run) -> None:
    book, loss = journal(run), torch.tensor(1.0)
    for value in (1.0, 2.0):
        loss.fill_(value)
        book.add({"loss": loss})
    book.write_losses()
    book.close()
    assert metrics(run.folder)[0]["loss"] == 1.5


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_a_number_is_never_written(run: Run, bad: float) -> None:
    book = journal(run)
    add(book, 1.0, bad, 1.0)
    with pytest.raises(Diverged, match=r"no longer a number after step 3: try a smaller training\.learning_rate"):
        book.write_losses()
    book.close()
    assert not (run.folder / "metrics.jsonl").exists()


def test_validation_is_a_line_of_accuracies(run: Run) -> None:
    book = journal(run, Progress(epoch=1, total_steps=9))
    book.write_validation(
        Evaluation(
            questions=4,
            unknown=0,
            extractor=Share(2, 4),
            final=Share(3, 4),
            recall_at={1: Share(2, 4), 2: Share(4, 4)},
            corrected=1,
            spoiled=0,
        )
    )
    book.close()
    assert metrics(run.folder) == [
        {"kind": "valid", "epoch": 1, "step": 9, "accuracy": 0.75, "extractor": 0.5, "recall_at_1": 0.5, "recall_at_2": 1.0}
    ]  # fmt: skip


def test_a_finished_run_and_a_process_that_only_reads_open_no_events(run: Run) -> None:
    journal(run, Progress(finished=True)).close()
    Journal(Run(run.folder, writes=False), Progress(), ALONE).close()
    assert list(run.folder.iterdir()) == []
    journal(run).close()
    assert [path.name for path in run.folder.iterdir()] == ["tensorboard"]


def test_a_run_is_written_down_without_tensorboard_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    book = journal(run)
    add(book, 1.0)
    book.write_losses()
    book.close()
    assert [path.name for path in run.folder.iterdir()] == ["metrics.jsonl"]
