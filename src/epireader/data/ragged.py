"""Rows of different lengths in one flat array: the form in which a corpus lies on disk and on a device."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Int, Integer
from torch import Tensor


@dataclass(frozen=True)
class Ragged:
    """Row r is `values[offsets[r]:offsets[r + 1]]`."""

    values: Int[Tensor, " values"]
    offsets: Int[Tensor, " rows_and_one"]

    @classmethod
    def from_lengths(cls, values: Int[Tensor, " values"], lengths: Int[Tensor, " rows"]) -> "Ragged":
        offsets = torch.zeros(len(lengths) + 1, dtype=torch.int64)
        torch.cumsum(lengths, dim=0, out=offsets[1:])
        return cls(values, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Int[Tensor, " rows"]:
        return self.offsets.diff()

    def row(self, number: int) -> Int[Tensor, " row"]:
        return self.values[int(self.offsets[number]) : int(self.offsets[number + 1])]

    def to(self, device: torch.device) -> "Ragged":
        return Ragged(self.values.to(device), self.offsets.to(device))

    def take(
        self, rows: Int[Tensor, "*shape"], width: int, present: Bool[Tensor, "*shape"] | None = None
    ) -> tuple[Int[Tensor, "*shape {width}"], Bool[Tensor, "*shape {width}"]]:
        """The rows asked for side by side, and a mask that is True where there is a value.

        A row that is not `present` comes out empty (None: all are there); rows longer than `width` are cut.
        """
        rows = rows if present is None else rows * present
        length = self.lengths[rows]
        return runs(self.values, self.offsets[rows], length if present is None else length * present, width)


def runs(
    values: Integer[Tensor, " values"], start: Int[Tensor, "*shape"], length: Int[Tensor, "*shape"], width: int
) -> tuple[Integer[Tensor, "*shape {width}"], Bool[Tensor, "*shape {width}"]]:
    """The values from each `start` on side by side, and a mask that is True where there is one; the rest is 0."""
    columns = torch.arange(width, device=values.device)
    mask = columns < length[..., None]
    return values[(start[..., None] + columns) * mask] * mask, mask
