"""A Chromium, a server for it, and a page that remembers all it said and asked for."""

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from serving import QUESTION, STORY

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
REFUSED = "the server responded with a status of 422"
"""What Chromium says of every question that is refused."""


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    uvicorn = pytest.importorskip("uvicorn", reason="the browser tests need the extra serve")
    from epireader.serve.app import create_app
    from epireader.serve.settings import ServeSettings

    server = uvicorn.Server(uvicorn.Config(create_app(ServeSettings()), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Closed after each module: while Playwright is open, nothing else can run an event loop in this thread."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("the browser tests need Debian's package chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


class Visit:
    """A page, and all it said and asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.address = address
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(re.sub(r"(//[^/]+).*", r"\1", request.url)))

    def open(self, path: str = f"/#story={STORY}") -> Any:
        self.page.goto(self.address + path)
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def ask(self, question: str = QUESTION) -> None:
        self.page.fill("#question", question)
        self.page.click("text=Ask")
        self.page.wait_for_selector("#result:not([hidden])")

    def says(self, selector: str, text: str) -> None:
        """Wait until something is said there."""
        self.page.locator(selector).filter(has_text=text).wait_for(timeout=20_000)

    def top(self) -> str:
        return str(self.page.inner_text("#hypotheses li:first-child .candidate"))


@pytest.fixture
def visits(browser: Any, address: str) -> Iterator[Callable[..., Visit]]:
    """Opens pages, and sees at the end that none of them complained or asked another host for anything."""
    made: list[Visit] = []

    def visit(**options: Any) -> Visit:
        made.append(Visit(browser, address, **options))
        return made[-1]

    yield visit
    for one in made:
        one.context.close()
        assert one.hosts == {address}
        assert [text for text in one.complaints if REFUSED not in text] == []


@pytest.fixture
def visit(visits: Callable[..., Visit]) -> Visit:
    return visits()
