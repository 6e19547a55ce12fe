"""What can be asked of prepared books, planned on the host: twenty sentences, the next, and the kind of word left out.

Windows about names come first, then those about nouns. A question is a window and a turn: however often the books are
gone through, each turn asks a window something else. Its number (its `row`) is turn * windows + window.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from epireader.data.questions import Shape
from epireader.data.shelf import IS_NAME, IS_NOUN, Shelf
from epireader.text.cloze import PASSAGE, ClozeRules

CANDIDATES = ClozeRules().candidates


@dataclass(frozen=True)
class Windows:
    """Every window that makes a question."""

    asked: np.ndarray
    """The sentence that each window asks about; its passage is the twenty before."""
    names: int
    """How many windows are about names: the first so many."""
    first_word: np.ndarray
    """Of every sentence of the shelf, and the end."""
    first_piece: np.ndarray

    def __len__(self) -> int:
        return len(self.asked)

    @classmethod
    def of(cls, shelf: Shelf, *, max_words: int) -> "Windows":
        """The windows of a shelf that have at most so many words, the twenty-first sentence included."""
        first_piece = shelf.sentences.numpy()
        first_word = shelf.pieces.offsets.numpy()[first_piece]
        asks = shelf.asks.numpy()
        fits = np.zeros(len(asks), dtype=bool)
        fits[PASSAGE:] = first_word[PASSAGE + 1 :] - first_word[: -PASSAGE - 1] <= max_words
        about = [np.flatnonzero(fits & ((asks & kind) > 0)) for kind in (IS_NAME, IS_NOUN)]
        return cls(np.concatenate(about), len(about[0]), first_word, first_piece)

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Words in the passages."""
        asked = self.asked[rows % len(self)]
        return np.asarray(self.first_word[asked] - self.first_word[asked - PASSAGE])

    def question_lengths(self, rows: np.ndarray) -> np.ndarray:
        """Words in the questions."""
        asked = self.asked[rows % len(self)]
        return np.asarray(self.first_word[asked + 1] - self.first_word[asked])

    def shape(self, rows: np.ndarray) -> Shape:
        """The shape of the smallest batch that holds these questions."""
        asked = self.asked[rows % len(self)]
        return Shape(
            words=int(self.lengths(rows).max()),
            sentences=int((self.first_piece[asked] - self.first_piece[asked - PASSAGE]).max()),
            question=int(self.question_lengths(rows).max()),
            candidates=CANDIDATES,
            phrase=1,
        )

    def drawn(self, questions: int, about_names: int, *, seed: int, epoch: int) -> np.ndarray:
        """The rows of an epoch: so many questions, so many of them about names.

        Epochs share out all windows between them: none comes again before every other of its kind has come.
        """
        parts = ((0, self.names, about_names), (self.names, len(self), questions - about_names))
        return np.concatenate(
            [part for first, end, count in parts for part in self._turns(first, end, count, seed=seed, epoch=epoch)]
        )

    def _turns(self, first: int, end: int, count: int, *, seed: int, epoch: int) -> Iterator[np.ndarray]:
        """Places epoch * count to (epoch + 1) * count of the windows gone through again and again, each time anew."""
        size, start, stop = end - first, epoch * count, (epoch + 1) * count
        for turn in range(start // size, -(-stop // size)) if count else ():
            order = first + np.random.default_rng([seed, turn, first]).permutation(size)
            yield turn * len(self) + order[max(start - turn * size, 0) : stop - turn * size]
