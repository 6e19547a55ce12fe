"""What the server refuses: a status and one sentence, `{"error": "..."}`, whatever went wrong and wherever."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from epireader.data.example import BadExample

LONGEST_SENTENCE = 300
OUR_FAULT = "something went wrong here; it has been written down"

_SENTENCES = {
    400: "the body is not JSON that can be read",
    404: "there is nothing at this address; /docs tells what there is",
    405: "this address does not answer that method; /docs tells which it does",
}
_PROBLEMS = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "string_type": "must be text",
    "string_unicode": "is not Unicode text: it holds half of a surrogate pair",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "model_attributes_type": "must be an object",
}


class Refusal(Exception):
    """A request that will not be answered: the status, and a sentence that says why and what would do."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = dict(headers or {})

    def response(self) -> Response:
        return error_response(self.status, self.sentence, self.headers)


def busy(sentence: str, headers: Mapping[str, str] | None = None) -> Refusal:
    """A refusal that holds for this moment only."""
    return Refusal(503, sentence, {"Retry-After": "1", **(headers or {})})


def shutting_down() -> Refusal:
    return busy("the server is shutting down")


def error_body(sentence: str) -> bytes:
    """The one shape of an error. It is ASCII, so that nothing in it can fail to be sent."""
    if len(sentence) > LONGEST_SENTENCE:
        sentence = sentence[:LONGEST_SENTENCE] + "..."
    return json.dumps({"error": sentence}).encode("ascii")


def error_response(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(error_body(sentence), status, headers, media_type="application/json")


def validation_sentence(problems: Sequence[Mapping[str, Any]]) -> str:
    """The first thing that is wrong with a request, in words."""
    first = problems[0]
    where, kind = first["loc"], first["type"]
    if kind == "json_invalid":
        return f"the body is not JSON: {first.get('ctx', {}).get('error', 'it cannot be read')}"
    place = ".".join(str(part) for part in where if part != "body") or "the body"
    return f"{place} {_PROBLEMS.get(kind) or 'is not accepted: ' + str(first['msg'])}"


def answer_errors(app: FastAPI) -> None:
    """Give every kind of error its one shape."""

    def refusal(_: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        return error.response()

    def bad_example(_: Request, error: Exception) -> Response:
        assert isinstance(error, BadExample)
        return error_response(422, error.reason)

    def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return error_response(422, validation_sentence(error.errors()))

    def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentence = _SENTENCES.get(error.status_code, HTTPStatus(error.status_code).phrase)
        return error_response(error.status_code, sentence, error.headers)

    app.add_exception_handler(Refusal, refusal)
    app.add_exception_handler(BadExample, bad_example)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
