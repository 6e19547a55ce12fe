"""Which words of a text are common nouns: spaCy says, where it and one of its English models are installed."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from epireader.text.cloze import NOUN, OTHER, Words

MODELS = ("en_core_web_sm", "en_core_web_md", "en_core_web_lg", "en_core_web_trf")
"""The first of these that is installed is used."""

TAGS = ("NN", "NNS")
"""The Penn Treebank's tags of common nouns."""


class NoTagger(ValueError):
    """spaCy or its model is missing; the message says what to install."""


def noun_kinds(sentences: Sequence[Words], *, on_sentence: Callable[[int], None] | None = None) -> list[str]:
    """For each sentence a letter for each word: NOUN or OTHER. `on_sentence` is told of every one that is done."""
    kinds = []
    for tags in _tagged(sentences):
        kinds.append("".join(NOUN if tag in TAGS else OTHER for tag in tags))
        if on_sentence:
            on_sentence(1)
    return kinds


def _tagged(sentences: Sequence[Words]) -> Iterator[list[str]]:
    """The tags of every sentence; its words are taken as they are, spaCy does not split them anew."""
    pipeline = _pipeline()
    from spacy.tokens import Doc

    for doc in pipeline.pipe((Doc(pipeline.vocab, words=list(words)) for words in sentences), batch_size=256):
        yield [token.tag_ for token in doc]


def _pipeline() -> Any:
    try:
        import spacy
    except ImportError:
        raise NoTagger(
            "finding nouns needs spaCy and a model of English, and spaCy is not installed: "
            f"pip install 'epireader[nouns]' && python -m spacy download {MODELS[0]} (names need neither: --kind names)"
        ) from None
    installed = spacy.util.get_installed_models()
    model = next((name for name in MODELS if name in installed), None)
    if model is None:
        raise NoTagger(
            "finding nouns needs a model of English for spaCy, and none is installed: "
            f"python -m spacy download {MODELS[0]} (names need none: --kind names)"
        )
    return spacy.load(model, exclude=["parser", "ner", "lemmatizer", "attribute_ruler", "senter"])
