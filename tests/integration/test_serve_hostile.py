"""Hostile input gets a clear 4xx or a plain answer, a flood gets 503, and the server goes on as before."""

import asyncio
import json
import resource
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from serving import ANSWER, FLOOD, QUESTION, call, client_of, run

from epireader.answer import Reader
from epireader.serve.app import create_app
from epireader.serve.settings import ServeSettings

JSON = {"Content-Type": "application/json"}
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)> \"'--"


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.load("default")


@pytest.fixture(scope="module")
def app(reader: Reader) -> Any:
    return create_app(ServeSettings(body_seconds=1), {"default": reader})


@pytest.fixture(autouse=True)
def _still_answers(app: Any) -> Iterator[None]:
    yield
    after = call(app, "POST", "/v1/answer", {"passage": FLOOD, "question": QUESTION})
    assert after.json()["answers"][0]["text"] == ANSWER


def asked(**changes: Any) -> bytes:
    return json.dumps({"passage": "A goat.", "question": "The XXXXX.", **changes}).encode()


BODIES = {
    "a word of 1 MB": (asked(passage="x" * 1_000_000), 413),
    "a question of 1 MB": (asked(question="x" * 1_000_000 + " XXXXX"), 413),
    "a long question": (asked(question="x" * 5_000 + " XXXXX"), 413),
    "a long candidate": (asked(candidates=["x" * 5_000]), 413),
    "too many words": (asked(passage="a " * 6_000), 413),
    "signs without end": (asked(passage="$" * 200_000), 413),
    "signs within the characters, not the words": (asked(passage="$" * 6_000), 413),
    "100,000 candidates": (asked(candidates=["a"] * 100_000), 413),
    "50,000 candidates": (asked(candidates=["a"] * 50_000), 413),
    "NUL in the passage": (asked(passage="a\0b"), 422),
    "NUL in the question": (asked(question="\0 XXXXX"), 422),
    "NUL in a candidate": (asked(candidates=["\0"]), 422),
    "NUL bytes": (b"\0" * 100, 422),
    "a lone surrogate in the passage": (asked(passage="a \ud800"), 422),
    "a lone surrogate in the question": (asked(question="\udfff XXXXX"), 422),
    "a lone surrogate in a candidate": (asked(candidates=["\ud800"]), 422),
    "a lone surrogate in a name": (asked(**{"\ud800": 1}), 422),
    "bytes that are not UTF-8": (b'{"passage": "\xff\xfe"}', 400),
    "deep lists": (b"[" * 100_000, 400),
    "deep objects": (b'{"a":' * 40_000, 400),
    "deep and closed": (b'{"passage":' + b"[" * 50_000 + b"]" * 50_000 + b"}", 400),
    "nothing": (b"", 422),
    "not JSON": (b"passage=a", 422),
    "a number that is too large": (b'{"passage": "A.", "question": "XXXXX", "top": ' + b"9" * 4_000 + b"}", 422),
    "an endless number": (b'{"top": ' + b"9" * 100_000 + b"}", 400),
    "not a number": (b'{"passage": "A.", "question": "XXXXX", "top": NaN}', 422),
    "script for a model": (asked(model=SCRIPT), 422),
    "script for a name": (asked(**{SCRIPT: SCRIPT}), 422),
    "script for a number": (asked(top=SCRIPT), 422),
}


@pytest.mark.parametrize(("body", "status"), BODIES.values(), ids=BODIES)
def test_hostile_bodies_get_a_clear_refusal(app: Any, body: bytes, status: int) -> None:
    response = call(app, "POST", "/v1/answer", content=body, headers=JSON)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    assert 10 < len(response.json()["error"]) < 400


STRANGE = {
    "script everywhere": asked(passage=f"{SCRIPT} a goat.", question=f"{SCRIPT} XXXXX", candidates=[SCRIPT, "goat"]),
    "a word of 40 KB": asked(passage="x" * 40_000),
    "only marks": asked(passage="\u0301" * 500),
    "right to left and joined": asked(passage="\u202ea\u200d\u200bb 🐐\ufeff."),
    "control characters": asked(passage="a\x07\x1b[31m b"),
    "candidates that are not there": asked(candidates=["zebra", "yak"]),
    "candidates given twice": asked(candidates=["goat", "goat"]),
    "as many candidates as may be": asked(candidates=[f"w{n}" for n in range(500)]),
}


@pytest.mark.parametrize("body", STRANGE.values(), ids=STRANGE)
def test_strange_but_readable_text_is_answered_as_data(app: Any, body: bytes) -> None:
    response = call(app, "POST", "/v1/answer", content=body, headers=JSON)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_other_kinds_of_content_are_refused(app: Any, kind: str) -> None:
    response = call(app, "POST", "/v1/answer", content=asked(), headers={"Content-Type": kind})
    assert response.status_code == 415
    assert "application/json" in response.json()["error"]


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "APPLICATION/JSON"])
def test_json_is_json_however_it_is_spelt(app: Any, kind: str) -> None:
    assert call(app, "POST", "/v1/answer", content=asked(), headers={"Content-Type": kind}).status_code == 200


async def chunks(count: int, pause: float = 0) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * 65_536
        await asyncio.sleep(pause)


def test_a_body_without_a_length_is_cut_off_at_the_limit(app: Any) -> None:
    taken = 0

    async def counted() -> AsyncIterator[bytes]:
        nonlocal taken
        async for chunk in chunks(1_000):
            taken += len(chunk)
            yield chunk

    response = call(app, "POST", "/v1/answer", content=counted(), headers=JSON)
    assert response.status_code == 413
    assert taken <= ServeSettings().body_bytes + 2 * 65_536


def test_a_body_that_does_not_arrive_is_not_waited_for(app: Any) -> None:
    response = call(app, "POST", "/v1/answer", content=chunks(3, pause=0.7), headers=JSON)
    assert response.status_code == 408
    assert "1 seconds" in response.json()["error"]


@pytest.mark.parametrize("length", ["999999999999999999999999999999", "1000000"])
def test_a_length_over_the_limit_is_refused_unread(app: Any, length: str) -> None:
    async def nothing() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    response = call(app, "POST", "/v1/answer", content=nothing(), headers={**JSON, "Content-Length": length})
    assert response.status_code == 413


def test_too_many_questions_are_refused_with_both_numbers(app: Any) -> None:
    response = call(app, "POST", "/v1/answers", {"passage": "A.", "questions": [{"question": "XXXXX"}] * 1_000})
    assert response.status_code == 413
    assert response.json() == {"error": "there are 1,000 questions; at most 32 are taken at once"}


def test_a_flood_is_refused_at_once_and_what_was_begun_is_finished(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(ServeSettings(queue=8), {"default": reader})
    go, answer_all = threading.Event(), Reader.answer_all

    def slowly(self: Reader, *given: Any, **named: Any) -> Any:
        assert go.wait(30)
        return answer_all(self, *given, **named)

    monkeypatch.setattr(Reader, "answer_all", slowly)

    async def flood() -> tuple[list[httpx.Response], httpx.Response]:
        async with client_of(app) as client:
            requests = [
                asyncio.create_task(client.post("/v1/answer", content=asked(), headers=JSON)) for _ in range(100)
            ]
            while sum(request.done() for request in requests) < 92:
                await asyncio.sleep(0.01)
            health = await client.get("/healthz")
            go.set()
            return await asyncio.gather(*requests), health

    responses, health = run(flood())
    refused = [response for response in responses if response.status_code == 503]
    assert len(refused) == 92
    assert all(response.headers["retry-after"] == "1" for response in refused)
    assert all("try again" in response.json()["error"] for response in refused)
    assert [response.status_code for response in responses].count(200) == 8
    assert health.status_code == 200


def test_the_largest_requests_that_are_taken_stay_within_bounded_memory(app: Any) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    many_sentences = ". ".join(f"w{n}" for n in range(2_300)) + " " + "long " * 99 + "."
    body = {"passage": many_sentences, "questions": [{"question": f"The XXXXX {n}."} for n in range(2)], "top": 1}
    assert call(app, "POST", "/v1/answers", body).status_code == 200
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 1_500


def test_at_shutdown_what_was_begun_is_finished_and_no_more_is_taken(reader: Reader) -> None:
    app = create_app(ServeSettings(), {"default": reader})

    async def live() -> tuple[httpx.Response, httpx.Response, httpx.Response]:
        async with client_of(app) as client:
            async with app.router.lifespan_context(app):
                begun = asyncio.create_task(client.post("/v1/answer", content=asked(), headers=JSON))
                await asyncio.sleep(0.01)
            late = await client.post("/v1/answer", content=asked(), headers=JSON)
            return await begun, late, await client.get("/healthz")

    begun, late, health = run(live())
    assert begun.status_code == 200
    assert late.status_code == health.status_code == 503
    assert late.json() == {"error": "the server is shutting down"}


def test_a_request_that_is_given_up_at_shutdown_is_told_so(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(ServeSettings(), {"default": reader})
    begun, go, answer_all = threading.Event(), threading.Event(), Reader.answer_all

    def slowly(self: Reader, *given: Any, **named: Any) -> Any:
        begun.set()
        assert go.wait(30)
        return answer_all(self, *given, **named)

    monkeypatch.setattr(Reader, "answer_all", slowly)

    async def give_up() -> httpx.Response:
        async with client_of(app) as client:
            request = asyncio.create_task(client.post("/v1/answer", content=asked(), headers=JSON))
            await asyncio.to_thread(begun.wait, 30)
            request.cancel()  # as uvicorn does to what has not ended after --shutdown-seconds
            return await request

    response = run(give_up())
    go.set()
    assert response.status_code == 503
    assert response.json() == {"error": "the server is shutting down"}
    assert 'path="/v1/answer",status="503"} 1.0' in call(app, "GET", "/metrics").text


def test_every_request_gives_its_place_back_however_it_ended(reader: Reader) -> None:
    app = create_app(ServeSettings(queue=2), {"default": reader})
    for body in (asked(), b"", b"[" * 50_000, b" " * 300_000, asked(question="no blank"), asked()) * 2:
        assert call(app, "POST", "/v1/answer", content=body, headers=JSON).status_code != 503
    assert "epireader_requests_at_hand 0.0" in call(app, "GET", "/metrics").text
