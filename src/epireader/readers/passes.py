"""Questions about any passages in passes of bounded size: which are read together, and what a reader makes of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from epireader.data.batches import Batch, BatchCutter
from epireader.data.live import LiveCutter
from epireader.data.questions import Sizes
from epireader.layers.convolution import PassageLine
from epireader.readers.reading import ReaderModule, Reading

QUESTIONS_AT_ONCE = 64
LARGEST_PASS = 4_000_000
"""In the numbers that `room` counts. Larger passes are no faster on a CPU: their tables leave its cache."""
MOST_PADDING = 2
STATES_OF_A_WORD = 256
STEADY_WORDS = 100
"""What a pass takes however short its passage is, in words of one: short ones are worth padding."""


@dataclass(eq=False)
class Notes:
    """What readers made of a passage before they knew a question."""

    states: dict[ReaderModule, Float[Tensor, "doc out"]] = field(default_factory=dict)
    lines: dict[ReaderModule, PassageLine] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """What one reader made of one question, as plain numbers without padding."""

    final: np.ndarray
    first: np.ndarray
    attention: np.ndarray | None
    tested: dict[int, "Tested"]
    """By the number of the candidate."""


@dataclass(frozen=True)
class Tested:
    """What came of putting a candidate to the test."""

    e: float
    by_sentence: np.ndarray | None
    fit: float | None = None
    again: float | None = None


def room(sizes: Sizes) -> np.ndarray:
    """How many numbers a question takes: each of its words has states and is compared with question and candidates.

    One that is read again for some hypotheses takes that once more for each: those readings are not counted.
    """
    words = STEADY_WORDS + sizes.words + sizes.question
    return np.asarray(words * (STATES_OF_A_WORD + sizes.question + sizes.candidates * sizes.phrase))


def plan_passes(sizes: Sizes) -> Iterator[np.ndarray]:
    """The questions of each pass, the largest first.

    No question is padded to more than twice the room it takes alone, and no pass takes more than `LARGEST_PASS`,
    unless one question does.
    """
    if len(sizes.words) == 1:
        yield np.zeros(1, dtype=int)
        return
    alone = room(sizes)
    order = np.argsort(-alone, kind="stable")
    while len(order):
        rows = order[:QUESTIONS_AT_ONCE]
        padded = room(sizes.so_far(rows))
        fits = (padded <= MOST_PADDING * alone[rows]) & (padded * np.arange(1, len(rows) + 1) <= LARGEST_PASS)
        count = max(1, len(rows) if fits.all() else int(fits.argmin()))
        yield rows[:count]
        order = order[count:]


@torch.inference_mode()
def read_pass(
    module: ReaderModule, cutter: BatchCutter | LiveCutter, rows: np.ndarray, notes: Sequence[Notes], *, why: bool
) -> list[View]:
    """What a reader makes of each of the questions, whose passages the notes are about.

    A passage is read at most once. With `why` its notes keep what was made of it, and views have all there is to tell.
    """
    known = {note: note.states[module] for note in notes if module in note.states}
    unread = {note: place for place, note in enumerate(notes) if note not in known}
    batch = _cut(cutter, rows)
    if unread:
        each_once = batch if len(unread) == len(rows) else _cut(cutter, rows[list(unread.values())])
        made = module.read_passage(each_once)
        if made is None:
            return _views(module(batch), cutter.sizes, rows, why=why)
        for (note, place), states in zip(unread.items(), made, strict=True):
            known[note] = states[: cutter.sizes.words[rows[place]]]
            if why:
                note.states[module] = known[note].clone()  # not a part of the whole batch, which would stay with it
    states = _side_by_side(known, notes)
    line = None
    if len(known) == 1:
        line = notes[0].lines.get(module) or module.lay_out(batch if len(rows) == 1 else _cut(cutter, rows[:1]))
        if why and line is not None:
            notes[0].lines[module] = line
    reading = module(batch, states) if line is None else module(batch, states, line)
    return _views(reading, cutter.sizes, rows, why=why)


def _cut(cutter: BatchCutter | LiveCutter, rows: np.ndarray) -> Batch:
    return cutter.cut(torch.from_numpy(rows), cutter.sizes.of(rows))


def _side_by_side(known: dict[Notes, Tensor], notes: Sequence[Notes]) -> Float[Tensor, "batch doc out"]:
    """The states of each question's passage."""
    if len(known) == 1:  # there is nothing to pad, nor to copy
        return known[notes[0]].expand(len(notes), -1, -1)
    return pad_sequence([known[note] for note in notes], batch_first=True)


def _views(reading: Reading, sizes: Sizes, rows: np.ndarray, *, why: bool) -> list[View]:
    final, first = _plain(reading.log_probs.exp()), _plain(reading.first_log_probs.exp())
    attention = _plain(reading.log_attention.exp()) if why and reading.log_attention is not None else None
    tests = _tests(reading, sizes.sentences[rows], why=why)
    return [
        View(
            final=final[n, : sizes.candidates[row]],
            first=first[n, : sizes.candidates[row]],
            attention=None if attention is None else attention[n, : sizes.words[row]],
            tested=tests[n],
        )
        for n, row in enumerate(rows)
    ]


def _tests(reading: Reading, sentences: np.ndarray, *, why: bool) -> list[dict[int, Tested]]:
    if reading.evidence is None:
        return [{} for _ in sentences]
    chosen, e = _plain(reading.evidence.hypotheses).tolist(), _plain(reading.evidence.log_probs.exp()).tolist()
    scores = _plain(reading.evidence.by_sentence)
    fits, again = (_listed(part) if why else None for part in (reading.evidence.fit, reading.evidence.again))
    return [
        {
            candidate: Tested(
                e=e[n][place],
                by_sentence=scores[n, place, :count] if why else None,
                fit=None if fits is None else fits[n][place],
                again=None if again is None else again[n][place],
            )
            for place, candidate in enumerate(chosen[n])
        }
        for n, count in enumerate(sentences)
    ]


def _listed(values: Tensor | None) -> list[list[float]] | None:
    return None if values is None else _plain(values).tolist()


def _plain(values: Tensor) -> np.ndarray:
    return values.cpu().numpy()
