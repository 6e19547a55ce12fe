"""The training questions, in the order of an epoch."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from epireader.data.batches import Batch, BatchCutter, plan_epoch
from epireader.data.corpus import BadCorpus, Corpus
from epireader.data.estranging import estranged, names_in
from epireader.data.fresh import FreshQuestions
from epireader.data.own import OwnQuestions
from epireader.data.questions import Shape
from epireader.data.shelf import Shelf
from epireader.data.vocabulary import Vocabulary
from epireader.settings import BadSetting
from epireader.training.config import BooksConfig, Config, TrainingConfig
from epireader.training.processes import Processes


@dataclass(frozen=True)
class Books:
    """Prepared books, and what is asked of them."""

    shelf: Shelf
    settings: BooksConfig


def books_for(config: Config, shelf: Shelf | None) -> Books | None:
    """The books with their settings; settings without books are refused."""
    if shelf is None and config.books is not None:
        raise BadSetting("settings of books are given, but no books: prepare some and name them with --books")
    return None if shelf is None else Books(shelf, config.books or BooksConfig())


class TrainingBatches:
    """Plans epochs and cuts batches; with several processes, this one's share of each.

    The questions are those of the corpus, with those that its passages ask themselves (`training.own_questions`), or made
    freshly from books where some are given.
    """

    def __init__(
        self,
        corpus: Corpus,
        vocabulary: Vocabulary,
        settings: TrainingConfig,
        processes: Processes,
        books: Books | None = None,
    ) -> None:
        if settings.batch_size % processes.world:
            raise BadSetting(
                f"training.batch_size must be a multiple of the {processes.world} processes, got {settings.batch_size}"
            )
        if books and settings.own_questions:
            raise BadSetting(
                "training.own_questions is for the passages of a corpus, and books make all questions; give it as 0"
            )
        self._cutter = (
            _made_from(books, vocabulary, processes.device)
            if books
            else _given_in(corpus, vocabulary, processes.device, settings)
        )
        self._draws = settings.shuffle_entities or settings.own_questions > 0 or books is not None
        self._settings, self._processes = settings, processes
        self._names, self._strangers = names_in(vocabulary).to(processes.device), vocabulary.strangers

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
        asked = self._cutter.rows_of_epoch(seed=self._settings.seed, epoch=epoch)
        plan = plan_epoch(
            self._cutter.lengths(asked),
            self._settings.batch_size,
            seed=self._settings.seed,
            epoch=epoch,
            read_ahead=self._settings.read_ahead,
            world=self._processes.world,
            question_lengths=self._cutter.question_lengths(asked),
        )
        return [asked[places[self._processes.rank :: self._processes.world]] for places in plan]

    def shape(self, rows: np.ndarray) -> Shape:
        return self._cutter.shape(rows)

    def shuffle(self, epoch: int) -> Int[Tensor, ""]:
        """The number that decides what an epoch draws: questions about books and passages, entities' names, strangers."""
        return torch.tensor(self._settings.seed * 1_000_003 + epoch, device=self._processes.device)

    def cut(self, rows: Int[Tensor, " batch"], shape: Shape, shuffle: Int[Tensor, "*batch"]) -> Batch:
        batch = self._cutter.cut(rows, shape, shuffle=shuffle) if self._draws else self._cutter.cut(rows, shape)
        share = self._settings.strangers
        return estranged(batch, shuffle, share, self._names, self._strangers) if share else batch


@runtime_checkable
class Cutter(Protocol):
    """Where batches come from. A `row` is the number of a question."""

    def rows_of_epoch(self, *, seed: int, epoch: int) -> np.ndarray: ...

    def lengths(self, rows: np.ndarray) -> np.ndarray: ...

    def question_lengths(self, rows: np.ndarray) -> np.ndarray: ...

    def shape(self, rows: np.ndarray) -> Shape: ...

    def cut(
        self, rows: Int[Tensor, " batch"], shape: Shape, *, shuffle: int | Int[Tensor, "*batch"] | None = None
    ) -> Batch: ...


def _given_in(corpus: Corpus, vocabulary: Vocabulary, device: torch.device, settings: TrainingConfig) -> Cutter:
    questions = corpus.questions("train")
    if not bool((questions.answers >= 0).any()):
        raise BadCorpus(f"no training question of {corpus.folder} has its answer among its candidates")
    cutter = BatchCutter(questions, vocabulary, device)
    if not settings.own_questions:
        return cutter
    return OwnQuestions(cutter, settings.own_questions, shuffle_entities=settings.shuffle_entities)


def _made_from(books: Books, vocabulary: Vocabulary, device: torch.device) -> Cutter:
    settings = books.settings
    return FreshQuestions(
        books.shelf,
        vocabulary,
        device,
        questions=settings.questions,
        about_names=round(settings.names * settings.questions),
        max_words=settings.max_words,
    )
