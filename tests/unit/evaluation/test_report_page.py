"""The page of a report."""

import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from builders import example

from epireader.data.questions import QuestionsBuilder
from epireader.evaluation.accuracy import Evaluation, Share
from epireader.evaluation.examples import ShownQuestion, ShownSentence
from epireader.evaluation.plots import plots_of
from epireader.evaluation.report import RunReport, build_report
from epireader.evaluation.report_example import example_html
from epireader.evaluation.report_page import report_html

EVIL = "<script>alert('&')</script>"


def sentence(
    text: str, *, answer: str = "", rival: str = "", moved: float | None = 0.0, matters: bool = True
) -> ShownSentence:
    words = tuple(text.split())
    return ShownSentence(
        words, tuple(word == answer for word in words), tuple(word == rival for word in words), moved, matters
    )


def shown(*sentences: ShownSentence, corrected: bool = True, answer: str = "Ann", rival: str = "Tom") -> ShownQuestion:
    hypotheses = ({"text": answer, "p": 0.25, "e": 0.75, "pi": 0.5}, {"text": rival, "p": 0.5, "e": None, "pi": 0.25})
    return ShownQuestion(7, sentences, ("said", "XXXXX", "."), answer, rival, corrected, hypotheses)


class Tags(HTMLParser):
    """Which elements there are, and that each is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.seen.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        del attrs
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_choices_stand_under_their_names() -> None:
    page = example_html(shown(sentence("Ann met Tom .")))
    choices = re.findall(r'<div class="(\w+)"><dt>([\w ]+)</dt><dd>(\w+)</dd>', page)
    assert choices == [("rival", "Extractor", "Tom"), ("right", "Reasoner", "Ann"), ("right", "right answer", "Ann")]
    spoiled = example_html(shown(sentence("Ann met Tom ."), corrected=False))
    choices = re.findall(r'<div class="(\w+)"><dt>([\w ]+)</dt><dd>(\w+)</dd>', spoiled)
    assert choices[:2] == [("right", "Extractor", "Ann"), ("rival", "Reasoner", "Tom")]


def test_mentions_are_marked_and_words_printed_as_people_do() -> None:
    page = example_html(shown(sentence("`` Ann 's hat , '' said Tom .", answer="Ann", rival="Tom")))
    assert '“<mark class="right">Ann</mark>’s hat,” said <mark class="rival">Tom</mark>.' in page


def test_what_matters_little_is_folded_and_numbers_go_on() -> None:
    lines = [sentence(f"s{n}", matters=n in (2, 5)) for n in range(6)]
    page = example_html(shown(*lines))
    assert re.findall(r"<summary>(.*?)</summary>", page) == ["2 sentences more", "2 sentences more"]
    assert re.findall(r'<div class="sentence"><b>(\d)</b><p>(s\d)</p>', page) == [
        (str(n + 1), f"s{n}") for n in range(6)
    ]
    assert "1 sentence more" in example_html(shown(sentence("a", matters=False), sentence("b")))


def test_evidence_is_a_bar_on_the_side_of_what_it_speaks_for() -> None:
    page = example_html(shown(sentence("a", moved=2.0), sentence("b", moved=-1.0), sentence("c", moved=None)))
    bars = re.findall(r'class="evidence (\w+)"><i style="width: ([\d.]+)%"></i><small>(\S+)</small>', page)
    assert bars == [("right", "50.0", "+2.00"), ("rival", "25.0", "-1.00")]


def test_hypotheses_are_listed_with_what_each_thinks_of_them() -> None:
    page = example_html(shown(sentence("a")))
    assert re.findall(r'<tr class="(\w*)"><th scope="row">(\w+)</th>', page) == [("right", "Ann"), ("rival", "Tom")]
    assert [cell[-4:] for cell in re.findall(r"<td>(.*?)</td>", page)] == ["0.25", "0.75", "0.50", "0.50", "–", "0.25"]


def test_the_blank_is_a_line() -> None:
    assert 'said <span class="blank" role="img" aria-label="missing word"></span>.' in example_html(
        shown(sentence("a"))
    )


@pytest.mark.parametrize("where", ["passage", "answer", "rival"])
def test_text_is_never_taken_for_html(where: str) -> None:
    word = EVIL.replace(" ", "")
    one = shown(
        sentence(f"a {word if where == 'passage' else 'b'}"),
        answer=word if where == "answer" else "Ann",
        rival=word if where == "rival" else "Tom",
    )
    page = example_html(one)
    assert "script" not in Tags(page).seen
    assert word in unescape(page).replace("’", "'")


def test_our_own_signs_in_a_text_do_no_harm() -> None:
    page = example_html(shown(sentence("a \ue000b\ue002 \ue001 c")))
    assert "mark" not in Tags(page).seen


def run(name: str, *, reranks: bool, examples: tuple[ShownQuestion, ...] = ()) -> RunReport:
    measured = Evaluation(
        questions=4,
        unknown=2,
        extractor=Share(3, 4),
        final=Share(2, 4),
        recall_at={1: Share(3, 4), 2: Share(4, 4)},
        corrected=0,
        spoiled=1,
    )
    right = np.array([True, True, False, False])
    return RunReport(name, "epireader" if reranks else "as-reader", reranks, None, measured, right, right, (), examples)


def page_of(*runs: RunReport, asked: str = "toys") -> str:
    pytest.importorskip("matplotlib")
    builder = QuestionsBuilder()
    for answer in ("a", "b", "c", "z"):
        builder.add(example(["a b c"], "XXXXX", ["a", "b", "c"], answer))
    told = build_report(asked, builder.build(), runs)
    return report_html(told, list(plots_of(told)))


def test_a_page_is_whole_and_names_runs_questions_and_figures() -> None:
    spoiling = shown(sentence("Ann met Tom ."), corrected=False)
    page = page_of(run("one", reranks=True, examples=(spoiling,)), run("two", reranks=False))
    Tags(page)
    assert "<title>Report on one, two</title>" in page
    assert "4 questions of toys; 2 without an answer are left out" in page
    text = re.sub(r"<[^>]+>", " ", page)
    assert re.search(
        r"one\s+epireader\s+75\.0\s+30\.1 to 95\.4\s+50\.0\s+15\.0 to 85\.0\s+100\.0\s+@2\s+0\s+1\s+1\b", text
    )
    assert re.search(r"two\s+as-reader\s+50\.0", text)
    assert "What the Reasoner changed: one" in page
    assert "What the Reasoner changed: two" not in page
    assert "Spoiled: the most telling of 1" in page
    assert "Left out, because the answer is not among the candidates: 1." in page


def test_without_a_reasoner_nothing_is_said_of_one() -> None:
    page = page_of(run("two", reranks=False))
    body = page[page.index("<body>") :]
    assert "Reasoner" not in body
    assert "Extractor" not in body


def test_names_are_escaped_everywhere() -> None:
    page = page_of(run(EVIL, reranks=True), asked=EVIL)
    assert "script" not in Tags(page).seen
    assert "&lt;script&gt;" in page
