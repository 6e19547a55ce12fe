"""What every request passes on its way in and every response on its way out.

Bodies are taken in here, whole and bounded, before anything else looks at them; so many requests are at hand and no
more; every response carries the same protective headers; whatever fails comes out as one sentence.
"""

import asyncio
import logging
import time
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from epireader.serve.errors import OUR_FAULT, Refusal, busy, error_response, shutting_down
from epireader.serve.metrics import Metrics
from epireader.serve.settings import ServeSettings

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_CLOSE = {"Connection": "close"}

_log = logging.getLogger(__name__)


class Guard:
    """ASGI middleware around the whole app. `paths` are its addresses, with the methods they answer."""

    def __init__(self, app: ASGIApp, settings: ServeSettings, metrics: Metrics, paths: Mapping[str, set[str]]) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._paths = paths
        self._at_hand = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        out = _Outgoing(send)
        start = time.perf_counter()
        try:
            await self._pass(scope, receive, out)
        except Refusal as refusal:
            await refusal.response()(scope, receive, out)
        except asyncio.CancelledError:  # the server gives up what takes too long at shutdown
            if out.status is not None:
                raise
            await shutting_down().response()(scope, receive, out)
        except Exception:
            _log.exception("%s %s failed", scope["method"], scope["path"])
            if out.status is None:
                await error_response(500, OUR_FAULT)(scope, receive, out)
        finally:
            self._count(scope, out.status, time.perf_counter() - start)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on; one with a body only when there is room for it and it is a body we want."""
        if scope["method"] != "POST" or "POST" not in self._paths.get(scope["path"], ()):
            await self._app(scope, receive, send)
            return
        if self._at_hand >= self._settings.queue:
            raise busy("too many requests are waiting; try again in a second", _CLOSE)
        self._at_hand += 1
        self._metrics.at_hand.set(self._at_hand)
        try:
            body = await self._body(Headers(scope=scope), receive)
            await self._app(scope, _replay(body, receive), send)
        finally:
            self._at_hand -= 1
            self._metrics.at_hand.set(self._at_hand)

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, "send the request as JSON, with Content-Type: application/json", _CLOSE)
        most = self._settings.body_bytes
        if (length := headers.get("content-length", "")).isdecimal() and int(length[:20]) > most:
            raise self._too_large()
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                return await self._receive_all(receive)
        except TimeoutError:
            seconds = self._settings.body_seconds
            raise Refusal(408, f"the body did not arrive within {seconds} seconds", _CLOSE) from None

    async def _receive_all(self, receive: Receive) -> bytes:
        body = bytearray()
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if len(body) > self._settings.body_bytes:
                raise self._too_large()
            if not message.get("more_body", False):
                return bytes(body)
        raise Refusal(400, "the connection was closed before the body was complete")

    def _too_large(self) -> Refusal:
        return Refusal(413, f"the body is too large; at most {self._settings.body_bytes:,} bytes are taken", _CLOSE)

    def _count(self, scope: Scope, status: int | None, seconds: float) -> None:
        path = scope["path"] if scope["path"] in self._paths else "other"
        method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD") else "other"
        self._metrics.requests.labels(method, path, str(status)).inc()
        self._metrics.seconds.labels(path).observe(seconds)


class _Outgoing:
    """A `send` that adds our headers and remembers the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            headers.setdefault("Cache-Control", "no-store")
        await self._send(message)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that tells of a body that has arrived already, and then of whatever comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed
