"""The words and first weights of a reader. Those of word vectors and of trained readers are in the integration tests."""

import pytest
import torch
from builders import toy_corpus
from running import tiny

from epireader.data.corpus import Corpus
from epireader.training.beginning import choose_vocabulary, fresh_model
from epireader.training.config import VocabularyConfig

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return toy_corpus(tmp_path_factory.mktemp("toy") / "corpus", train=20, valid=20)


def test_the_vocabulary_is_the_words_of_the_training_questions(corpus: Corpus) -> None:
    words = choose_vocabulary(corpus, VocabularyConfig())
    counts = dict(corpus.questions("train").word_counts())
    assert set(words.words) == counts.keys() - {"XXXXX"}
    assert words.strangers == 64
    assert [counts[word] for word in words.words] == sorted((counts[word] for word in words.words), reverse=True)


def test_rare_words_and_those_beyond_the_limit_are_strangers(corpus: Corpus) -> None:
    counts = dict(corpus.questions("train").word_counts())
    frequent = choose_vocabulary(corpus, VocabularyConfig(min_count=10))
    assert set(frequent.words) == {word for word, count in counts.items() if count >= 10} - {"XXXXX"}
    assert 0 < len(frequent.words) < len(counts) - 1
    assert choose_vocabulary(corpus, VocabularyConfig(max_words=3)).words == frequent.words[:3]


def test_words_that_differ_by_case_are_counted_together_where_case_is_forgotten(corpus: Corpus) -> None:
    counts = dict(corpus.questions("train").word_counts())
    most = counts["the"] + counts["The"]
    lower = choose_vocabulary(corpus, VocabularyConfig(lowercase=True, min_count=most))
    assert "the" in lower.words
    assert lower.lowercase
    assert all(word == word.lower() for word in lower.words)
    assert "the" not in choose_vocabulary(corpus, VocabularyConfig(min_count=most)).words


def test_first_weights_are_drawn_from_the_seed_alone(corpus: Corpus) -> None:
    torch.manual_seed(123)
    one = fresh_model(corpus, tiny("cbt-ne", "training.seed=5"), CPU)
    torch.rand(7)
    same = fresh_model(corpus, tiny("cbt-ne", "training.seed=5"), CPU)
    other = fresh_model(corpus, tiny("cbt-ne", "training.seed=6"), CPU)
    for name, weight in one.module.state_dict().items():
        assert torch.equal(weight, same.module.state_dict()[name])
    assert not torch.equal(one.module.embedding.weight, other.module.embedding.weight)
