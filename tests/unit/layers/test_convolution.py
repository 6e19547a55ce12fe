"""Convolutions over sentences laid on one line: the same as over each sentence by itself."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cases import Case, Extra, batch_of_cases
from reference.reasoning import convolve
from reference.small import roughened
from reference.weights import weights_of
from torch import Tensor

from epireader.layers.convolution import Filters, lay_on_line, pool_sentences, window_sums, word_products
from epireader.layers.embedding import word_embedding

passages = st.lists(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=6), min_size=1, max_size=4), min_size=1)
extras = st.builds(Extra, words=st.integers(0, 4), sentences=st.integers(0, 3))


def pooled(texts: list[list[list[int]]], table: Tensor, filters: Filters, *, wide: bool, extra: Extra) -> Tensor:
    batch = batch_of_cases([Case(text, [1], [[1]], None) for text in texts], extra)
    line = lay_on_line(batch.passage, batch.sentence_of, batch.sentence_length, width=filters.width, wide=wide)
    values = window_sums(word_products(table[line.words], filters.weight)) + filters.bias
    return pool_sentences(values[:, :, None], line.window_sentence, batch.sentence_length.shape[1])[:, :, 0]


def filters_of(weight: list[list[list[float]]], bias: list[float]) -> Filters:
    """`weight[c][o][f]`."""
    filters = Filters(len(weight), len(weight[0]), len(bias))
    with torch.no_grad():
        filters.weight.copy_(torch.tensor(weight))
        filters.bias.copy_(torch.tensor(bias))
    return filters


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
@settings(max_examples=12)
@given(texts=passages, extra=extras, seed=st.integers(0, 1000), bias=st.sampled_from([-1.0, 0.0, 3.0]))
def test_the_line_agrees_with_a_convolution_over_each_sentence(
    width: int, wide: bool, texts: list[list[list[int]]], extra: Extra, seed: int, bias: float
) -> None:
    texts = texts[:3]
    filters = roughened(Filters(2, width, 3), seed)
    assert isinstance(filters, Filters)
    with torch.no_grad():
        filters.bias += bias
    table = roughened(word_embedding(6, 2), seed + 1).weight.detach().clone()
    table[0] = 0
    weights, vectors = weights_of(filters), table.tolist()
    result = pooled(texts, table, filters, wide=wide, extra=extra)
    for row, text in enumerate(texts):
        for place, sentence in enumerate(text):
            words = [vectors[word] for word in sentence]
            expected = convolve(words, weights["weight"], weights["bias"], wide=wide)
            assert result[row, place].tolist() == pytest.approx(expected)


def test_a_convolution_worked_by_hand() -> None:
    table = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    filters = filters_of([[[1.0, -1.0], [10.0, 1.0]]], [0.0, 0.5])
    # Word vectors 1, 2 and then 3; the first filter weighs (1, 10), the second (-1, 1) with a bias of 0.5.
    wide = pooled([[[1, 2], [3]]], table, filters, wide=True, extra=Extra())
    assert wide[0].tolist() == [[21.0, 1.5], [30.0, 3.5]]
    narrow = pooled([[[1, 2], [3]]], table, filters, wide=False, extra=Extra())
    assert narrow[0].tolist() == [[21.0, 1.5], [3.0, 0.0]]


def test_a_window_never_reaches_into_the_next_sentence() -> None:
    table = torch.tensor([[0.0], [1.0], [100.0]])
    filters = filters_of([[[1.0], [1.0], [1.0]]], [0.0])
    for wide in (True, False):
        result = pooled([[[1, 1], [2], [1]]], table, filters, wide=wide, extra=Extra(words=2, sentences=1))
        assert result[0, :3, 0].tolist() == [2.0, 100.0, 1.0]


@pytest.mark.parametrize("wide", [True, False])
def test_padding_never_wins_the_maximum_even_with_a_large_bias(wide: bool) -> None:
    table = torch.tensor([[0.0], [-3.0], [-4.0]])
    filters = filters_of([[[1.0]]], [10.0])
    result = pooled([[[1, 1], [2]], [[2]]], table, filters, wide=wide, extra=Extra(words=3, sentences=2))
    assert result[:, :2, 0].tolist() == [[7.0, 6.0], [6.0, 0.0]]


@pytest.mark.parametrize("wide", [True, False])
def test_a_sentence_that_only_pads_has_no_windows(wide: bool) -> None:
    table = torch.tensor([[0.0], [-3.0], [-4.0]])
    filters = filters_of([[[1.0], [1.0], [1.0]]], [10.0])
    result = pooled([[[1, 1], [2]], [[2]]], table, filters, wide=wide, extra=Extra(words=3, sentences=2))
    assert result[..., 0].tolist() == [[7.0 if wide else 4.0, 6.0, 0.0, 0.0], [6.0, 0.0, 0.0, 0.0]]


def test_a_filter_that_likes_nothing_gives_zero() -> None:
    table = torch.tensor([[0.0], [1.0]])
    assert pooled([[[1, 1]]], table, filters_of([[[-5.0]]], [0.0]), wide=True, extra=Extra()).tolist() == [[[0.0]]]


@settings(max_examples=15)
@given(texts=passages, extra=extras, width=st.sampled_from([1, 2, 3, 5]), wide=st.booleans())
def test_the_line_holds_every_word_once_in_order(
    texts: list[list[list[int]]], extra: Extra, width: int, wide: bool
) -> None:
    batch = batch_of_cases([Case(text, [1], [[1]], None) for text in texts], extra)
    line = lay_on_line(batch.passage, batch.sentence_of, batch.sentence_length, width=width, wide=wide)
    for row, text in enumerate(texts):
        assert [word for word in line.words[row].tolist() if word] == [word for sentence in text for word in sentence]
        counts = torch.bincount(line.window_sentence[row], minlength=len(text))[: len(text)].tolist()
        expected = [len(s) + width - 1 if wide else max(1, len(s) - width + 1) for s in text]
        assert counts == expected
