"""`epireader make-questions`, from a text to files of questions and pages to print."""

import gzip
import json
import lzma
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from shared_data import shared_data

from epireader.cli.main import explained
from epireader.cli.make_questions import FEWEST, make_questions
from epireader.cli.worksheet import readable_title
from epireader.data.books import TITLE, plain_books
from epireader.data.example import Example
from epireader.data.loading import read_examples
from epireader.stories import bundled_stories
from epireader.text.names import name_kinds

STORIES = [story.text for story in bundled_stories().values()]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """All our stories as the chapters of one book."""
    path = tmp_path / "our stories.txt"
    path.write_text("\n\n".join(STORIES), encoding="utf-8")
    return path


def make(*arguments: object) -> Result:
    return CliRunner().invoke(make_questions, [str(argument) for argument in arguments])


def made(*arguments: object) -> dict[str, object]:
    done = make(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def refusal(*arguments: object) -> str:
    """The sentence a person would see."""
    done = make(*arguments)
    assert isinstance(done.exception, Exception)
    assert done.exit_code == 1
    return explained(done.exception) or ""


def examples_of(path: Path) -> list[Example]:
    return [replace(example, where="") for _, example in read_examples(path)]


def test_both_forms_hold_the_same_questions(book: Path, tmp_path: Path) -> None:
    counts = made(book, "--kind", "names", "--out", tmp_path / "q.txt")
    made(book, "--kind", "names", "--out", tmp_path / "q.jsonl")
    questions = examples_of(tmp_path / "q.txt")
    assert questions == examples_of(tmp_path / "q.jsonl")
    assert counts["questions"] == len(questions) > 60
    assert counts["format"] == "cbt"
    for question in questions:
        assert len(question.sentences) == 20
        assert FEWEST <= len(question.candidates) <= 10
        assert question.answer in question.candidates
    assert (tmp_path / "q.jsonl").read_text().startswith('{"passage"')


def test_the_summary_goes_to_stderr_and_nothing_else_is_said(book: Path, tmp_path: Path) -> None:
    done = make(book, "--kind", "names", "--out", tmp_path / "q.txt")
    assert done.stdout == ""
    assert re.fullmatch(r"\S+/q.txt: \d+ questions from \d+ sentences, 1 book\n", done.stderr)


def test_a_question_never_crosses_from_one_book_to_the_next(tmp_path: Path) -> None:
    several = tmp_path / "several.txt"
    several.write_text("".join(f"{TITLE} Story {n}\n{text}\n" for n, text in enumerate(STORIES)), encoding="utf-8")
    counts = made(several, "--kind", "names", "--out", tmp_path / "q.txt")
    assert counts["books"] == len(STORIES)
    books = [sentences for _, sentences in plain_books(several)]
    for question in examples_of(tmp_path / "q.txt"):
        assert any({*question.sentences} <= {*sentences} for sentences in books)


def test_fewer_questions_are_made_when_they_must_stand_apart(book: Path, tmp_path: Path) -> None:
    counts = made(book, "--kind", "names", "--every", 21, "--out", tmp_path / "q.txt")
    questions = examples_of(tmp_path / "q.txt")
    ((_, sentences),) = plain_books(book)
    starts = [n for q in questions for n in range(len(sentences)) if tuple(sentences[n : n + 20]) == q.sentences]
    assert 5 <= len(starts) == counts["questions"]
    assert all(after - before >= 21 for before, after in pairwise(starts))


def test_a_seed_gives_the_same_bytes_again_and_another_gives_others(book: Path, tmp_path: Path) -> None:
    for name, seed in (("a.txt", 1), ("b.txt", 1), ("c.txt", 2)):
        made(book, "--kind", "names", "--seed", seed, "--out", tmp_path / name)
    first, again, other = ((tmp_path / name).read_bytes() for name in ("a.txt", "b.txt", "c.txt"))
    assert first == again != other


def test_the_licence_around_a_gutenberg_book_is_no_part_of_it(book: Path, tmp_path: Path) -> None:
    wrapped = tmp_path / "gutenberg.txt"
    line = "*** {} OF THE PROJECT GUTENBERG EBOOK OUR STORIES ***\n"
    wrapped.write_text(
        f"Ann's licence.\n{line.format('START')}{book.read_text()}\n{line.format('END')}Bob's end.\n", encoding="utf-8"
    )
    assert list(plain_books(wrapped)) == list(plain_books(book))


@pytest.fixture
def tagged(tmp_path: Path) -> tuple[Path, Path]:
    """A tokenised book, packed, and the kinds of its words; every `the` counts as a noun."""
    lines, letters = [f"{TITLE} Ours"], [""]
    for _, sentences in plain_books(write(tmp_path / "plain.txt", "\n\n".join(STORIES))):
        for words, kinds in zip(sentences, name_kinds(sentences), strict=True):
            lines.append(" ".join(words))
            letters.append("".join("C" if w.islower() and k == "-" else k for w, k in zip(words, kinds, strict=True)))
    text, beside = tmp_path / "book.txt.xz", tmp_path / "book.kinds.txt.gz"
    text.write_bytes(lzma.compress("\n".join([*lines, ""]).encode()))
    beside.write_bytes(gzip.compress("\n".join([*letters, ""]).encode()))
    return text, beside


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["names", "nouns"])
def test_kinds_from_a_file_make_questions_of_ten_candidates(
    tagged: tuple[Path, Path], tmp_path: Path, kind: str
) -> None:
    text, beside = tagged
    made(text, "--kinds", beside, "--kind", kind, "--out", tmp_path / "q.txt")
    questions = examples_of(tmp_path / "q.txt")
    assert len(questions) > 60
    assert {len(question.candidates) for question in questions} == {10}
    assert all((question.answer or ("",))[0].islower() == (kind == "nouns") for question in questions)


@pytest.mark.parametrize(
    ("text", "kinds", "message"),
    [
        ("a b\nc\n", "NN\nNN\n", r"kinds.txt:2: there are 2 kinds here for the 1 words of \S+/text.txt:2"),
        (f"{TITLE} T\nc\n", "N\nN\n", "kinds.txt:1: there are 1 kinds here for the 0 words"),
        ("a b\n", "NX\n", "kinds.txt:1: a line of kinds has N .name., C .noun. and - .other. only"),
        ("a b\nc\n", "NN\n", r"kinds.txt: this file has fewer lines than \S+/text.txt"),
        ("a b\n", "NN\nN\n", r"text.txt: this file has fewer lines than \S+/kinds.txt"),
    ],
)
def test_kinds_that_do_not_fit_are_refused_with_their_place(
    tmp_path: Path, text: str, kinds: str, message: str
) -> None:
    book, beside = write(tmp_path / "text.txt", text), write(tmp_path / "kinds.txt", kinds)
    assert re.search(message, refusal(book, "--kinds", beside, "--kind", "names", "--out", tmp_path / "q.txt"))


def test_files_are_never_lost_by_accident(book: Path, tmp_path: Path) -> None:
    there = write(tmp_path / "there.txt", "mine")
    new = tmp_path / "new.txt"
    names = ("--kind", "names")
    assert "exists already" in refusal(book, *names, "--out", there)
    assert "exists already" in refusal(book, *names, "--out", new, "--html", there)
    assert there.read_text() == "mine"
    for twice in (("--out", book), ("--out", new, "--html", new), ("--out", new, "--html", book)):
        assert "is named twice" in refusal(book, *names, *twice, "--force")
    made(book, *names, "--out", there, "--force")
    assert there.read_text().startswith("1 ")


def test_names_that_could_not_be_read_back_are_refused(book: Path, tmp_path: Path) -> None:
    names = (book, "--kind", "names")
    assert "leave out .xz" in refusal(*names, "--out", tmp_path / "q.txt.xz")
    assert "a name for JSONL" in refusal(*names, "--out", tmp_path / "q.jsonl", "--format", "cbt")
    assert "does not exist; make it first" in refusal(*names, "--out", tmp_path / "no" / "q.txt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no question could be made from these 0 sentences"),
        (b"Ann slept. " * 30, "no question could be made from these 30 sentences"),
        (b"Ann slept.\n\xff\n", "book.txt:2: the line is not UTF-8: byte 0xff at column 1; save the file"),
        (b"Ann slept.\n\0", "book.txt:2: there is a NUL character"),
    ],
)
def test_a_text_that_makes_no_question_is_refused_and_leaves_no_file(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "book.txt").write_bytes(content)
    assert message in refusal(
        tmp_path / "book.txt", "--kind", "names", "--out", tmp_path / "q.txt", "--html", tmp_path / "q.html"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["book.txt"]


def test_a_text_with_the_blank_in_it_loses_only_the_questions_around_it(book: Path, tmp_path: Path) -> None:
    blanked = write(tmp_path / "blanked.txt", book.read_text().replace("Every day", "XXXXX day", 1))
    counts = made(blanked, "--kind", "names", "--out", tmp_path / "q.txt")
    assert 0 < int(str(counts["left_out"])) <= 21
    assert len(examples_of(tmp_path / "q.txt")) == counts["questions"]


class Page(HTMLParser):
    """The tags of a page and the text inside them; every tag must be closed where it should."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.classes: list[str] = []
        self.items: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.classes += (dict(attrs).get("class") or "").split()
        assert not {name for name, _ in attrs} & {"src", "href", "onclick", "style"}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "li":
            self.items.append(data)


def test_the_printed_page_has_every_question_its_words_and_the_answers_last(book: Path, tmp_path: Path) -> None:
    made(book, "--kind", "names", "--every", 21, "--out", tmp_path / "q.txt", "--html", tmp_path / "q.html")
    questions = examples_of(tmp_path / "q.txt")
    text = (tmp_path / "q.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.classes.count("blank") == len(questions)
    assert page.classes.count("sheet") == len(questions) + 1
    candidates = [words[0] for question in questions for words in question.candidates]
    assert page.items == [*candidates, *((question.answer or ("",))[0] for question in questions)]
    assert "<h1>our stories</h1>" in text
    assert "break-after: page" in text


def test_the_printed_page_needs_nothing_else_and_runs_nothing(tmp_path: Path) -> None:
    people = ["<script>alert(1)</script>", "<img/src=x>", "</li><b>", "&lt;", '"onclick="x', "{title}", "Ann", "Bob"]
    line = f"{' '.join(people)} </p><script>x()</script> things a b c d\n"
    wild = write(tmp_path / "<b>wild&.txt", f"{TITLE} <script>y</script>\n" + line * 25)
    beside = write(tmp_path / "kinds.txt", "\n" + "NNNNNNNN-CCCCC\n" * 25)
    made(wild, "--kinds", beside, "--kind", "names", "--out", tmp_path / "q.txt", "--html", tmp_path / "q.html")
    text = (tmp_path / "q.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not page.tags & {"script", "img", "b", "link", "iframe"}
    assert {*people} <= {*page.items}
    assert not re.search(r"https?:|url\(|@import", text)
    assert "default-src 'none'" in text


@pytest.mark.parametrize(
    ("title", "readable"),
    [
        ("Andrew_Lang___The_Grey_Fairy_Book.txt.out", "Andrew Lang: The Grey Fairy Book"),
        ("old_mr._toad.txt.xz", "old mr. toad"),
        ("", ""),
    ],
)
def test_titles_are_printed_for_people(title: str, readable: str) -> None:
    assert readable_title(title) == readable


def test_nouns_without_spacy_say_what_to_install(book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert "epireader[nouns]" in refusal(book, "--kind", "nouns", "--out", tmp_path / "q.txt")


def test_the_validation_books_of_cbt_make_the_questions_that_cbt_r_was_drawn_from(tmp_path: Path) -> None:
    """4,073 windows have a name to ask for, by a count of its own; none lacks candidates."""
    folder = shared_data("cbt-books")
    text, kinds = folder / "cbt_valid.txt.xz", folder / "cbt_valid.kinds.txt.xz"
    code = "from epireader.cli.make_questions import make_questions; make_questions()"
    options = ["--kind", "names", "--kinds", kinds, "--out", tmp_path / "q.txt", "--json"]
    done = subprocess.run([sys.executable, "-c", code, text, *options], capture_output=True, check=True)
    counts = json.loads(done.stdout)
    assert (counts["books"], counts["sentences"], counts["left_out"]) == (5, 12_742, 0)
    assert counts["questions"] == (tmp_path / "q.txt").read_text().count("\n\n") == 4_073
    assert done.stderr.count(b"\n") == 1
