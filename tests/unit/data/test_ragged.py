"""Rows of different lengths in one array."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from epireader.data.ragged import Ragged

Rows = list[list[int]]
some_rows = st.lists(st.lists(st.integers(1, 99), max_size=5), min_size=1, max_size=6).filter(any)


def ragged(rows: Rows) -> Ragged:
    values = torch.tensor([value for row in rows for value in row], dtype=torch.int32)
    return Ragged.from_lengths(values, torch.tensor([len(row) for row in rows], dtype=torch.int32))


def take_by_hand(rows: Rows, asked: list[int], present: list[bool], width: int) -> tuple[Rows, list[list[bool]]]:
    taken, mask = [], []
    for number, there in zip(asked, present, strict=True):
        row = rows[number][:width] if there else []
        taken.append(row + [0] * (width - len(row)))
        mask.append([True] * len(row) + [False] * (width - len(row)))
    return taken, mask


@given(rows=some_rows)
def test_every_row_comes_back_as_it_was_put_in(rows: Rows) -> None:
    table = ragged(rows)
    assert len(table) == len(rows)
    assert [table.row(n).tolist() for n in range(len(rows))] == rows
    assert table.lengths.tolist() == [len(row) for row in rows]


@given(rows=some_rows, width=st.integers(0, 7), data=st.data())
def test_take_agrees_with_the_definition_at_any_width(rows: Rows, width: int, data: st.DataObject) -> None:
    asked = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=6))
    present = data.draw(st.lists(st.booleans(), min_size=len(asked), max_size=len(asked)))
    values, mask = ragged(rows).take(torch.tensor(asked), width, torch.tensor(present))
    assert (values.tolist(), mask.tolist()) == take_by_hand(rows, asked, present, width)


@given(rows=some_rows, width=st.integers(1, 7), data=st.data())
def test_take_of_a_table_of_rows_is_take_of_each_of_its_lines(rows: Rows, width: int, data: st.DataObject) -> None:
    asked = data.draw(st.lists(st.lists(st.integers(0, len(rows) - 1), min_size=3, max_size=3), min_size=1, max_size=3))
    present = torch.tensor([[True, False, True]]).expand(len(asked), 3)
    table = ragged(rows)
    values, mask = table.take(torch.tensor(asked), width, present)
    for line, numbers in enumerate(asked):
        expected, expected_mask = table.take(torch.tensor(numbers), width, present[line])
        assert torch.equal(values[line], expected)
        assert torch.equal(mask[line], expected_mask)


def test_a_row_that_is_not_present_may_have_any_number() -> None:
    values, mask = ragged([[1, 2], [3]]).take(torch.tensor([99, 1]), 2, torch.tensor([False, True]))
    assert values.tolist() == [[0, 0], [3, 0]]
    assert mask.tolist() == [[False, False], [True, False]]


def test_offsets_do_not_overflow_where_values_are_many() -> None:
    table = Ragged.from_lengths(torch.zeros(0, dtype=torch.int32), torch.tensor([2**31 - 1, 5], dtype=torch.int32))
    assert table.offsets.tolist() == [0, 2**31 - 1, 2**31 + 4]
