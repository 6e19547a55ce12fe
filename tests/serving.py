"""For tests of the server: an app called in this process, and a story with a question the bundled model gets right."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import httpx

from epireader.stories import bundled_stories

STORY = "flood-at-elder-bank"
FLOOD = bundled_stories()[STORY].text
QUESTION = "The mole would not go from his own house for any flood until he had eaten his XXXXX."
ANSWER = "breakfast"

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def client_of(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here", timeout=60)


def call(app: Any, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
    """One request; `body` is sent as JSON unless it is None."""

    async def once() -> httpx.Response:
        async with client_of(app) as client:
            return await client.request(method, path, **({} if body is None else {"json": body}), **options)

    return run(once())
