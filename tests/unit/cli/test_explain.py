"""`cli/explain.py` and `cli/batch.py`: what is shown of an answer, and what a script gets of it."""

from dataclasses import replace

from rich.console import Console

from epireader.answer import Answer
from epireader.cli.batch import answer_record
from epireader.cli.explain import hypothesis_table

SURE = Answer(
    text="@entity128", p=0.5, e=0.25, pi=0.75, mentions=(), attention=None, evidence=(1.0, 2.0),
    fits_blank=0.5, read_again=1.234,
)  # fmt: skip
UNSURE = replace(SURE, text="@entity12", read_again=0.0)


def shown(*answers: Answer) -> list[str]:
    console = Console(width=80)
    with console.capture() as capture:
        console.print(hypothesis_table(list(answers)))
    return capture.get().splitlines()


def test_all_that_is_known_of_a_hypothesis_stands_on_a_line_of_80_characters() -> None:
    *_, sure, unsure = shown(SURE, UNSURE)
    assert sure.split()[0] == "@entity128"
    assert sure.split()[-2:] == ["+0.50", "+1.23"]
    assert unsure.split()[0] == "@entity12"
    assert unsure.split()[-2:] == ["+0.50", "-"], "it was not read again for this one"


def test_only_what_the_reader_asks_is_shown_and_given_to_scripts() -> None:
    plain = replace(SURE, fits_blank=None, read_again=None)
    assert "again" not in " ".join(shown(plain))
    assert not {"fits_blank", "read_again"} & answer_record(plain).keys()
    assert answer_record(UNSURE)["read_again"] == 0.0
    assert answer_record(SURE)["read_again"] == 1.234
