"""Questions made from prepared books at the moment they are asked, on the device where the books lie.

Which windows a batch takes is planned on the host (`Windows`), so its shape is known there. Which word is left out and
what is offered in its place is drawn here, by the rules of `epireader.text.cloze`, from nothing but a question's number
and the number given for the epoch: no state is kept, and every device draws the same.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Int, UInt8
from torch import Tensor

from epireader.data.batches import Batch, Encoder, keys_of, lay_end_to_end, mixed
from epireader.data.example import BLANK
from epireader.data.questions import ANSWER_OUTSIDE, LEXICON_START, Shape
from epireader.data.ragged import runs
from epireader.data.shelf import IS_NAME, IS_NOUN, STOOD_BEFORE, Shelf
from epireader.data.vocabulary import Vocabulary
from epireader.data.windows import CANDIDATES, Windows
from epireader.text.cloze import PASSAGE

BLANK_DRAW, PLACE_DRAW = 0, 1
"""What is mixed into a question's number to draw its blank and the answer's place. A word's own number, which is larger
(the lexicon begins with padding and the blank), draws whether it becomes a candidate."""

NOT_DRAWN = torch.iinfo(torch.int64).max


class FreshQuestions:
    """Cuts batches out of books for a reader with this vocabulary."""

    def __init__(
        self,
        shelf: Shelf,
        vocabulary: Vocabulary,
        device: torch.device | str = "cpu",
        *,
        questions: int,
        about_names: int,
        max_words: int,
    ) -> None:
        device = torch.device(device)
        self._windows = Windows.of(shelf, max_words=max_words)
        self._questions, self._about_names = questions, about_names
        self._refuse_what_is_missing(shelf)
        self._device = device
        self._asked = torch.from_numpy(self._windows.asked).to(device)
        self._pieces = shelf.pieces.to(device)
        self._sentences = shelf.sentences.to(device)
        self._marks = shelf.marks.to(device)
        self._caseless = _caseless(shelf.lexicon).to(device)
        self._encoder = Encoder(shelf.lexicon, shelf.pieces.values, vocabulary, device)

    def rows_of_epoch(self, *, seed: int, epoch: int) -> np.ndarray:
        return self._windows.drawn(self._questions, self._about_names, seed=seed, epoch=epoch)

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        return self._windows.lengths(rows)

    def question_lengths(self, rows: np.ndarray) -> np.ndarray:
        return self._windows.question_lengths(rows)

    def shape(self, rows: np.ndarray) -> Shape:
        return self._windows.shape(rows)

    def cut(
        self, rows: Int[Tensor, " batch"], shape: Shape, *, shuffle: int | Int[Tensor, "*batch"] | None = None
    ) -> Batch:
        """The questions `rows` as a batch of the given shape, other ones for every number `shuffle`."""
        rows = rows.to(self._device)
        key = keys_of(rows, 0 if shuffle is None else shuffle)
        window = rows % len(self._windows)
        about_name = window < self._windows.names
        asked = self._asked[window]
        passage, marks, sentence_of, sentence_length = self._passages(asked, shape)
        question, blank = self._blanked(asked, about_name, mixed(key + BLANK_DRAW), shape.question)
        answer = question.gather(1, blank)
        drawn = torch.where(
            self._caseless[passage] == self._caseless[answer], NOT_DRAWN, _drawn(passage, marks, about_name, key)
        )
        candidates, place = offered(passage, drawn, answer, mixed(key + PLACE_DRAW), shape.candidates)
        question = question.scatter(1, blank, LEXICON_START.index(BLANK))
        ids = (self._encoder.ids_of(words) for words in (passage, question, candidates[:, :, None]))
        passage, question, candidates = self._encoder.named(*ids)
        return Batch(
            passage=passage,
            sentence_of=sentence_of,
            sentence_length=sentence_length,
            question=question,
            candidates=candidates,
            answer=place,
            row=rows,
        )

    def _passages(
        self, asked: Int[Tensor, " batch"], shape: Shape
    ) -> tuple[
        Int[Tensor, "batch doc"], UInt8[Tensor, "batch doc"], Int[Tensor, "batch doc"], Int[Tensor, "batch sent"]
    ]:
        """The words of the twenty sentences, their marks, the piece each stands in, and the pieces' lengths."""
        first, end = self._sentences[asked - PASSAGE], self._sentences[asked]
        columns = torch.arange(shape.sentences, device=self._device)
        piece_mask = columns < (end - first)[:, None]
        pieces = torch.where(piece_mask, first[:, None] + columns, 0)
        words, piece_of, length = lay_end_to_end(self._pieces, pieces, piece_mask, shape.words)
        start = self._pieces.offsets[first]
        marks, _ = runs(self._marks, start, self._pieces.offsets[end] - start, shape.words)
        return words, marks, piece_of, length

    def _blanked(
        self, asked: Int[Tensor, " batch"], about_name: Bool[Tensor, " batch"], draw: Int[Tensor, " batch"], width: int
    ) -> tuple[Int[Tensor, "batch q"], Int[Tensor, "batch 1"]]:
        """The words of the sentences asked about, and the place in each of the one to leave out."""
        start, end = (self._pieces.offsets[self._sentences[sentence]] for sentence in (asked, asked + 1))
        words, _ = runs(self._pieces.values, start, end - start, width)
        marks, _ = runs(self._marks, start, end - start, width)
        fits = marks == torch.where(about_name, IS_NAME | STOOD_BEFORE, IS_NOUN | STOOD_BEFORE)[:, None]
        nth = fits.cumsum(dim=1)
        chosen = draw % nth[:, -1].clamp(min=1)
        return words, (fits & (nth == chosen[:, None] + 1)).int().argmax(dim=1, keepdim=True)

    def _refuse_what_is_missing(self, shelf: Shelf) -> None:
        nouns = len(self._windows) - self._windows.names
        for kind, asked, there in (
            ("names", self._about_names, self._windows.names),
            ("nouns", self._questions - self._about_names, nouns),
        ):
            if asked and not there:
                raise ValueError(
                    f"the books in {shelf.folder} have no passage of {PASSAGE} sentences to ask about {kind}; books.names"
                    " says how many questions are about names, books.max_words how long passages may be"
                )


def _drawn(
    passage: Int[Tensor, "batch doc"],
    marks: UInt8[Tensor, "batch doc"],
    about_name: Bool[Tensor, " batch"],
    key: Int[Tensor, " batch"],
) -> Int[Tensor, "batch doc"]:
    """A number for every word that may be offered, the same wherever it stands: those with the least are taken.

    It is even for a word of the answer's kind and odd for a noun that only fills up where names are too few.
    """
    is_name, is_noun = (marks & IS_NAME) > 0, (marks & IS_NOUN) > 0
    number = mixed(key[:, None] + passage) & -2
    right_kind = torch.where(about_name[:, None], is_name, is_noun)
    return torch.where(right_kind, number, torch.where(is_noun, number | 1, NOT_DRAWN))


def offered(
    words: Int[Tensor, "batch doc"],
    drawn: Int[Tensor, "batch doc"],
    answer: Int[Tensor, "batch 1"],
    place_draw: Int[Tensor, " batch"],
    width: int,
) -> tuple[Int[Tensor, "batch {width}"], Int[Tensor, " batch"]]:
    """The candidates, and which of them is the answer; it has no place where there is nothing else to choose."""
    ordered, order = drawn.sort(dim=1)
    is_new = ordered != NOT_DRAWN
    is_new[:, 1:] &= (ordered[:, 1:] >> 1) != (ordered[:, :-1] >> 1)
    right_kind, fills = is_new & (ordered & 1 == 0), is_new & (ordered & 1 == 1)
    rank = torch.where(
        right_kind, right_kind.cumsum(dim=1), right_kind.sum(dim=1, keepdim=True) + fills.cumsum(dim=1)
    ) - 1  # fmt: skip
    others = is_new.sum(dim=1).clamp(max=CANDIDATES - 1)
    place = (place_draw % (others + 1))[:, None]
    slot = torch.where(is_new & (rank < CANDIDATES - 1), rank + (rank >= place), width)
    candidates = words.new_zeros(len(words), width + 1).scatter(1, slot, words.gather(1, order))
    candidates = candidates.scatter(1, place, answer)[:, :width]
    return candidates, torch.where(others > 0, place[:, 0], ANSWER_OUTSIDE)


def _caseless(lexicon: Sequence[str]) -> Int[Tensor, " lexicon"]:
    """A number for every word that it shares with those that differ from it in case alone."""
    number_of: dict[str, int] = {}
    return torch.tensor([number_of.setdefault(word.lower(), len(number_of)) for word in lexicon], dtype=torch.int32)
