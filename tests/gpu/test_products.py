"""Products of many rows on the device, where their gradients are summed in parts."""

import pytest
import torch
from kernels import DEVICE, somewhere_to_run
from torch.func import vmap
from torch.nn.functional import linear

from epireader.layers.products import MANY_ROWS, many_rows_linear


@somewhere_to_run
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("readers", [1, 3])
def test_many_rows_agree_with_the_plain_product_in_double_precision(readers: int, biased: bool) -> None:
    drawn = torch.Generator().manual_seed(0)
    shapes = [(readers, 4, MANY_ROWS // 4, 6), (readers, 5, 6), *([(readers, 5)] if biased else [])]
    given = [torch.randn(shape, generator=drawn).to(DEVICE).requires_grad_() for shape in shapes]
    expected = vmap(linear)(*(tensor.double() for tensor in given))
    found = vmap(many_rows_linear)(*given)
    torch.testing.assert_close(found, expected.float(), atol=1e-2, rtol=1e-2)
    for one, other in zip(
        *(torch.autograd.grad(values.square().mean(), given) for values in (found, expected)), strict=True
    ):
        torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-2)
