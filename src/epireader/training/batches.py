"""The training questions, in the order of an epoch."""

from copy import copy
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from epireader.data.batches import Batch, BatchCutter, plan_epoch
from epireader.data.corpus import BadCorpus, Corpus
from epireader.data.questions import Shape
from epireader.data.vocabulary import Vocabulary
from epireader.settings import BadSetting
from epireader.training.config import TrainingConfig
from epireader.training.processes import Processes


class TrainingBatches:
    """Plans epochs and cuts batches; with several processes, this one's share of each."""

    def __init__(self, corpus: Corpus, vocabulary: Vocabulary, settings: TrainingConfig, processes: Processes) -> None:
        questions = corpus.questions("train")
        if not bool((questions.answers >= 0).any()):
            raise BadCorpus(f"no training question of {corpus.folder} has its answer among its candidates")
        if settings.batch_size % processes.world:
            raise BadSetting(
                f"training.batch_size must be a multiple of the {processes.world} processes, got {settings.batch_size}"
            )
        self._cutter = BatchCutter(questions, vocabulary, processes.device)
        self._settings, self._processes = settings, processes

    def sown_with(self, seed: int) -> "TrainingBatches":
        """The same questions in the order of another seed."""
        other = copy(self)
        other._settings = replace(self._settings, seed=seed)
        return other

    @property
    def size(self) -> int:
        """Questions in a full batch of this process."""
        return self._settings.batch_size // self._processes.world

    def plan(self, epoch: int) -> list[np.ndarray]:
        """The batches of an epoch, each the rows of its questions."""
        plan = plan_epoch(
            self._cutter.sizes.words,
            self._settings.batch_size,
            seed=self._settings.seed,
            epoch=epoch,
            read_ahead=self._settings.read_ahead,
            world=self._processes.world,
        )
        return [rows[self._processes.rank :: self._processes.world] for rows in plan]

    def shape(self, rows: np.ndarray) -> Shape:
        return self._cutter.sizes.of(rows)

    def shuffle(self, epoch: int) -> Int[Tensor, ""]:
        """The number that decides how entities trade names in an epoch."""
        return torch.tensor(self._settings.seed * 1_000_003 + epoch, device=self._processes.device)

    def cut(self, rows: Int[Tensor, " batch"], shape: Shape, shuffle: Int[Tensor, "*batch"]) -> Batch:
        return self._cutter.cut(rows, shape, shuffle=shuffle if self._settings.shuffle_entities else None)
