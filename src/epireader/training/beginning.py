"""What a reader begins with: its words and first weights, word vectors from a file, or all of a reader that was trained before."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import torch
from torch import nn

from epireader.data.corpus import Corpus
from epireader.data.embeddings import WordVectors, read_vectors
from epireader.data.questions import Questions
from epireader.data.shelf import Shelf
from epireader.data.vocabulary import Vocabulary, most_frequent
from epireader.readers.saved import WEIGHTS, BadModel, Model, build_model, load_model, put_weights
from epireader.settings import BadSetting
from epireader.training.config import Config, VocabularyConfig


def fresh_model(
    corpus: Corpus, config: Config, device: torch.device, shelf: Shelf | None = None, start: Path | None = None
) -> Model:
    """A reader with first weights drawn from the seed, the same on every device; or with words and weights of the one in
    the folder `start`."""
    torch.manual_seed(config.training.seed)
    trained = load_model(start) if start else None
    vocabulary = trained.vocabulary if trained else choose_vocabulary(corpus, config.vocabulary, shelf)
    model = build_model(config.reader, config.model, vocabulary)
    if trained and start:
        try:
            put_weights(model.module, trained.module.state_dict(), start / WEIGHTS)
        except BadModel as bad:
            raise BadSetting(
                f"{bad}; what a reader begins with says how large it is, so leave such settings alone"
            ) from None
    model.module.to(device)
    return model


def give_vectors(models: Sequence[Model], paths: Sequence[Path | None]) -> dict[Path, WordVectors]:
    """Let the word vectors of each reader begin as those in its file, if it has one; words that the file does not have keep
    their random start. What each file had is given back."""
    found: dict[Path, WordVectors] = {}
    for model, path in zip(models, paths, strict=True):
        if path is None:
            continue
        embedding = getattr(model.module, "embedding", None)
        if not isinstance(embedding, nn.Embedding):
            raise BadSetting(f"the reader {model.reader} has no word vectors that --embeddings could begin with")
        if path not in found:
            found[path] = read_vectors(path, model.vocabulary, embedding.embedding_dim)
        ids, vectors = found[path].ids.to(embedding.weight.device), found[path].vectors.to(embedding.weight)
        with torch.no_grad():
            embedding.weight[ids] = vectors
            model.module.begin_with(ids, vectors)
    return found


def choose_vocabulary(corpus: Corpus, settings: VocabularyConfig, shelf: Shelf | None = None) -> Vocabulary:
    """The words of the training questions, and of the books where there are some, that get vectors of their own."""
    texts: list[Shelf | Questions] = [shelf] if shelf else []
    if not shelf or "train" in corpus.splits:
        texts.append(corpus.questions("train"))
    counts: dict[str, int] = {}
    for word, count in chain.from_iterable(text.word_counts() for text in texts):
        key = word.lower() if settings.lowercase else word
        counts[key] = counts.get(key, 0) + count
    words = most_frequent(counts.items(), min_count=settings.min_count, max_words=settings.max_words or None)
    return Vocabulary(words, settings.strangers, settings.lowercase, settings.rename_entities)
