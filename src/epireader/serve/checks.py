"""Whether a request is within the limits; what can be told before anything is read."""

from epireader.answer import Asked
from epireader.serve.errors import Refusal
from epireader.serve.schemas import Question
from epireader.serve.settings import ServeSettings


def checked_passage(passage: str) -> str:
    _refuse_nul(passage, "the passage")
    return passage


def checked_questions(questions: list[Question], settings: ServeSettings) -> tuple[Asked, ...]:
    """The questions as the reader takes them."""
    if len(questions) > settings.questions:
        raise Refusal(413, f"there are {len(questions):,} questions; at most {settings.questions:,} are taken at once")
    return tuple(_checked_question(question, settings) for question in questions)


def _checked_question(sent: Question, settings: ServeSettings) -> Asked:
    _refuse_nul(sent.question, "the question")
    _refuse_longer(sent.question, settings.question_characters, "the question")
    if sent.candidates is None:
        return Asked(sent.question)
    if len(sent.candidates) > settings.candidates:
        raise Refusal(413, f"there are {len(sent.candidates):,} candidates; at most {settings.candidates:,} are taken")
    for candidate in sent.candidates:
        _refuse_nul(candidate, "a candidate")
        _refuse_longer(candidate, settings.candidate_characters, "a candidate")
    return Asked(sent.question, tuple(sent.candidates))


def _refuse_nul(text: str, what: str) -> None:
    if "\0" in text:
        raise Refusal(422, f"{what} has a NUL character at place {text.index(chr(0))}; take it out")


def _refuse_longer(text: str, most: int, what: str) -> None:
    if len(text) > most:
        raise Refusal(413, f"{what} has {len(text):,} characters; at most {most:,} are taken")
