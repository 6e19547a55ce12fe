"""Nouns through spaCy, which tests do without: a stand-in with the few things of it that are used."""

import sys
from collections.abc import Iterable, Iterator
from types import ModuleType, SimpleNamespace

import pytest

from epireader.text.nouns import NoTagger, noun_kinds

TAGS = {"fox": "NN", "crows": "NNS", "Ann": "NNP", "sang": "VBD"}


class Doc(list[SimpleNamespace]):
    def __init__(self, vocab: object, words: list[str]) -> None:
        assert vocab is Pipeline.vocab
        super().__init__(SimpleNamespace(text=word, tag_="") for word in words)


class Pipeline:
    vocab = object()

    def pipe(self, docs: Iterable[Doc], batch_size: int) -> Iterator[Doc]:
        assert batch_size > 0
        for doc in docs:
            for token in doc:
                token.tag_ = TAGS.get(token.text, "X")
            yield doc


def install_spacy(monkeypatch: pytest.MonkeyPatch, *models: str) -> list[str]:
    """A stand-in for spaCy with these models; the list says which was loaded."""
    loaded: list[str] = []

    def load(name: str, exclude: list[str]) -> Pipeline:
        loaded.append(name)
        return Pipeline()

    spacy, tokens = ModuleType("spacy"), ModuleType("spacy.tokens")
    vars(spacy).update(util=SimpleNamespace(get_installed_models=lambda: list(models)), load=load, tokens=tokens)
    vars(tokens).update(Doc=Doc)
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)
    return loaded


def test_common_nouns_are_nouns_and_names_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    install_spacy(monkeypatch, "en_core_web_sm")
    done: list[int] = []
    sentences = [("The", "fox", "and", "Ann"), ("crows", "sang")]
    assert noun_kinds(sentences, on_sentence=done.append) == ["-C--", "C-"]
    assert done == [1, 1]
    assert noun_kinds(sentences) == ["-C--", "C-"]


def test_an_english_model_that_is_there_is_used_the_small_one_first(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = install_spacy(monkeypatch, "de_core_news_sm", "en_core_web_lg")
    noun_kinds([("a",)])
    assert loaded == ["en_core_web_lg"]
    loaded = install_spacy(monkeypatch, "en_core_web_lg", "en_core_web_sm")
    noun_kinds([("a",)])
    assert loaded == ["en_core_web_sm"]


def test_without_spacy_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(NoTagger, match=r"pip install 'epireader\[nouns\]' && python -m spacy download en_core_web_sm"):
        noun_kinds([("a",)])


def test_without_a_model_of_english_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    install_spacy(monkeypatch, "de_core_news_sm")
    with pytest.raises(NoTagger, match="none is installed: python -m spacy download en_core_web_sm"):
        noun_kinds([("a",)])
