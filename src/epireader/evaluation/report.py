"""Everything a report tells, as plain values; `plots` draws them and `report_page` writes them down."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from epireader.data.questions import Questions
from epireader.evaluation.accuracy import Evaluation, evaluate, right_answers
from epireader.evaluation.breakdown import Breakdown, break_down, traits_of
from epireader.evaluation.compare import mcnemar
from epireader.evaluation.curves import Curve
from epireader.evaluation.examples import Showcase, ShownQuestion
from epireader.evaluation.predict import Predictions, predict
from epireader.evaluation.rerankings import corrections, spoilings
from epireader.readers.saved import Model


@dataclass(frozen=True)
class RunReport:
    """What is told of one reader."""

    name: str
    reader: str
    reranks: bool
    """Whether it has a Reasoner: otherwise nothing is told of one."""
    curve: Curve | None
    evaluation: Evaluation
    right_first: np.ndarray
    right_final: np.ndarray
    corrections: tuple[ShownQuestion, ...] = ()
    spoilings: tuple[ShownQuestion, ...] = ()

    @property
    def p_value(self) -> float:
        """How likely corrections and spoilings are so uneven if reranking does nothing."""
        return mcnemar(self.evaluation.corrected, self.evaluation.spoiled)


@dataclass(frozen=True)
class Report:
    """Some readers on the same questions."""

    asked: str
    """What the questions are called."""
    runs: tuple[RunReport, ...]
    by_length: Breakdown
    by_mentions: Breakdown
    by_distance: Breakdown

    @property
    def questions(self) -> int:
        return self.runs[0].evaluation.questions


def build_report(asked: str, questions: Questions, runs: Sequence[RunReport]) -> Report:
    """Put what is told of the readers beside what the questions are like."""
    traits = traits_of(questions)
    return Report(
        asked=asked,
        runs=tuple(runs),
        by_length=break_down(traits.passage_words),
        by_mentions=break_down(traits.mentions),
        by_distance=break_down(traits.distance),
    )


def report_run(
    name: str,
    members: Sequence[Model],
    questions: Questions,
    *,
    curve: Curve | None = None,
    examples: int = 3,
    device: torch.device | str = "cpu",
    on_questions: Callable[[int], None] | None = None,
) -> RunReport:
    """Ask a reader, or several that vote, all of the questions. `curve` tells how it learnt, if that is known."""
    said = predict(members, questions, device=device, on_questions=on_questions)
    corrected, spoiled = _examples(members, questions, said, examples, device)
    return RunReport(
        name=name,
        reader=_reader(members),
        reranks=said.evidence is not None,
        curve=curve,
        evaluation=evaluate(said, most=members[0].hypotheses),
        right_first=right_answers(said, said.first),
        right_final=right_answers(said, said.final),
        corrections=corrected,
        spoilings=spoiled,
    )


def _examples(
    members: Sequence[Model], questions: Questions, said: Predictions, most: int, device: torch.device | str
) -> tuple[tuple[ShownQuestion, ...], tuple[ShownQuestion, ...]]:
    if said.evidence is None or not most:
        return (), ()
    showcase = Showcase(members, questions, said, device)
    return (
        tuple(showcase.show(one, corrected=True) for one in corrections(said)[:most]),
        tuple(showcase.show(one, corrected=False) for one in spoilings(said)[:most]),
    )


def _reader(members: Sequence[Model]) -> str:
    kinds = ", ".join(dict.fromkeys(member.reader for member in members))
    return kinds if len(members) == 1 else f"ensemble of {len(members)}: {kinds}"


def short_names(names: Sequence[str]) -> list[str]:
    """What runs are called: the last part of their paths, with as many parts before it as tell them apart."""
    parts = [(Path(name).resolve() if name.strip("./") == "" else Path(name)).parts or (name,) for name in names]
    for count in range(1, max(map(len, parts)) + 1):
        short = ["/".join(part[-count:]) for part in parts]
        if len(set(short)) == len(names):
            return short
    return list(names)
