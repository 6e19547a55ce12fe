"""The one matrix of word vectors."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from epireader.data.vocabulary import PAD_ID
from epireader.layers.embedding import each_once, look_up, vectors_of, word_embedding


def test_word_vectors_start_uniform_between_plus_and_minus_a_twentieth() -> None:
    weight = word_embedding(400, 50).weight.detach()[1:]
    assert -0.05 <= weight.min() < -0.0499
    assert 0.0499 < weight.max() <= 0.05
    assert abs(weight.mean().item()) < 0.001


def test_word_vectors_can_start_in_another_range() -> None:
    weight = word_embedding(400, 50, 0.1).weight.detach()[1:]
    assert -0.1 <= weight.min() < -0.0998
    assert 0.0998 < weight.max() <= 0.1


def test_padding_is_the_zero_vector_and_training_leaves_it_so() -> None:
    embedding = word_embedding(5, 3)
    optimizer = torch.optim.Adam(embedding.parameters(), lr=0.1)
    (embedding(torch.tensor([PAD_ID, 2])) - 1).square().sum().backward()
    optimizer.step()
    assert not embedding.weight[PAD_ID].any()
    assert embedding.weight[2].all()


def test_texts_looked_up_together_are_what_each_is_alone() -> None:
    embedding = word_embedding(9, 3)
    texts = [torch.randint(0, 9, shape) for shape in ((2, 5), (2, 1), (2, 3, 4))]
    together = look_up(embedding, *texts)
    for vectors, text in zip(together, texts, strict=True):
        assert torch.equal(vectors, embedding(text))
        assert torch.equal(vectors, vectors_of(embedding, text))
    weights = [torch.randn_like(vectors) for vectors in together]
    grads = [
        torch.autograd.grad(
            sum((part * weight).sum() for part, weight in zip(parts, weights, strict=True)), embedding.weight
        )
        for parts in (together, [embedding(text) for text in texts])
    ]
    torch.testing.assert_close(*grads)


@settings(max_examples=25)
@given(width=st.integers(1, 9), seed=st.integers(0, 1000))
def test_each_word_is_found_once_and_where_it_stands(width: int, seed: int) -> None:
    words = torch.randint(0, 4, (width,), generator=torch.Generator().manual_seed(seed))
    once = each_once(words)
    distinct = words[once.stands]
    assert sorted(distinct.tolist()) == sorted(set(words.tolist()))
    assert torch.equal(distinct[once.which], words)
