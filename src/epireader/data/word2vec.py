"""Word vectors learnt from the text that a reader is trained on, before it is asked anything (Mikolov et al. 2013).

A reader learns what a word means from the questions it helps to answer, and most words help with few. The words around
it say more, and there are some around every word.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from epireader.data.cnn import ENTITY
from epireader.data.corpus import is_corpus, open_corpus
from epireader.data.ragged import Ragged
from epireader.data.shelf import is_shelf, open_shelf

NEGATIVES, FEWEST, KEPT = 10, 2, 1e-4
"""Wrong words for each right one, how often a word must occur, and the share of the text from which on a word is so frequent that
it is left out now and then."""
LETTER_RUNS = 400_000
"""How many vectors runs of three to six letters share."""
LENGTH = 5.5
"""The mean length of the vectors, about that of GloVe's."""
AT_ONCE = 10_000
"""gensim cuts longer runs of words off."""

SOME_ENTITY = "@entity"


class NoWord2Vec(ValueError):
    """gensim is not there."""


class NoText(ValueError):
    """There is no text to learn from, or too little of it."""


@dataclass(frozen=True)
class TrainingText:
    """The text of a corpus's training passages, or of books, every run of words once."""

    words: list[str]
    runs: Ragged
    """Numbers into `words`."""

    def __len__(self) -> int:
        """How many words it has."""
        return len(self.runs.values)

    def told(self, on_words: Callable[[int], None]) -> Iterator[list[str]]:
        """Its runs of words."""
        offsets, values = self.runs.offsets.tolist(), self.runs.values.numpy()
        for start, end in pairwise(offsets):
            for first in range(start, end, AT_ONCE):
                yield [self.words[number] for number in values[first : min(first + AT_ONCE, end)]]
            on_words(end - start)


def training_text(source: Path) -> TrainingText:
    """What a reader may learn from: nothing of the validation and test questions.

    The entities of CNN / Daily Mail, which have other numbers in every story, are one word.
    """
    if is_shelf(source):
        shelf = open_shelf(source)
        return TrainingText(list(shelf.lexicon), shelf.pieces)
    if not is_corpus(source):
        raise NoText(
            f"{source} holds neither a prepared corpus nor prepared books; make them with 'epireader prepare' or"
            " 'epireader prepare-books'"
        )
    corpus = open_corpus(source)
    questions = corpus.questions("train")
    sentences = questions.passages.values.unique()
    lengths = questions.sequences.lengths[sentences]
    values = questions.sequences.values
    runs = Ragged.from_lengths(values, lengths)
    moved = questions.sequences.offsets[sentences] - runs.offsets[:-1]
    places = torch.arange(int(runs.offsets[-1])) + moved.repeat_interleave(lengths)
    words = [SOME_ENTITY if ENTITY.fullmatch(word) else word for word in corpus.lexicon]
    return TrainingText(words, Ragged(values[places], runs.offsets))


@dataclass(frozen=True, kw_only=True)
class Learning:
    """How vectors are learnt."""

    dim: int
    epochs: int
    seed: int
    window: int
    """How many words to either side are looked at, at most. Few tell what may stand in a word's place, many what it has to do with."""
    whole_words: bool
    """Whether a word has a vector of its own alone, and not the mean of that and those of the runs of letters in it (Bojanowski
    et al. 2017), by which words that are seldom seen are known too."""


def learn_vectors(
    text: TrainingText, how: Learning, on_words: Callable[[int], None] = lambda _: None
) -> tuple[list[str], Float[np.ndarray, "words dim"]]:
    """Skip-grams with negative sampling: the words, the most frequent first, and a vector for each.

    The text is read once to count its words, and once in every epoch.
    """
    model = _skip_grams(how)
    told = _Again(lambda: text.told(on_words))
    model.build_vocab(told)
    words = [word for word in model.wv.index_to_key if word != SOME_ENTITY]
    if not words:
        raise NoText(f"no word stands in the text {FEWEST} times; give more of it")
    model.train(told, total_examples=model.corpus_count, epochs=how.epochs)
    vectors = model.wv[words]
    return words, vectors * (LENGTH / np.linalg.norm(vectors, axis=1).mean())


@dataclass(frozen=True)
class _Again:
    """Begins anew whenever it is iterated over, as gensim wants it."""

    begin: Callable[[], Iterator[list[str]]]

    def __iter__(self) -> Iterator[list[str]]:
        return self.begin()


def _skip_grams(how: Learning) -> Any:
    try:
        from gensim.models import FastText, Word2Vec
    except ModuleNotFoundError as error:
        raise NoWord2Vec(f"learning word vectors needs {error.name}: pip install 'epireader[vectors]'") from None
    options: dict[str, Any] = {"vector_size": how.dim, "seed": how.seed, "window": how.window, "negative": NEGATIVES}
    # One worker: of several it depends on chance which comes first, and every run would give other vectors.
    options |= {"sg": 1, "min_count": FEWEST, "sample": KEPT, "workers": 1}
    return Word2Vec(**options) if how.whole_words else FastText(bucket=LETTER_RUNS, **options)
