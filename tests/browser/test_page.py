"""The page in a real Chromium: what a person does with it, with a mouse, a keyboard or a phone."""

import re
import shutil
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from serving import QUESTION, STORY

from epireader.stories import bundled_stories

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("the browser tests need Debian's package chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
uvicorn = pytest.importorskip("uvicorn", reason="the browser tests need the extra serve")

from epireader.serve.app import create_app  # noqa: E402
from epireader.serve.settings import ServeSettings  # noqa: E402

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
EVIL = '<img src=x onerror="document.title=1"><script>document.title=1</script>'


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
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
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
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

    def top(self) -> str:
        return str(self.page.inner_text("#hypotheses li:first-child .candidate"))


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Visit]:
    visit = Visit(browser, address)
    yield visit
    visit.context.close()
    assert visit.hosts == {address}
    refusals = "the server responded with a status of 422"
    assert [text for text in visit.complaints if refusals not in text] == []


def test_the_page_opens_with_a_story_and_says_what_to_do(visit: Visit) -> None:
    page = visit.open("/")
    assert page.inner_text("#title") == bundled_stories()[STORY].title
    assert "Click a word" in page.inner_text("#how")
    assert page.locator("#story option").count() == len(bundled_stories()) + 1
    assert page.locator(".passage .word").count() > 400
    assert visit.complaints == []
    page.click("text=Show me one")
    page.wait_for_selector("#result:not([hidden])")
    assert visit.top() == "clog"


def test_the_story_on_the_page_is_the_story(visit: Visit) -> None:
    page = visit.open()
    page.select_option("#story", "snow-letter")
    page.wait_for_function("document.querySelector('#title').textContent.includes('Snow')")
    page.wait_for_function("document.querySelectorAll('.word').length > 100")
    shown = page.evaluate("[...document.querySelectorAll('.passage p')].map(p => p.textContent).join(' ')")
    assert shown.split() == bundled_stories()["snow-letter"].text.split()


def test_the_right_answer_comes_out_on_top_with_its_bars(visit: Visit) -> None:
    page = visit.open()
    visit.ask()
    assert visit.top() == "clog"
    assert page.inner_text("#asked mark") == "clog"
    cards = page.locator(".hypothesis-card")
    assert cards.count() == 5
    assert cards.first.locator(".bar .name").all_inner_texts() == ["Extractor", "Reasoner", "Both"]
    figures = [text for card in cards.all() for text in card.locator(".figure").all_inner_texts()]
    assert all(re.fullmatch(r"<?\d+%", figure) for figure in figures)
    assert "clog" in page.inner_text("#status")
    assert "whole story" in page.inner_text("#scope")


def test_the_passage_is_shaded_where_the_extractor_looked(visit: Visit) -> None:
    page = visit.open()
    visit.ask()
    looked = page.locator(".word.looked-at")
    assert looked.count() > 0
    shades = page.evaluate("[...document.querySelectorAll('.word')].map(w => [w.textContent, +w.style.getPropertyValue('--shade')])")
    assert max(shades, key=lambda pair: pair[1])[0] == "clog"
    assert int(page.locator(".word", has_text="clog").first.get_attribute("data-share")) > 10
    assert page.locator(".word.hypothesis").all_inner_texts().count("clog") == page.locator(".word.hypothesis").count()


def test_lines_lead_from_the_chosen_hypothesis_to_sentences_that_moved_it(visit: Visit) -> None:
    page = visit.open()
    visit.ask()
    moves = page.locator("#moves .move")
    assert 1 <= moves.count() <= 3
    assert page.locator("#threads path").count() == page.locator("#marks span").count() == moves.count()
    figures = moves.locator("b").all_inner_texts()
    assert all(re.fullmatch(r"[▲▼] \d+\.\d\d", figure) for figure in figures)
    assert set(page.locator("#marks span").all_inner_texts()) == set(figures)
    first = moves.first.locator("span").inner_text()
    marked = page.evaluate("[...document.querySelectorAll('.sentence.towards,.sentence.away')].map(s => s.textContent.replace(/\\s+/g, ' '))")
    assert any(first[:20] in text for text in marked)
    page.click(".hypothesis-card >> nth=1")
    assert page.get_attribute(".hypothesis-card >> nth=1", "aria-pressed") == "true"
    assert page.inner_text("#asked mark") == page.inner_text(".hypothesis-card >> nth=1 >> .candidate")


def test_the_extractor_alone_ranks_by_its_own_view(visit: Visit) -> None:
    page = visit.open()
    visit.ask()
    page.check("#alone")
    shown = page.evaluate("[...document.querySelectorAll('.bar.p .fill')].map(f => +f.style.getPropertyValue('--value'))")
    assert shown == sorted(shown, reverse=True)
    assert page.inner_text("#verdict").startswith("The Extractor alone says")
    assert page.locator("#threads path").count() == 0
    page.uncheck("#alone")
    both = page.evaluate("[...document.querySelectorAll('.bar.pi .fill')].map(f => +f.style.getPropertyValue('--value'))")
    assert both == sorted(both, reverse=True)
    assert page.locator("#threads path").count() > 0


def test_a_clicked_word_becomes_the_question_and_its_sentence_is_not_read(visit: Visit) -> None:
    page = visit.open()
    sent: list[dict[str, Any]] = []
    page.on("request", lambda request: sent.append(request.post_data_json) if "/v1/answer" in request.url else None)
    page.locator(".word", has_text=re.compile("^clog$")).first.click()
    page.wait_for_selector("#result:not([hidden])")
    question = "It was a wooden XXXXX, which Jem, the miller's boy, had left upon the bridge."
    assert sent[0]["question"] == page.input_value("#question") == question
    assert "which Jem" not in sent[0]["passage"]
    assert "Snorrel waded in" in sent[0]["passage"]
    assert "without this sentence" in page.inner_text("#scope")
    assert page.inner_text(".word.gone") == "clog"
    assert "clog" in page.inner_text("#verdict")
    page.locator(".word", has_text=re.compile("^leaf$")).last.click()
    page.wait_for_function("document.querySelector('#scope').textContent.includes('20 sentences before')")
    assert len(sent) == 2
    assert "It had rained" not in sent[1]["passage"]
    assert page.locator(".sentence.unread").count() > 0


def test_bad_input_gets_a_sentence_and_nothing_else_changes(visit: Visit) -> None:
    page = visit.open()
    page.click("text=Ask")
    assert "Type a question" in page.inner_text("#problem")
    page.fill("#question", "There is no blank here.")
    page.click("text=Ask")
    page.wait_for_function("document.querySelector('#problem').textContent.includes('exactly one blank')")
    assert page.get_attribute("#question", "aria-invalid") == "true"
    assert page.get_attribute("#problem", "role") == "alert"
    visit.ask()
    assert page.inner_text("#problem") == ""
    assert page.get_attribute("#question", "aria-invalid") is None


def test_ones_own_text_is_read_and_never_becomes_html(visit: Visit) -> None:
    page = visit.open()
    page.select_option("#story", "own")
    page.fill("#text", f"Ann had a goat 🐐 and Tom a cow. {EVIL} The goat ran off. Tom laughed at Ann.")
    page.click("text=Read it")
    page.wait_for_selector(".passage .word")
    page.fill("#candidates", f"goat, cow, {EVIL}")
    visit.ask(f"Where is my XXXXX? {EVIL}")
    assert page.locator("main img, main script").count() == 0
    assert page.title().startswith("EpiReader")
    assert "onerror" in page.inner_text("#passage")
    page.locator(".word", has_text=re.compile("^goat$")).nth(1).click()
    page.wait_for_function("document.querySelector('#scope').textContent.includes('without this sentence')")
    assert page.inner_text(".word.gone") == "goat"
    assert page.locator(".word.hypothesis").count() > 0


def test_the_link_brings_back_what_was_shown(visit: Visit, browser: Any) -> None:
    page = visit.open()
    page.fill("#candidates", "clog, owl, mole")
    visit.ask()
    page.check("#alone")
    other = Visit(browser, visit.address)
    other.page.goto(page.url)
    other.page.wait_for_selector("#result:not([hidden])")
    assert other.page.input_value("#question") == QUESTION
    assert other.page.input_value("#candidates") == "clog, owl, mole"
    assert other.page.is_checked("#alone")
    assert other.top() == visit.top()
    other.context.close()


def test_a_clicked_word_and_ones_own_text_are_in_the_link_too(visit: Visit) -> None:
    page = visit.open("/#text=Ann+had+a+goat.+The+goat+ran+off.+Ann+cried.&word=6")
    page.wait_for_selector("#result:not([hidden])")
    assert page.input_value("#question") == "The XXXXX ran off."
    assert "text=Ann" in page.url
    assert "word=6" in page.url
    page.fill("#text", "word " * 3_000)
    page.click("text=Read it")
    page.wait_for_function("document.querySelectorAll('.word').length === 3000")
    assert "#" not in page.url.rstrip("#")
    page.click("#share")
    assert "too long" in page.inner_text("#problem")


@pytest.mark.parametrize("fragment", ["story=nowhere", "word=99999", "word=-1", "a" * 20_000, "=&==&", "story=own&question=%FF"])
def test_a_strange_link_opens_the_page_all_the_same(visit: Visit, fragment: str) -> None:
    page = visit.open(f"/#{fragment}")
    assert page.locator(".passage .word").count() > 400


@pytest.mark.parametrize("width", [360, 390, 768])
def test_a_narrow_screen_never_scrolls_sideways(browser: Any, address: str, width: int) -> None:
    visit = Visit(browser, address, viewport={"width": width, "height": 800}, has_touch=True)
    for path in ("/docs", f"/#story={STORY}"):
        page = visit.open(path)
        assert page.evaluate("document.documentElement.scrollWidth") == width
    visit.ask()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator(".word", has_text=re.compile("^clog$")).last.tap()
    page.wait_for_function("document.querySelector('#scope').textContent.includes('before this one')")
    page.wait_for_function("Math.abs(document.querySelector('#answers').getBoundingClientRect().top) < 60")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert visit.complaints == []
    visit.context.close()


def test_everything_can_be_done_with_the_keyboard_alone(visit: Visit) -> None:
    page = visit.open()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("#question")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector("#result:not([hidden])")
    assert visit.top() == "clog"
    page.locator(".word[tabindex='0']").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft", "End", "Home", "ArrowDown"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == "Snorrel"
    assert page.get_attribute(":focus", "role") == "button"
    assert page.locator(".word[tabindex]").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#question').value.startsWith('XXXXX the hedgehog')")
    page.wait_for_selector(".word.gone")
    page.focus(".hypothesis-card >> nth=2")
    page.keyboard.press("Space")
    assert page.get_attribute(".hypothesis-card >> nth=2", "aria-pressed") == "true"
    page.focus("#alone")
    page.keyboard.press("Space")
    assert page.inner_text("#verdict").startswith("The Extractor alone")


def test_everything_that_can_be_used_has_a_name(visit: Visit) -> None:
    page = visit.open()
    visit.ask()
    nameless = page.evaluate("""[...document.querySelectorAll('button, a, input, select, textarea')].filter(e =>
        !e.textContent.trim() && !(e.labels && e.labels.length) && !e.getAttribute('aria-label')).map(e => e.outerHTML)""")
    assert nameless == []
    assert page.get_attribute("#status", "aria-live") == "polite"
    assert page.get_attribute("html", "lang") == "en"


def paper(page: Any) -> int:
    """How light the paper is, 0 to 765."""
    return sum(map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]))


def test_it_is_dark_where_the_system_is_and_where_somebody_wants_it(browser: Any, address: str) -> None:
    visit = Visit(browser, address, color_scheme="dark")
    page = visit.open()
    assert paper(page) < 150
    page.click("#theme")
    assert paper(page) > 600
    visit.open("/docs")
    assert paper(page) > 600
    page.click("#theme")
    assert paper(page) < 150
    assert visit.complaints == []
    visit.context.close()


CONTRAST = """(selector) => {
  const rgb = (text) => { const c = document.createElement('canvas').getContext('2d'); c.fillStyle = text; c.fillRect(0, 0, 1, 1);
    return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const light = (text) => rgb(text).map(v => v / 255).map(v => v <= .04 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [.2126, .7152, .0722][n], 0);
  const text = getComputedStyle(document.querySelector(selector)).color;
  const [a, b] = [light(text), light(getComputedStyle(document.body).backgroundColor)].sort((x, y) => y - x);
  return (a + .05) / (b + .05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_the_paper(browser: Any, address: str, scheme: str) -> None:
    visit = Visit(browser, address, color_scheme=scheme)
    page = visit.open()
    visit.ask()
    for selector in ("body", ".hint", "#marks span", ".asked mark", ".bar .name", ".quiet", "label"):
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector
    visit.context.close()


def test_the_docs_are_readable_and_come_from_here(visit: Visit) -> None:
    page = visit.open("/docs")
    assert "POST /v1/answer" in page.inner_text("#addresses")
    assert "AnswerRequest" in page.inner_text("#shapes")


def test_a_server_that_is_gone_is_told(visit: Visit) -> None:
    page = visit.open()
    page.route("**/v1/answer", lambda route: route.abort())
    page.fill("#question", QUESTION)
    page.click("text=Ask")
    page.wait_for_function("document.querySelector('#problem').textContent.includes('cannot be reached')")
    visit.complaints.clear()
