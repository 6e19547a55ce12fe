"""The server: `create_app(settings)` makes the ASGI app that `epireader serve` runs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import torch
from fastapi import FastAPI, Response
from fastapi.responses import FileResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles

from epireader import __version__
from epireader.answer import Reader
from epireader.serve.batching import Batcher, Closed, QueueFull
from epireader.serve.checks import checked_passage, checked_questions
from epireader.serve.desk import Desk, Task, load_readers
from epireader.serve.errors import Refusal, answer_errors, busy, shutting_down
from epireader.serve.guard import Guard
from epireader.serve.metrics import Metrics
from epireader.serve.schemas import (
    AnswerRequest,
    AnswerResponse,
    AnswersRequest,
    AnswersResponse,
    ErrorBody,
    Health,
    ModelBody,
    ModelsResponse,
    ReadRequest,
    ReadResponse,
    StoriesResponse,
    StoryBody,
)
from epireader.serve.settings import ServeSettings
from epireader.stories import bundled_stories, story_questions

PAGE = Path(__file__).parent / "page"
DESCRIPTION = "Finds the missing word: a passage and a question with a blank in, answers with their evidence out."
_REFUSALS = {
    400: "Not JSON.",
    408: "The body took too long.",
    413: "More than is taken at once.",
    415: "Not sent as JSON.",
    422: "Cannot be read.",
    503: "Too busy; Retry-After says when to come back.",
}
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": text} for status, text in _REFUSALS.items()
}
_CACHED = {"Cache-Control": "no-cache"}

Work = Batcher[Task, bytes]


def create_app(settings: ServeSettings | None = None, readers: Mapping[str, Reader] | None = None) -> FastAPI:
    """The app, with its models loaded. `readers` are models that are at hand already."""
    settings = settings or ServeSettings()
    torch.set_num_threads(settings.threads)
    readers = readers if readers is not None else load_readers(settings.models)
    metrics = Metrics()
    desk = Desk(readers, settings, metrics)
    work: Work = Batcher(desk.answer_all, length=settings.queue, at_once=settings.batch)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        work.open()
        yield
        await asyncio.to_thread(work.close)

    app = FastAPI(
        title="EpiReader",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    add_questions(app, settings, readers, work)
    add_facts(app, readers, work)
    add_metrics(app, metrics, work)
    add_page(app)
    answer_errors(app)
    paths = {route.path: set(route.methods or ()) for route in app.routes if isinstance(route, APIRoute)}
    app.add_middleware(Guard, settings=settings, metrics=metrics, paths=paths)
    return app


def add_questions(app: FastAPI, settings: ServeSettings, readers: Mapping[str, Reader], work: Work) -> None:
    """The addresses that read and answer."""

    def task(request: AnswerRequest | AnswersRequest, questions: list[Any], *, single: bool) -> Task:
        name = model_name(request.model, readers)
        asked = checked_questions(questions, settings)
        top = request.top or readers[name].members[0].hypotheses
        return Task(name, checked_passage(request.passage, settings), asked, top, single)

    @app.post("/v1/answer", response_model=AnswerResponse, responses=_ERRORS, summary="Answer one question.")
    async def answer(request: AnswerRequest) -> Response:
        return await done(work, task(request, [request], single=True))

    @app.post("/v1/answers", response_model=AnswersResponse, responses=_ERRORS, summary="Answer many on one passage.")
    async def answers(request: AnswersRequest) -> Response:
        return await done(work, task(request, request.questions, single=False))

    @app.post("/v1/read", response_model=ReadResponse, responses=_ERRORS, summary="Words and sentences of a passage.")
    async def read(request: ReadRequest) -> Response:
        return await done(work, Task(next(iter(readers)), checked_passage(request.passage, settings)))


def add_facts(app: FastAPI, readers: Mapping[str, Reader], work: Work) -> None:
    """The addresses that tell what is here."""
    models = ModelsResponse(models=[model_body(name, reader) for name, reader in readers.items()])
    stories = StoriesResponse(stories=story_bodies())

    @app.get("/v1/models", summary="The models, the default one first.")
    async def list_models() -> ModelsResponse:
        return models

    @app.get("/v1/stories", summary="The stories that ship with the package.")
    async def list_stories() -> StoriesResponse:
        return stories

    @app.get("/healthz", summary="Whether questions are being answered.", responses={503: _ERRORS[503]})
    async def healthz() -> Health:
        if not work.alive:
            raise shutting_down()
        return Health(status="ok", version=__version__, waiting=work.waiting)


def add_metrics(app: FastAPI, metrics: Metrics, work: Work) -> None:
    @app.get("/metrics", include_in_schema=False)
    async def prometheus() -> Response:
        metrics.waiting.set(work.waiting)
        return Response(metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")


def add_page(app: FastAPI) -> None:
    """The page and its docs: plain files, nothing from other hosts."""

    def file(name: str) -> Callable[[], FileResponse]:
        return lambda: FileResponse(PAGE / name, headers=_CACHED)

    for path, name in (("/", "index.html"), ("/docs", "docs.html"), ("/favicon.ico", "icon.svg")):
        app.add_api_route(path, file(name), methods=["GET", "HEAD"], include_in_schema=False, response_model=None)
    app.mount("/page", StaticFiles(directory=PAGE))


async def done(work: Work, task: Task) -> Response:
    """What the worker makes of a task; the event loop is free meanwhile."""
    try:
        future = work.submit(task)
    except QueueFull:
        raise busy("too many requests are waiting; try again in a second") from None
    except Closed:
        raise shutting_down() from None
    return Response(await asyncio.wrap_future(future), media_type="application/json")


def model_name(wanted: str | None, readers: Mapping[str, Reader]) -> str:
    if wanted is None:
        return next(iter(readers))
    if wanted not in readers:
        raise Refusal(422, f"there is no model {wanted[:50]!r} here; there is {', '.join(readers)}")
    return wanted


def model_body(name: str, reader: Reader) -> ModelBody:
    first = reader.members[0]
    return ModelBody(
        name=name,
        reader=first.reader,
        members=len(reader.members),
        hypotheses=first.hypotheses,
        vocabulary=len(first.vocabulary.words),
    )


def story_bodies() -> list[StoryBody]:
    questions = story_questions()
    return [
        StoryBody(
            name=name,
            title=story.title,
            text=story.text,
            questions=[one.question for one in questions if one.story == name],
        )
        for name, story in bundled_stories().items()
    ]
