"""Training several readers at once. Each gets a run of its own; where they all stand is kept in one file beside them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from epireader.data.corpus import Corpus
from epireader.data.shelf import Shelf
from epireader.evaluation.accuracy import Evaluation
from epireader.files import sha256_of
from epireader.readers import READERS
from epireader.readers.saved import read_weights, save_weights
from epireader.settings import BadSetting
from epireader.training.batches import TrainingBatches, books_for
from epireader.training.beginning import fresh_model, give_vectors
from epireader.training.config import Config, TrainingConfig
from epireader.training.journal import Journal
from epireader.training.loop import (
    Clock,
    Interrupted,
    Session,
    Watcher,
    seed_dropout,
    set_precision,
    stop_requests,
)
from epireader.training.members import Members, make_joint_step
from epireader.training.optimizer import make_optimizer, optimizer_tensors, restore_optimizer
from epireader.training.processes import Processes
from epireader.training.run import Progress, Run, RunRefused, open_run, under
from epireader.training.step import Losses, TakeStep

RESUME_FORMAT = "epireader-resume-together"


def train_together(
    corpus: Corpus,
    configs: Mapping[Path, Config],
    standing: Path,
    processes: Processes,
    watcher: Watcher,
    *,
    embeddings: Sequence[Path] = (),
    start: Path | None = None,
    shelf: Shelf | None = None,
) -> dict[Path, Progress]:
    """Train readers that differ in their seeds alone, or go on training them, each in its own folder.

    Where they all stand is kept in the file `standing`. A run that ends, finished or because its time is over, can also
    be gone on with alone. The word vectors of each begin as those in one of the files `embeddings`, where some are given.
    """
    if processes.world > 1:
        raise BadSetting("several readers are trained at once by one process; start it without torchrun")
    first = next(iter(configs.values()))
    settings = first.training
    if not READERS[first.reader].module.trains_at_once:
        raise BadSetting(
            f"several readers of the kind {first.reader} cannot be trained at once; train one after the other"
        )
    set_precision(settings.precision, processes.device)
    books = books_for(first, shelf)
    models = [fresh_model(corpus, config, processes.device, shelf, start) for config in configs.values()]
    vectors: Sequence[Path | None] = embeddings or [None] * len(models)
    for path, found in give_vectors(models, vectors).items():
        watcher.say(f"{path.name}: {found.coverage}")
    members = Members(models)
    optimizer = make_optimizer(
        members.weights.values(), settings.learning_rate, settings.optimizer, average=settings.average
    )
    batches = TrainingBatches(corpus, models[0].vocabulary, settings, processes, books)
    with ExitStack() as stack, stop_requests() as stop_requested:
        runs = [
            stack.enter_context(open_run(folder, config, corpus, model, embeddings=file, start=start, books=books))
            for (folder, config), model, file in zip(configs.items(), models, vectors, strict=True)
        ]
        kept = Standing(standing, members, optimizer, runs)
        progresses = kept.load()
        journals = [
            stack.enter_context(closing(Journal(run, progress, processes)))
            for run, progress in zip(runs, progresses, strict=True)
        ]
        sessions = [
            Session(model, optimizer, corpus.questions("valid"), run, journal, Clock(0.0), processes, Silent())
            for model, run, journal in zip(models, runs, journals, strict=True)
        ]
        if start:
            replace(sessions[0], watcher=watcher).say_where_it_begins()  # they all begin so
        take = make_joint_step(members, optimizer, batches, settings, processes.device)
        sown = [batches.sown_with(config.training.seed) for config in configs.values()]
        group = Group(sessions, sown, kept, Clock(max(progress.seconds for progress in progresses)), watcher)
        while group.goes_on(settings.max_minutes):
            group.take_epoch(take, settings, stop_requested)
        group.part()
        if stop_requested():
            raise Interrupted
    return dict(zip(configs, progresses, strict=True))


class Silent:
    """Watches one of many runs and says nothing: they are summed up."""

    def say(self, text: str) -> None: ...

    def epoch(self, number: int, steps: int, done: int) -> None: ...

    def step(self) -> None: ...

    def validated(self, progress: Progress, evaluation: Evaluation) -> None: ...


class Standing:
    """Where all readers stand, in one file: it can only be wholly there, so they never fall out of step.

    It says which runs it is of, by the checksums of what was written down when they began.
    """

    def __init__(self, path: Path, members: Members, optimizer: torch.optim.Optimizer, runs: Sequence[Run]) -> None:
        self._path, self._members, self._optimizer = path, members, optimizer
        self._runs, self._begun = runs, [sha256_of(run.folder / "config.json") for run in runs]

    def save(self, progresses: Sequence[Progress]) -> None:
        tensors: dict[str, Tensor] = {f"model.{name}": weight for name, weight in self._members.weights.items()}
        moments = optimizer_tensors(self._optimizer, list(self._members.weights))
        tensors |= {f"optimizer.{name}": moment for name, moment in moments.items()}
        record = {
            "format": RESUME_FORMAT,
            "begun": self._begun,
            "progress": [asdict(progress) for progress in progresses],
        }
        save_weights(self._path, tensors, record)

    def of_member(self, number: int) -> dict[str, Tensor]:
        """What the optimizer remembers of one reader's weights."""
        moments = optimizer_tensors(self._optimizer, list(self._members.weights))
        return {name: moment[number] if moment.dim() else moment for name, moment in moments.items()}

    def load(self) -> list[Progress]:
        """Put the readers back where they were saved; those that never were start at the beginning."""
        if not self._path.exists():
            for run in self._runs:
                if run.is_under_way:
                    raise RunRefused(f"{run.folder} holds a run that goes on alone only; give another --out")
            return [Progress() for _ in self._runs]
        tensors, record = read_weights(self._path)
        try:
            if record["format"] != RESUME_FORMAT or record["begun"] != self._begun:
                raise KeyError("other readers")
            with torch.no_grad():
                for name, weight in self._members.weights.items():
                    weight.copy_(tensors[f"model.{name}"])
            restore_optimizer(self._optimizer, list(self._members.weights), under("optimizer.", tensors))
            return [Progress(**progress) for progress in record["progress"]]
        except (KeyError, TypeError, RuntimeError) as error:
            raise RunRefused(f"{self._path} was not written by this training ({error}); give another --out") from None


class Group:
    """Runs that go on in step. One that is finished still takes part in the steps, but nothing is kept of them."""

    def __init__(
        self,
        sessions: Sequence[Session],
        batches: Sequence[TrainingBatches],
        standing: Standing,
        clock: Clock,
        watcher: Watcher,
    ) -> None:
        self._sessions, self._batches, self._standing = sessions, batches, standing
        self._clock, self._watcher = clock, watcher
        self._sums: Losses = {}
        kept = [session.journal.progress.loss_sums for session in sessions]
        for name in kept[0]:
            self._sums[name] = torch.tensor([sums.get(name, 0.0) for sums in kept], device=sessions[0].processes.device)

    @property
    def active(self) -> list[Session]:
        return [session for session in self._sessions if not session.journal.progress.finished]

    def goes_on(self, max_minutes: float) -> bool:
        """Whether there is another epoch to take, and time for it. The first is taken in any case: else there is no reader."""
        if not self.active:
            return False
        lead = self.active[0].journal.progress
        part = lead.step / len(self._batches[0].plan(lead.epoch))
        late = lead.epoch > 0 and self._clock.too_late(max_minutes, lead.epoch, part)
        if late:
            self._watcher.say(f"the time is over after {self._clock.seconds() / 60:.1f} minutes")
        return not late

    def part(self) -> None:
        """Let each run stand for itself."""
        for number, session in enumerate(self._sessions):
            session.run.save_progress(session.model, self._standing.of_member(number), session.journal.progress)

    def take_epoch(self, take: TakeStep, settings: TrainingConfig, stop_requested: Callable[[], bool]) -> None:
        lead = self.active[0].journal.progress
        plans = [batches.plan(lead.epoch) for batches in self._batches]
        shuffles = torch.stack([batches.shuffle(lead.epoch) for batches in self._batches])
        shuffles = shuffles.repeat_interleave(self._batches[0].size)
        self._watcher.epoch(lead.epoch, len(plans[0]), lead.step)
        for session in self._sessions:
            session.model.module.train()
        for rows in list(zip(*plans, strict=True))[lead.step :]:
            seed_dropout(settings.seed, lead.total_steps, self._sessions[0].processes)
            joined = self._joined(rows)
            self._count(take(torch.from_numpy(joined), self._batches[0].shape(joined[joined >= 0]), shuffles))
            if lead.total_steps % settings.log_every == 0:
                self._write_losses()
            if stop_requested() or self._clock.minutes_since_saved() >= settings.checkpoint_minutes:
                self._save()
            if stop_requested():
                raise Interrupted
        self._write_losses()
        self._validate(settings)
        self._save()

    def _joined(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """The questions of all readers, each filled up to a whole batch with -1."""
        size = self._batches[0].size
        return np.concatenate([np.pad(own, (0, size - len(own)), constant_values=-1) for own in rows])

    def _count(self, losses: Losses) -> None:
        for name, values in losses.items():
            self._sums[name] = self._sums[name] + values if name in self._sums else values.clone()
        for session in self.active:
            progress = session.journal.progress
            progress.step, progress.total_steps = progress.step + 1, progress.total_steps + 1
            progress.loss_steps += 1
        self._watcher.step()

    def _hand_over_losses(self) -> None:
        for number, session in enumerate(self._sessions):
            session.journal.put_sums({name: values[number] for name, values in self._sums.items()})

    def _write_losses(self) -> None:
        self._hand_over_losses()
        for session in self.active:
            session.journal.write_losses()
        self._sums = {}

    def _validate(self, settings: TrainingConfig) -> None:
        active = self.active
        for session in active:
            session.validate()
            session.journal.progress.end_epoch(settings.patience, settings.max_epochs)
        best = [session.journal.progress.best_accuracy for session in self._sessions]
        self._watcher.say(
            f"epoch {active[0].journal.progress.epoch}: best validation accuracies {min(best):.2%} to {max(best):.2%},"
            f" {len(self._sessions) - len(self.active)} of {len(self._sessions)} readers finished"
        )

    def _save(self) -> None:
        self._hand_over_losses()
        self._standing.save([self._clock.stamped(session.journal.kept()) for session in self._sessions])
