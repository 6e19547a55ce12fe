"""Whether a request is within the limits; what can be told before anything is read."""

import re

from epireader.answer import Asked
from epireader.serve.errors import Refusal
from epireader.serve.schemas import Question
from epireader.serve.settings import ServeSettings

_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


def checked_passage(passage: str, settings: ServeSettings) -> str:
    _check(passage, settings.characters, "the passage")
    return passage


def checked_questions(questions: list[Question], settings: ServeSettings) -> tuple[Asked, ...]:
    """The questions as the reader takes them."""
    if len(questions) > settings.questions:
        raise Refusal(413, f"there are {len(questions):,} questions; at most {settings.questions:,} are taken at once")
    return tuple(_checked_question(question, settings) for question in questions)


def _checked_question(sent: Question, settings: ServeSettings) -> Asked:
    _check(sent.question, settings.question_characters, "the question")
    if sent.candidates is None:
        return Asked(sent.question)
    if len(sent.candidates) > settings.candidates:
        raise Refusal(413, f"there are {len(sent.candidates):,} candidates; at most {settings.candidates:,} are taken")
    for candidate in sent.candidates:
        _check(candidate, settings.candidate_characters, "a candidate")
    return Asked(sent.question, tuple(sent.candidates))


def _check(text: str, most: int, what: str) -> None:
    if len(text) > most:
        raise Refusal(413, f"{what} has {len(text):,} characters; at most {most:,} are taken")
    if found := _NOT_TEXT.search(text):
        name = "a NUL character" if found[0] == "\0" else "half of a surrogate pair"
        raise Refusal(422, f"{what} has {name} at place {found.start()}; take it out")
