"""The one matrix of word vectors."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from epireader.data.vocabulary import PAD_ID
from epireader.layers.embedding import each_word_once, look_up, word_embedding


def test_word_vectors_start_uniform_between_plus_and_minus_a_twentieth() -> None:
    weight = word_embedding(400, 50).weight.detach()[1:]
    assert -0.05 <= weight.min() < -0.0499
    assert 0.0499 < weight.max() <= 0.05
    assert abs(weight.mean().item()) < 0.001


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
    weights = [torch.randn_like(vectors) for vectors in together]
    grads = [
        torch.autograd.grad(
            sum((part * weight).sum() for part, weight in zip(parts, weights, strict=True)), embedding.weight
        )
        for parts in (together, [embedding(text) for text in texts])
    ]
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("learning", [True, False])
@settings(deadline=None, max_examples=25)
@given(rows=st.integers(1, 3), width=st.integers(1, 9), seed=st.integers(0, 1000))
def test_what_is_found_once_for_each_word_stands_wherever_the_word_does(
    learning: bool, rows: int, width: int, seed: int
) -> None:
    words = torch.randint(0, 4, (rows, width), generator=torch.Generator().manual_seed(seed))
    asked: list[int] = []

    def twice_and_sum(vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        asked.append(vectors.shape[0] * vectors.shape[1])
        return 2 * vectors, vectors.sum(dim=-1)

    vectors = torch.stack([words, 10 * words], dim=-1).float()
    with torch.set_grad_enabled(learning):
        doubled, added = each_word_once(twice_and_sum, vectors, words)
    assert torch.equal(doubled, 2 * vectors)
    assert torch.equal(added, 11.0 * words)
    once = len(set(words.flatten().tolist()))
    assert asked == [words.numel() if learning or rows > 1 else once]
