"""The Reasoner: the matrix M, both convolutions, equation 3, and the evidence gathered over the sentences."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cases import PLACEHOLDER, Case, Extra, batch_of_cases
from reference.reasoning import evidence_by_sentence, hypothesis, match_matrix
from reference.small import hard_cases, roughened
from reference.weights import weights_of
from torch import nn

from epireader.layers.convolution import word_products
from epireader.layers.embedding import look_up, mean_vector, word_embedding
from epireader.readers.alone import whole_maxima
from epireader.readers.reading import Masks
from epireader.readers.reasoner import Entailment, Reasoner, Vectors, match_features
from epireader.readers.statements import fill_in, fill_in_word, statement_maxima, window_counts

seeds = st.integers(0, 10_000)
extras = st.builds(Extra, *[st.integers(0, 2)] * 5)


def reasoner(seed: int = 0, *, width: int = 3, wide: bool = True, bias: float = 0.0) -> Reasoner:
    module = roughened(Reasoner(embedding_dim=3, filters=3, width=width, hidden_dim=2, wide=wide), seed)
    assert isinstance(module, Reasoner)
    with torch.no_grad():
        module.sentence_filters.bias += bias
        module.hypothesis_filters.bias += bias
    return module


def vectors(seed: int = 0) -> nn.Embedding:
    embedding = roughened(word_embedding(20, 3), seed + 1)
    assert isinstance(embedding, nn.Embedding)
    with torch.no_grad():
        embedding.weight[0] = 0
    return embedding


def weigh(module: Reasoner, embedding: nn.Embedding, cases: list[Case], extra: Extra = Extra()) -> Entailment:  # noqa: B008
    """Every candidate as a hypothesis."""
    batch = batch_of_cases(cases, extra)
    words = Vectors(*look_up(embedding, batch.passage, batch.question, batch.candidates))
    return module(words, batch, batch.candidates, Masks.of(batch, None))


def weigh_on_line(module: Reasoner, embedding: nn.Embedding, case: Case, extra: Extra, questions: int) -> Entailment:
    """The same for one passage that is laid out before the question, which is asked several times, is known."""
    line = module.lay_out(embedding, batch_of_cases([case], extra))
    batch = batch_of_cases([case] * questions, extra)
    words = Vectors(None, *look_up(embedding, batch.question, batch.candidates))
    masks = Masks.of(batch, None if extra.sentences or extra.question else line)
    return module(words, batch, batch.candidates, masks, line)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
@settings(max_examples=6)
@given(seed=seeds, count=st.integers(1, 3), extra=extras, bias=st.sampled_from([-1.0, 0.0, 2.0]))
def test_the_reasoner_agrees_with_the_definition(
    width: int, wide: bool, seed: int, count: int, extra: Extra, bias: float
) -> None:
    module, embedding = reasoner(seed, width=width, wide=wide, bias=bias), vectors(seed)
    cases = hard_cases(seed, count)
    fast = weigh(module, embedding, cases, extra)
    for row, case in enumerate(cases):
        assert_as_defined(module, embedding, case, fast, row)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
@settings(max_examples=6)
@given(
    seed=seeds,
    questions=st.integers(1, 3),
    phrase=st.integers(1, 3),
    extra=st.just(Extra()) | extras,
    bias=st.sampled_from([-1.0, 0.0, 2.0]),
)
def test_a_passage_laid_out_before_the_question_is_known_is_weighed_as_defined(
    width: int, wide: bool, seed: int, questions: int, phrase: int, extra: Extra, bias: float
) -> None:
    module, embedding = reasoner(seed, width=width, wide=wide, bias=bias), vectors(seed)
    (case,) = hard_cases(seed, 1)
    case = replace(case, candidates=[words[:phrase] for words in case.candidates])
    with torch.inference_mode():
        fast = weigh_on_line(module, embedding, case, extra, questions)
    for row in range(questions):
        assert_as_defined(module, embedding, case, fast, row)


@pytest.mark.parametrize("questions", [1, 2])
def test_a_question_that_is_nothing_but_its_blank_is_weighed_as_defined(questions: int) -> None:
    module, embedding = reasoner(3), vectors(3)
    case = replace(hard_cases(3, 1)[0], question=[PLACEHOLDER])
    with torch.inference_mode():
        fast = weigh_on_line(module, embedding, case, Extra(), questions)
    for row in range(questions):
        assert_as_defined(module, embedding, case, fast, row)


def assert_as_defined(module: Reasoner, embedding: nn.Embedding, case: Case, fast: Entailment, row: int) -> None:
    weights, table = weights_of(module), embedding.weight.tolist()
    for number, candidate in enumerate(case.candidates):
        expected = evidence_by_sentence(
            weights,
            [[table[word] for word in sentence] for sentence in case.sentences],
            [table[word] for word in hypothesis(case.question, PLACEHOLDER, candidate)],
            [table[word] for word in candidate],
            [table[word] for word in case.question if word != PLACEHOLDER],
            wide=module.wide,
        )
        assert fast.scores[row, number].item() == pytest.approx(expected[-1])
        assert fast.by_sentence[row, number, : len(expected)].tolist() == pytest.approx(expected)


@settings(max_examples=25)
@given(seed=seeds, width=st.integers(1, 4), wide=st.booleans())
def test_answers_of_one_word_are_filled_in_as_all_others_are(seed: int, width: int, wide: bool) -> None:
    filters, embedding = reasoner(seed, width=width).hypothesis_filters, vectors(seed)
    draw = torch.Generator().manual_seed(seed)
    question = torch.randint(2, 20, (2, 5), generator=draw)
    question[0, 3:], question[0, 1], question[1, 4] = 0, PLACEHOLDER, PLACEHOLDER
    answers = torch.randint(2, 20, (2, 3, 1), generator=draw)
    given_words = [word_products(embedding(words), filters.weight) for words in (question, answers)]
    lengths = (question != 0).sum(dim=1, keepdim=True)
    ways = [fill_in(*given_words, question, answers), (fill_in_word(*given_words, question), lengths)]
    torch.testing.assert_close(*(statement_maxima(*filled, filters.bias, wide=wide) for filled in ways))


@settings(max_examples=25)
@given(seed=seeds, words=st.integers(1, 6), width=st.integers(1, 5), wide=st.booleans())
def test_statements_without_padding_need_no_lengths(seed: int, words: int, width: int, wide: bool) -> None:
    draw = torch.Generator().manual_seed(seed)
    products, bias = torch.randn(3, words, width, 4, generator=draw), torch.randn(4, generator=draw)
    between_empty_slots = nn.functional.pad(products, (0, 0, 0, 0, width - 1, width - 1))
    expected = statement_maxima(products[None], torch.full((1, 1), words), bias, wide=wide)[0]
    torch.testing.assert_close(whole_maxima(between_empty_slots, bias, wide=wide), expected)


@settings(max_examples=25)
@given(seed=seeds, count=st.integers(1, 3), extra=extras)
def test_both_rows_of_the_matrix_M_agree_with_the_definition(seed: int, count: int, extra: Extra) -> None:
    cases, embedding = hard_cases(seed, count), vectors(seed)
    batch, table = batch_of_cases(cases, extra), embedding.weight.tolist()
    answers = mean_vector(embedding(batch.candidates), batch.candidates)
    to_answer, to_question = match_features(
        embedding(batch.passage), answers, embedding(batch.question), batch.words_asked
    )
    for row, case in enumerate(cases):
        question = [table[word] for word in case.question if word != PLACEHOLDER]
        passage = [table[word] for word in case.passage]
        for number, candidate in enumerate(case.candidates):
            first, second = match_matrix(passage, [table[word] for word in candidate], question)
            assert to_answer[row, : len(passage), number].tolist() == pytest.approx(first)
            assert to_question[row, : len(passage)].tolist() == pytest.approx(second)


def test_the_matrix_M_worked_by_hand() -> None:
    words = torch.tensor([[[1.0, 0.0], [-1.0, 2.0]]])
    answers = torch.tensor([[[3.0, 1.0]]])
    # The blank and the padding of the question would win every maximum, if they could.
    question = torch.tensor([[[0.0, -1.0], [-1.0, -1.0], [50.0, 50.0], [90.0, 90.0]]])
    mask = batch_of_cases([Case([[5]], [7, 8, PLACEHOLDER], [[5]], 0)], Extra(question=1)).words_asked
    to_answer, to_question = match_features(words, answers, question, mask)
    assert to_answer.tolist() == [[[3.0], [-1.0]]]
    assert to_question.tolist() == [[0.0, -1.0]]


def test_the_largest_inner_product_with_the_question_may_be_negative() -> None:
    _, to_question = match_features(
        torch.tensor([[[1.0]]]), torch.tensor([[[1.0]]]), torch.tensor([[[-2.0], [0.0]]]), torch.tensor([[True, False]])
    )
    assert to_question.tolist() == [[-2.0]]


def test_a_phrase_is_the_mean_of_its_words_vectors() -> None:
    words = torch.tensor([[[[1.0, 2.0], [3.0, 6.0], [99.0, 99.0]], [[5.0, 5.0], [99.0, 99.0], [99.0, 99.0]]]])
    ids = torch.tensor([[[7, 8, 0], [9, 0, 0]]])
    assert mean_vector(words, ids).tolist() == [[[2.0, 4.0], [5.0, 5.0]]]


def test_one_hypothesis_worked_by_hand() -> None:
    # One sentence "a b" with vectors 1 and 2, question "b ___", candidate "a"; filters one word wide.
    module = Reasoner(embedding_dim=1, filters=1, width=1, hidden_dim=1)
    embedding = word_embedding(4, 1)
    with torch.no_grad():
        embedding.weight.copy_(torch.tensor([[0.0], [70.0], [1.0], [2.0]]))
        module.sentence_filters.weight.copy_(torch.tensor([1.0, 10.0, 100.0]).view(3, 1, 1))
        module.hypothesis_filters.weight.fill_(3.0)
        module.sentence_filters.bias.fill_(0.5)
        module.hypothesis_filters.bias.fill_(-1.0)
        module.similarity.fill_(0.01)
        for parameter in module.synthesis.parameters():
            parameter.zero_()
        module.synthesis.recurrence.weight_ih_l0[2] = torch.tensor([0.01, 0.001, 0.1])
        module.evidence.weight.fill_(2.0)
    # a: 1 + 10 (1 * 1) + 100 (1 * 2) + 0.5 = 211.5.  b: 2 + 10 (2 * 1) + 100 (2 * 2) + 0.5 = 422.5.
    # Hypothesis "b a": 3 * 2 - 1 = 5.  Similarity: 422.5 * 0.01 * 5 = 21.125.
    inner = 0.01 * 21.125 + 0.001 * 422.5 + 0.1 * 5
    expected = 2 * 0.5 * torch.tanh(torch.tensor(inner)).item()
    assert weigh(module, embedding, [Case([[2, 3]], [3, 1], [[2]], 0)]).scores.item() == pytest.approx(expected)
    assert expected == pytest.approx(0.8123, abs=1e-4)


def test_the_order_of_sentences_matters() -> None:
    module, embedding = reasoner(), vectors()
    sentences = [[5, 6], [7, 8, 9], [10]]
    cases = [Case(order, [11, 1], [[5], [8]], 0) for order in (sentences, sentences[::-1], [*sentences[1:], [5, 6]])]
    scores = weigh(module, embedding, cases).scores
    assert len(set(scores[:, 0].tolist())) == 3
    assert len(set(scores[:, 1].tolist())) == 3


def test_what_comes_later_does_not_change_the_evidence_so_far() -> None:
    module, embedding = reasoner(), vectors()
    cases = [Case([[5, 6], [7], last], [11, 1], [[5], [8]], 0) for last in ([8, 9], [10])]
    by_sentence = weigh(module, embedding, cases).by_sentence
    torch.testing.assert_close(by_sentence[0, :, :2], by_sentence[1, :, :2])
    assert (by_sentence[0, :, 2] != by_sentence[1, :, 2]).all()


def test_where_a_sentence_ends_matters() -> None:
    cases = [Case(sentences, [11, 1], [[5]], 0) for sentences in ([[5, 6, 7, 8]], [[5, 6], [7, 8]])]
    scores = weigh(reasoner(), vectors(), cases).scores
    assert scores[0, 0] != scores[1, 0]


@pytest.mark.parametrize("bias", [0.0, 5.0])
def test_a_hypothesis_is_scored_the_same_beside_longer_ones(bias: float) -> None:
    module, embedding = reasoner(bias=bias), vectors()
    alone = Case([[5, 6], [7]], [11, 1], [[5]], 0)
    beside = Case([[5, 6], [7]], [11, 1], [[5], [6, 7, 5, 6, 7, 8, 9]], 0)
    expected = weigh(module, embedding, [alone]).scores[0, 0]
    torch.testing.assert_close(weigh(module, embedding, [beside]).scores[0, 0], expected)


def test_every_window_that_touches_a_sequence_counts_and_for_a_narrow_filter_every_one_within() -> None:
    length = torch.tensor([[1, 2, 4]])
    wide = window_counts(length, 8, width=3, wide=True)
    assert wide[0].int().tolist() == [[1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 0, 0]]
    narrow = window_counts(length, 8, width=3, wide=False)
    assert narrow[0].int().tolist() == [[0, 0, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0]]
