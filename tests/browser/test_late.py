"""What arrives late, or not at all, never takes the place of what was asked for after it."""

from typing import Any

from serving import ANSWER, QUESTION

from epireader.stories import bundled_stories


class Late:
    """The first request to an address is kept waiting until it is told how to go on; those after it are not."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.kept: list[Any] = []
        page.route(address, lambda route: route.continue_() if self.kept else self.kept.append(route))

    def wait(self) -> Any:
        while not self.kept:
            self.page.wait_for_timeout(20)
        return self.kept[0]

    def arrive(self) -> None:
        with self.page.expect_response(self.wait().request.url):
            self.kept[0].continue_()
        self.page.wait_for_timeout(200)


def test_a_story_that_arrives_after_the_next_one_is_passed_over(visit: Any) -> None:
    page = visit.open()
    late = Late(page, "**/v1/read")
    page.select_option("#story", "snow-letter")
    late.wait()
    assert page.locator(".passage .word").count() == 0
    page.select_option("#try", index=1)
    visit.says("#problem", "There is no story yet")
    page.select_option("#story", "clock-at-vellery")
    page.wait_for_selector(".passage .word")
    late.arrive()
    assert page.inner_text("#title") == bundled_stories()["clock-at-vellery"].title
    assert "Vellery" in page.inner_text("#passage")
    assert "story=clock-at-vellery" in page.url
    assert page.inner_text("#problem") == ""


def test_an_answer_about_a_story_that_was_put_away_is_passed_over(visit: Any) -> None:
    page = visit.open()
    late = Late(page, "**/v1/answer")
    page.fill("#question", QUESTION)
    page.click("text=Ask")
    late.wait()
    page.select_option("#story", "snow-letter")
    page.wait_for_selector(".passage .word")
    late.arrive()
    assert page.locator("#result").is_hidden()
    assert page.get_attribute("#reading", "aria-busy") is None
    assert page.inner_text("#status") == ""


def test_a_question_that_fails_after_the_next_one_was_answered_is_passed_over(visit: Any) -> None:
    page = visit.open()
    late = Late(page, "**/v1/answer")
    page.fill("#question", "The owl ate its XXXXX.")
    page.click("text=Ask")
    late.wait()
    visit.ask()
    late.wait().abort()
    page.wait_for_timeout(200)
    assert page.inner_text("#problem") == ""
    assert ANSWER in page.inner_text("#status")
    visit.complaints.clear()


def test_a_story_that_could_not_be_read_leaves_no_other_in_its_place(visit: Any) -> None:
    page = visit.open("/#text=Ann+had+a+goat.+The+goat+ran+off.")
    page.fill("#text", "word " * 8_001)
    page.click("text=Read it")
    visit.says("#problem", "at most 40,000")
    assert page.locator(".passage .word").count() == 0
    page.fill("#question", "Ann had a XXXXX.")
    page.click("text=Ask")
    visit.says("#problem", "There is no story yet")
    visit.complaints.clear()


def test_an_answer_that_breaks_off_is_told(visit: Any) -> None:
    page = visit.open()
    page.route("**/v1/answer", lambda route: route.fulfill(status=200, body='{"model": "default", "ans'))
    page.fill("#question", QUESTION)
    page.click("text=Ask")
    visit.says("#problem", "broke off")
