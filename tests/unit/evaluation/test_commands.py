"""The commands under the table."""

import pytest
from builders import result

from epireader.evaluation.commands import Command, commands_of
from epireader.evaluation.results import SHIPPED, Result, read_results


def given(*words: str) -> Result:
    return result(command=" ".join(("epireader reproduce", *words)))


@pytest.mark.parametrize(
    "text",
    [
        "epireader reproduce corpora/a --reader x --out results",
        "epireader reproduce corpora/a --reader x --seed 0 --seed 1 --ensemble --minutes 3 --out results",
        "epireader reproduce corpora/a --reader x --seed 0 --set 'a.b=\"c d\"' --minutes 3 --out results",
    ],
)
def test_a_command_is_taken_apart_and_put_together_again(text: str) -> None:
    assert str(Command.parsed(text)) == text


def test_what_differs_in_seed_reader_or_corpus_alone_is_one_command() -> None:
    rows = [
        given(f"corpora/{corpus} --reader {reader} --seed {seed} --out results")
        for corpus in "ab"
        for reader in "xy"
        for seed in (0, 10, 2)
    ]
    merged = "corpora/a corpora/b --reader x --reader y --seed 0 --seed 10 --seed 2 --out results"
    assert commands_of(rows) == [f"epireader reproduce {merged}"]


def test_the_command_of_an_ensemble_gives_its_members_too() -> None:
    singles = [given(f"corpora/{corpus} --reader x --seed {seed} --out r") for corpus in "ab" for seed in range(3)]
    several = [given(f"corpora/{corpus} --reader x --seed 0 --seed 1 --ensemble --out r") for corpus in "ab"]
    other = given("corpora/a --reader x --seed 1 --seed 2 --ensemble --out r")
    assert commands_of([*singles, *several]) == [
        "epireader reproduce corpora/a corpora/b --reader x --seed 2 --out r",
        "epireader reproduce corpora/a corpora/b --reader x --seed 0 --seed 1 --ensemble --out r",
    ]
    assert commands_of([several[0], other]) == [several[0].command, other.command], "not one ensemble of three"
    changed = given("corpora/a --reader x --seed 0 --set a.b=1 --out r")
    assert commands_of([changed, other]) == [changed.command, other.command]


def test_no_command_gives_a_row_that_is_not_there() -> None:
    rows = [
        given("corpora/a --reader x --seed 0 --out results"),
        given("corpora/a --reader y --seed 1 --out results"),
        given("corpora/b --reader x --seed 0 --set training.l2=1 --out results"),
        given("corpora/b --reader random --out results"),
    ]
    assert commands_of(rows) == [row.command for row in rows]


def test_a_command_of_another_kind_is_shown_as_it_is() -> None:
    assert commands_of([result(command="epireader train x"), given("corpora/a --reader x --out results")]) == [
        "epireader reproduce corpora/a --reader x --out results",
        "epireader train x",
    ]


def test_the_shipped_rows_come_from_the_commands_shown() -> None:
    shipped = read_results(SHIPPED)
    shown = commands_of(shipped)
    assert len(shown) < len(shipped)
    for row in shipped:
        assert "/tmp" not in row.command
        if row.command not in shown:
            command = Command.parsed(row.command)
            name = row.preset or row.reader
            assert any(f"{command.corpora[0]} " in line and f"--reader {name} " in line for line in shown)
