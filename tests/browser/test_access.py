"""The page for everyone: small screens, the keyboard alone, screen readers, dark and light."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from serving import ANSWER, QUESTION, STORY


@pytest.mark.parametrize("width", [360, 390, 768])
def test_a_narrow_screen_never_scrolls_sideways(visits: Callable[..., Any], width: int) -> None:
    visit = visits(viewport={"width": width, "height": 800}, has_touch=True)
    for path in ("/docs", f"/#story={STORY}"):
        page = visit.open(path)
        assert page.evaluate("document.documentElement.scrollWidth") == width
    visit.ask()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator(".word", has_text=re.compile("^clog$")).last.tap()
    visit.says("#scope", "before this one")
    page.wait_for_timeout(1_200)
    assert abs(page.locator("#answers").bounding_box()["y"]) < 60
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_everything_can_be_done_with_the_keyboard_alone(visit: Any) -> None:
    page = visit.open()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("#question")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector("#result:not([hidden])")
    assert visit.top() == ANSWER
    page.locator(".word[tabindex='0']").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft", "End", "Home", "ArrowDown"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == "Snorrel"
    assert page.get_attribute(":focus", "role") == "button"
    assert page.locator(".word[tabindex]").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_selector(".word.gone")
    assert page.input_value("#question").startswith("XXXXX the hedgehog")
    page.focus(".hypothesis-card >> nth=2")
    page.keyboard.press("Space")
    assert page.get_attribute(".hypothesis-card >> nth=2", "aria-pressed") == "true"
    page.focus("#alone")
    page.keyboard.press("Space")
    assert page.inner_text("#verdict").startswith("The Extractor alone")


def test_the_way_past_the_question_leads_to_the_story_and_changes_nothing(visit: Any) -> None:
    page = visit.open("/#text=Ann+had+a+goat.+The+goat+ran+off.&word=6")
    page.wait_for_selector("#result:not([hidden])")
    before = page.url
    page.focus(".skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "goat"
    assert page.url == before
    assert page.locator("#result").is_visible()
    assert page.input_value("#text") == "Ann had a goat. The goat ran off."


def test_everything_that_can_be_used_has_a_name(visit: Any) -> None:
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


def test_it_is_dark_where_the_system_is_and_where_somebody_wants_it(visits: Callable[..., Any]) -> None:
    visit = visits(color_scheme="dark")
    page = visit.open()
    assert paper(page) < 150
    page.click("#theme")
    assert paper(page) > 600
    visit.open("/docs")
    assert paper(page) > 600
    page.click("#theme")
    assert paper(page) < 150


def test_on_paper_it_is_light_and_nothing_is_cut_off_or_stands_beside_the_wrong_line(
    visits: Callable[..., Any],
) -> None:
    visit = visits(color_scheme="dark", viewport={"width": 1123, "height": 794})
    page = visit.open()
    visit.ask()
    page.emulate_media(media="print", color_scheme="dark")
    assert paper(page) > 600
    assert page.locator("#answers").evaluate("(box) => box.scrollHeight - box.clientHeight") <= 1
    assert not page.locator("#threads").is_visible()
    assert not page.locator("#marks").is_visible()


CONTRAST = """([selector, property, pseudo]) => {
  const element = document.querySelector(selector);
  const brush = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const paint = (colour) => { brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const light = (colour) => colour.map(v => v / 255).map(v => v <= .04 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [.2126, .7152, .0722][n], 0);
  const around = [];
  for (let one = element; one; one = one.parentElement) around.unshift(getComputedStyle(one));
  const below = light(around.map(style => paint(style.backgroundColor)).at(-1));
  brush.globalAlpha = around.reduce((share, style) => share * style.opacity, 1);
  const above = light(paint(getComputedStyle(element, pseudo)[property]));
  return (Math.max(above, below) + .05) / (Math.min(above, below) + .05);
}"""
"""How much a colour of an element stands out from all that is painted under it."""

TEXTS = [
    "body",
    ".hint",
    "#marks span",
    ".asked mark",
    ".bar .name",
    ".quiet",
    "label",
    ".main",
    ".scope",
    ".word.looked-at",
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_fields_stand_out_from_what_is_under_them(visits: Callable[..., Any], scheme: str) -> None:
    page = visits(color_scheme=scheme).open("/#text=Ann+had+a+goat.+The+goat+ran+off.&word=6")
    page.wait_for_selector("#result:not([hidden])")
    page.evaluate("document.querySelector('.word.looked-at').style.setProperty('--shade', 1)")
    for selector in TEXTS:
        assert page.evaluate(CONTRAST, [selector, "color", None]) >= 4.5, selector
    page.check("#alone")
    for selector in (".bar.e .name", ".bar.pi .figure"):
        assert page.evaluate(CONTRAST, [selector, "color", None]) >= 4.5, selector
    assert page.evaluate(CONTRAST, ["#text", "color", "::placeholder"]) >= 4.5
    for selector in ("#story", "#text", "#question", "#candidates"):
        assert page.evaluate(CONTRAST, [selector, "borderTopColor", None]) >= 3, selector
