"""The fused convolutions must give what the plain ones do, and the same gradients.

They run on a GPU, or anywhere in Triton's interpreter (`TRITON_INTERPRET=1`).
"""

from collections.abc import Callable

import pytest
import torch
from kernels import DEVICE, somewhere_to_run
from torch import Tensor

from epireader.layers.convolution import SentenceFeatures, sentence_maxima
from epireader.readers.statements import fill_in, statement_maxima

pytestmark = somewhere_to_run

# Questions, sentences, words of the longest sentence, hypotheses, filters, words that a filter spans.
SENTENCES = [(1, 1, 1, 1, 1, 1), (3, 4, 7, 5, 16, 3), (2, 5, 70, 3, 5, 2), (2, 3, 4, 7, 33, 5)]
# Questions, words of the longest, hypotheses, words of the longest answer, filters, words that a filter spans.
STATEMENTS = [(1, 1, 1, 1, 1, 1), (4, 9, 5, 1, 16, 3), (3, 70, 3, 4, 5, 2), (2, 6, 7, 3, 33, 5)]


def sentences(size: tuple[int, ...]) -> tuple[list[Tensor], Tensor, Tensor]:
    """Features and weights, the sentence each word stands in, and the sentences' lengths: some are empty."""
    batch, count, longest, hyp, filters, width = size
    length = torch.randint(0, longest + 1, (batch, count)).sort(dim=1, descending=True).values
    length[0] = longest
    doc = count * longest + 2
    end = length.cumsum(dim=1)
    sentence_of = torch.searchsorted(end, torch.arange(doc).expand(batch, doc).contiguous(), right=True)
    weights = [torch.randn(2, width, filters), torch.randn(filters)]
    inside = (torch.arange(doc) < end[:, -1:]).float()
    products = torch.randn(batch, doc, width, filters) * inside[..., None, None]
    features = [products, torch.randn(batch, doc, hyp) * inside[..., None], torch.randn(batch, doc) * inside]
    return [tensor.to(DEVICE) for tensor in features + weights], sentence_of.to(DEVICE), length.to(DEVICE)


def statements(size: tuple[int, ...]) -> tuple[list[Tensor], Tensor, Tensor]:
    """Products and bias, the words of the questions, and those of the answers: some only pad."""
    batch, words, hyp, phrase, filters, width = size
    lengths = torch.randint(1, words + 1, (batch, 1))
    question = torch.where(torch.arange(words) < lengths, 5, 0)
    question.scatter_(1, torch.rand(batch, 1).mul(lengths).long(), 1)
    answers = torch.where(torch.arange(phrase) < torch.randint(0, phrase + 1, (batch, hyp, 1)), 7, 0)
    answers[:, 0, 0] = 7
    given = [torch.randn(batch, words, width, filters), torch.randn(batch, hyp, phrase, width, filters)]
    return [tensor.to(DEVICE) for tensor in [*given, torch.randn(filters)]], question.to(DEVICE), answers.to(DEVICE)


def plain_sentences(given: list[Tensor], sentence_of: Tensor, length: Tensor, *, wide: bool) -> Tensor:
    return sentence_maxima(SentenceFeatures(*given[:3]), *given[3:], sentence_of, length, wide=wide)


def fused_sentences(given: list[Tensor], _: Tensor, length: Tensor, *, wide: bool) -> Tensor:
    from epireader.layers.fused.sentences import fused_sentences

    return fused_sentences(*(tensor[None] for tensor in (*given, length)), wide=wide).squeeze(0)


def plain_statements(given: list[Tensor], question: Tensor, answers: Tensor, *, wide: bool) -> Tensor:
    return statement_maxima(*fill_in(*given[:2], question, answers), given[2], wide=wide)


def fused_statements(given: list[Tensor], question: Tensor, answers: Tensor, *, wide: bool) -> Tensor:
    from epireader.layers.fused.statements import fused_statements

    return fused_statements(*(tensor[None] for tensor in (*given, question, answers)), wide=wide).squeeze(0)


Pool = Callable[..., Tensor]
KINDS = [(sentences, size, plain_sentences, fused_sentences) for size in SENTENCES]
KINDS += [(statements, size, plain_statements, fused_statements) for size in STATEMENTS]


@pytest.fixture(autouse=True)
def _plain_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("epireader.layers.convolution.can_pool_fused", lambda *_: False)


@pytest.mark.parametrize(("precision", "within"), [(torch.float32, 1e-4), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize(("make", "size", "plain", "fused"), KINDS)
def test_fused_maxima_agree_with_the_plain_ones(
    make: Callable[..., tuple[list[Tensor], Tensor, Tensor]],
    size: tuple[int, ...],
    plain: Pool,
    fused: Pool,
    wide: bool,
    precision: torch.dtype,
    within: float,
) -> None:
    torch.manual_seed(0)
    given, *texts = make(size)
    given = [tensor.to(precision) for tensor in given]
    results = []
    for pool, dtype in ((plain, torch.float64), (fused, precision)):
        leaves = [tensor.to(dtype).requires_grad_() for tensor in given]
        pooled = pool(leaves, *texts, wide=wide)
        torch.manual_seed(1)
        grads = torch.autograd.grad((pooled * torch.randn(pooled.shape).to(pooled)).sum(), leaves)
        results.append([tensor.float() for tensor in (pooled, *grads)])
    assert results[0][0].any()
    for ours, theirs in zip(results[1], results[0], strict=True):
        assert (ours - theirs).norm() <= within * max(theirs.norm(), 1.0)
    if precision == torch.float32:  # in half precision sums that come near zero are all rounding
        torch.testing.assert_close(results[1], results[0], rtol=within, atol=within)


@pytest.mark.parametrize(("make", "size", "fused"), [(make, size, fused) for make, size, _, fused in KINDS[1::4]])
def test_readers_pool_together_as_each_alone(
    make: Callable[..., tuple[list[Tensor], Tensor, Tensor]], size: tuple[int, ...], fused: Pool
) -> None:
    torch.manual_seed(0)
    shared = make(size)[1:]
    given = [[tensor.requires_grad_() for tensor in make(size)[0]] for _ in range(3)]
    together = torch.func.vmap(lambda *tensors: fused(list(tensors), *shared, wide=True))(
        *(torch.stack(tensors) for tensors in zip(*given, strict=True))
    )
    together.square().sum().backward()
    for reader, tensors in enumerate(given):
        leaves = [tensor.detach().requires_grad_() for tensor in tensors]
        alone = fused(leaves, *shared, wide=True)
        alone.square().sum().backward()
        torch.testing.assert_close(together[reader], alone)
        for leaf, tensor in zip(leaves, tensors, strict=True):
            torch.testing.assert_close(tensor.grad, leaf.grad)
