"""Products of many rows with one small matrix."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import vmap

from epireader.layers import products
from epireader.layers.products import ManyRowsLinear, parts_of, summed_products

small = st.integers(1, 5)


@pytest.fixture(autouse=True)
def _few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "MANY_ROWS", 64)


def summed_by_hand(left: Tensor, right: Tensor) -> Tensor:
    total = torch.zeros(left.shape[1], right.shape[1], dtype=left.dtype)
    for one, other in zip(left, right, strict=True):
        total += torch.outer(one, other)
    return total


@settings(max_examples=40)
@given(many=st.integers(1, 3), rows=st.integers(1, 200), m=small, n=small, seed=st.integers(0, 999))
def test_products_summed_in_parts_are_those_summed_row_by_row(many: int, rows: int, m: int, n: int, seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    left, right = (torch.randn(many, rows, 2, size, generator=random, dtype=torch.double)[:, :, 1] for size in (m, n))
    for found, one, other in zip(summed_products(left, right), left, right, strict=True):
        torch.testing.assert_close(found, summed_by_hand(one, other))


@pytest.mark.parametrize(("rows", "parts"), [(64, 32), (128, 32), (96, 32), (63, 1), (10, 2), (2, 1), (7, 1)])
def test_rows_are_shared_out_evenly_or_not_at_all(rows: int, parts: int) -> None:
    assert parts_of(rows) == parts


@settings(max_examples=30)
@given(readers=st.integers(1, 3), batch=small, words=st.integers(1, 40), seed=st.integers(0, 999), biased=st.booleans())
def test_gradients_are_those_of_the_plain_product_for_one_reader_and_for_several(
    readers: int, batch: int, words: int, seed: int, biased: bool
) -> None:
    random = torch.Generator().manual_seed(seed)
    shapes = [(readers, batch, words, 4), (readers, 3, 4), *([(readers, 3)] if biased else [])]
    given_ = [torch.randn(shape, generator=random, dtype=torch.double, requires_grad=True) for shape in shapes]

    def ours(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return ManyRowsLinear.apply(rows, weight, bias)  # type: ignore[no-any-return, no-untyped-call]

    for wrapped in (vmap(ours), lambda *tensors: torch.stack([ours(*each) for each in zip(*tensors, strict=True)])):
        expected = vmap(torch.nn.functional.linear)(*given_)
        found = wrapped(*given_)
        torch.testing.assert_close(found, expected)
        grads, wanted = (torch.autograd.grad(values.sin().sum(), given_) for values in (found, expected))
        for one, other in zip(grads, wanted, strict=True):
            torch.testing.assert_close(one, other)


def test_nothing_is_computed_for_what_is_not_learnt() -> None:
    rows, weight = torch.randn(80, 4), torch.randn(3, 4, requires_grad=True)
    ManyRowsLinear.apply(rows, weight, None).sum().backward()  # type: ignore[no-untyped-call]
    assert rows.grad is None
    torch.testing.assert_close(weight.grad, rows.sum(dim=0).expand(3, 4))
