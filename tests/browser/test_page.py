"""The page in a real Chromium: what a person does with it, and what they see."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from serving import ANSWER, QUESTION, STORY

from epireader.stories import bundled_stories

EVIL = '<img src=x onerror="document.title=1"><script>document.title=1</script>'


def test_the_page_opens_with_a_story_and_says_what_to_do(visit: Any) -> None:
    page = visit.open("/")
    assert page.inner_text("#title") == bundled_stories()[STORY].title
    assert "Click a word" in page.inner_text("#how")
    assert page.locator("#story option").count() == len(bundled_stories()) + 1
    assert page.locator(".passage .word").count() > 400
    assert visit.complaints == []
    page.click("text=Show me one")
    page.wait_for_selector("#result:not([hidden])")
    assert visit.top() == "Tippin"


def test_the_story_on_the_page_is_the_story(visit: Any) -> None:
    page = visit.open()
    page.select_option("#story", "snow-letter")
    visit.says("#title", "Snow")
    page.locator(".word", has_text="Hesper").first.wait_for()
    shown = page.evaluate("[...document.querySelectorAll('.passage p')].map(p => p.textContent).join(' ')")
    assert shown.split() == bundled_stories()["snow-letter"].text.split()


def test_the_right_answer_comes_out_on_top_with_its_bars(visit: Any) -> None:
    page = visit.open()
    visit.ask()
    assert visit.top() == ANSWER
    assert page.inner_text("#asked mark") == ANSWER
    cards = page.locator(".hypothesis-card")
    assert cards.count() == 10
    assert cards.first.locator(".bar .name").all_inner_texts() == ["Extractor", "Reasoner", "Both"]
    figures = [text for card in cards.all() for text in card.locator(".figure").all_inner_texts()]
    assert all(re.fullmatch(r"<?\d+%", figure) for figure in figures)
    assert ANSWER in page.inner_text("#status")
    assert "whole story" in page.inner_text("#scope")


@pytest.mark.parametrize(
    ("before", "blank", "after"),
    [
        ("Mr. ____ of B____ gave his ", "XXXXX", " to Ann."),
        ("The XXXXXL coat, said snake___case, of the ", "[MASK]", "."),
        ("“", "@placeholder", "!” said Ann____."),
        ("Ann fed the ", "_____", "."),
    ],
)
def test_an_answer_is_shown_in_the_blank_that_was_asked_about(visit: Any, before: str, blank: str, after: str) -> None:
    page = visit.open()
    visit.ask(before + blank + after)
    assert page.text_content("#asked") == before + visit.top() + after


def test_the_passage_is_shaded_where_the_extractor_looked(visit: Any) -> None:
    page = visit.open()
    visit.ask()
    looked = page.locator(".word.looked-at")
    assert looked.count() > 0
    shades = page.evaluate(
        "[...document.querySelectorAll('.word')].map(w => [w.textContent, +w.style.getPropertyValue('--shade')])"
    )
    assert max(shades, key=lambda pair: pair[1])[0] == ANSWER
    assert int(page.locator(".word.looked-at", has_text=ANSWER).last.get_attribute("data-share")) > 10
    assert page.locator(".word.hypothesis").all_inner_texts().count(ANSWER) == page.locator(".word.hypothesis").count()


def test_the_chosen_hypothesis_says_how_it_fits_the_blank(visit: Any) -> None:
    page = visit.open()
    visit.ask()
    said = set()
    for card in page.locator(".hypothesis-card").all():
        card.click()
        said.add(page.inner_text("#fit").replace("\n", " "))
    assert len(said) > 5
    assert all(
        re.fullmatch(r"(▲ \d+\.\d\d fits the blank better|▼ \d+\.\d\d fits the blank worse) than .*", one)
        for one in said
    )
    assert {one[0] for one in said} == {"▲", "▼"}
    page.click("text=Extractor alone")
    assert page.locator("#fit").is_hidden()


def test_a_reader_that_reads_again_says_what_came_of_it(visit: Any) -> None:
    def with_rereading(route: Any) -> None:
        response = route.fetch()
        body = response.json()
        for answer, amount in zip(body["answers"], (1.234, -1.234, 0, 0, 0), strict=False):
            answer["read_again"] = amount
        route.fulfill(response=response, json=body)

    page = visit.open()
    page.route("**/v1/answer", with_rereading)
    visit.ask()
    said = "the passage, read again with it in mind, speaks"
    cards = page.locator(".hypothesis-card").all()
    for card, expected in zip(cards, (f"▲ 1.23 {said} for it", f"▼ 1.23 {said} against it"), strict=False):
        card.click()
        assert page.inner_text("#again").replace("\n", " ") == expected
    cards[2].click()
    assert page.locator("#again").is_hidden()
    cards[0].click()
    page.click("text=Extractor alone")
    assert page.locator("#again").is_hidden()


def test_a_reader_without_a_reasoner_has_one_bar_and_no_switch(visit: Any) -> None:
    def without_reasoner(route: Any) -> None:
        response = route.fetch()
        body = response.json()
        body["answers"] = [{**one, "e": None, "evidence": None, "fits_blank": None} for one in body["answers"]]
        route.fulfill(response=response, json=body)

    page = visit.open(f"/#story={STORY}&alone=1")
    page.route("**/v1/answer", without_reasoner)
    visit.ask()
    assert page.inner_text("#verdict").startswith("The reader says")
    assert set(page.locator(".bar .name").all_inner_texts()) == {"Reader"}
    assert "Reasoner" not in page.inner_text("#answers")
    assert page.locator("#alone").is_hidden()
    page.unroute("**/v1/answer")
    page.click("form .main")
    visit.says("#verdict", "The Extractor alone says")
    assert page.locator("#alone").is_visible()


def test_lines_lead_from_the_chosen_hypothesis_to_sentences_that_moved_it(visit: Any) -> None:
    page = visit.open()
    visit.ask()
    moves = page.locator("#moves .move")
    assert 1 <= moves.count() <= 3
    assert page.locator("#threads path").count() == page.locator("#marks span").count() == moves.count()
    figures = moves.locator("b").all_inner_texts()
    assert all(re.fullmatch(r"[▲▼] \d+\.\d\d", figure) for figure in figures)
    assert set(page.locator("#marks span").all_inner_texts()) == set(figures)
    first = moves.first.locator("span").inner_text()
    marked = page.evaluate(
        "[...document.querySelectorAll('.sentence.towards,.sentence.away')].map(s => s.textContent.replace(/\\s+/g, ' '))"
    )
    assert any(first[:20] in text for text in marked)
    page.click(".hypothesis-card >> nth=1")
    assert page.get_attribute(".hypothesis-card >> nth=1", "aria-pressed") == "true"
    assert page.inner_text("#asked mark") == page.inner_text(".hypothesis-card >> nth=1 >> .candidate")


def test_the_extractor_alone_ranks_by_its_own_view(visit: Any) -> None:
    page = visit.open()
    visit.ask()
    page.check("#alone")
    shown = page.evaluate(
        "[...document.querySelectorAll('.bar.p .fill')].map(f => +f.style.getPropertyValue('--value'))"
    )
    assert shown == sorted(shown, reverse=True)
    assert page.inner_text("#verdict").startswith("The Extractor alone says")
    assert page.locator("#threads path").count() == 0
    page.uncheck("#alone")
    both = page.evaluate(
        "[...document.querySelectorAll('.bar.pi .fill')].map(f => +f.style.getPropertyValue('--value'))"
    )
    assert both == sorted(both, reverse=True)
    assert page.locator("#threads path").count() > 0


def test_a_clicked_word_becomes_the_question_and_its_sentence_is_not_read(visit: Any) -> None:
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
    assert page.locator(".sentence.unread").count() == 0
    assert "clog" in page.inner_text("#verdict")
    page.locator(".word", has_text=re.compile("^leaf$")).last.click()
    visit.says("#scope", "20 sentences before")
    assert len(sent) == 2
    assert "It had rained" not in sent[1]["passage"]
    assert page.locator(".sentence.unread").count() > 0


def test_bad_input_gets_a_sentence_and_nothing_else_changes(visit: Any) -> None:
    page = visit.open()
    page.click("text=Ask")
    assert "Type a question" in page.inner_text("#problem")
    page.fill("#question", "There is no blank here.")
    page.click("text=Ask")
    visit.says("#problem", "exactly one blank")
    assert page.get_attribute("#question", "aria-invalid") == "true"
    assert page.get_attribute("#problem", "role") == "alert"
    visit.ask()
    assert page.inner_text("#problem") == ""
    assert page.get_attribute("#question", "aria-invalid") is None


def test_ones_own_text_is_read_and_never_becomes_html(visit: Any) -> None:
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
    visit.says("#scope", "without this sentence")
    assert page.inner_text(".word.gone") == "goat"
    assert page.locator(".word.hypothesis").count() > 0


def test_ones_own_text_is_still_there_after_a_look_at_another_story(visit: Any) -> None:
    page = visit.open("/#text=Ann+had+a+goat.+The+goat+ran+off.")
    page.select_option("#story", "snow-letter")
    visit.says("#passage", "Ambry")
    page.select_option("#story", "own")
    visit.says("#passage", "The goat ran off.")
    assert page.input_value("#text") == "Ann had a goat. The goat ran off."
    assert "text=Ann" in page.url


def test_the_link_brings_back_what_was_shown(visit: Any, visits: Callable[..., Any]) -> None:
    page = visit.open()
    page.fill("#candidates", "clog, owl, mole")
    visit.ask()
    page.check("#alone")
    other = visits()
    other.page.goto(page.url)
    other.page.wait_for_selector("#result:not([hidden])")
    assert other.page.input_value("#question") == QUESTION
    assert other.page.input_value("#candidates") == "clog, owl, mole"
    assert other.page.is_checked("#alone")
    assert other.top() == visit.top()


def test_a_clicked_word_and_ones_own_text_are_in_the_link_too(visit: Any) -> None:
    page = visit.open("/#text=Ann+had+a+goat.+The+goat+ran+off.+Ann+cried.&word=6")
    page.wait_for_selector("#result:not([hidden])")
    assert page.input_value("#question") == "The XXXXX ran off."
    assert "text=Ann" in page.url
    assert "word=6" in page.url
    page.fill("#text", "word " * 3_000)
    page.click("text=Read it")
    page.locator(".word").nth(2_999).wait_for()
    assert "#" not in page.url.rstrip("#")
    page.click("#share")
    assert "too long" in page.inner_text("#problem")


@pytest.mark.parametrize(
    "fragment", ["story=nowhere", "word=99999", "word=-1", "a" * 20_000, "=&==&", "story=own&question=%FF"]
)
def test_a_strange_link_opens_the_page_all_the_same(visit: Any, fragment: str) -> None:
    page = visit.open(f"/#{fragment}")
    assert page.locator(".passage .word").count() > 400


def test_the_docs_are_readable_and_come_from_here(visit: Any) -> None:
    page = visit.open("/docs")
    assert "POST /v1/answer" in page.inner_text("#addresses")
    assert "AnswerRequest" in page.inner_text("#shapes")


def test_a_server_that_is_gone_is_told(visit: Any) -> None:
    page = visit.open()
    page.route("**/v1/answer", lambda route: route.abort())
    page.fill("#question", QUESTION)
    page.click("text=Ask")
    visit.says("#problem", "cannot be reached")
    visit.complaints.clear()
    assert page.get_attribute("#question", "aria-invalid") is None
