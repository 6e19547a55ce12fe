"""`epireader answer` as a person and a script use it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from epireader.cli.answer import DEMONSTRATION
from epireader.cli.main import cli
from epireader.files import sha256_of

STORY, QUESTION = DEMONSTRATION


def run(*arguments: str, text: str | None = None, columns: int = 140) -> Result:
    env = {"COLUMNS": str(columns)}
    return CliRunner().invoke(cli, ["answer", *arguments], input=text, env=env, catch_exceptions=False)


def test_the_demonstration_prints_ranked_hypotheses_with_p_e_and_pi() -> None:
    result = run("--demo")
    assert result.exit_code == 0
    assert ["p", "e", "pi"] in [line.split() for line in result.stdout.splitlines()]
    rows = [line.split() for line in result.stdout.splitlines() if line.lstrip()[:1].isdigit()]
    assert rows[0][1] == "Tippin"
    assert [float(row[4]) for row in rows] == sorted((float(row[4]) for row in rows), reverse=True)


def test_json_is_one_object_on_one_line() -> None:
    result = run("--story", STORY, "--question", QUESTION, "--top", "3", "--json")
    record = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert record["answers"][0]["text"] == "Tippin"
    assert set(record["answers"][0]) == {"text", "p", "e", "pi", "mentions", "evidence", "fits_blank"}
    assert len(record["answers"]) == 3


def test_a_story_is_read_from_a_file_or_from_standard_input(tmp_path: Path) -> None:
    text = "Ann had a goat. Tom had a cow. The goat ran off."
    path = tmp_path / "story.txt"
    path.write_text("\ufeff" + text.replace(" ", "\r\n", 3), encoding="utf-8")
    question = ["--question", "The XXXXX ran off.", "--candidates", "goat, cow", "--json"]
    from_file = run("--story", str(path), *question)
    from_stdin = run("--story", "-", *question, text=text)
    answers = [[a["text"] for a in json.loads(r.stdout)["answers"]] for r in (from_file, from_stdin)]
    assert answers[0] == answers[1]
    assert set(answers[0]) == {"goat", "cow"}


def test_candidates_of_several_words_work(tmp_path: Path) -> None:
    path = tmp_path / "story.txt"
    path.write_text("Ann Lee had a goat. Tom Bell had a cow.")
    result = run("--story", str(path), "--question", "XXXXX had it.", "--candidates", "Ann Lee,Tom Bell", "--json")
    assert {a["text"] for a in json.loads(result.stdout)["answers"]} == {"Ann Lee", "Tom Bell"}


def test_an_explanation_shows_the_passage_the_hypotheses_and_the_evidence() -> None:
    result = run("--demo", "--explain")
    assert "Gaffer" in result.stdout
    assert "p, Extractor" in result.stdout
    heading = next(line for line in result.stdout.splitlines() if "after the sentence" in line)
    assert heading.split()[:4] == ["Tippin", "moved", "Ulwin", "moved"]


@pytest.mark.parametrize("no_color", [False, True])
def test_where_the_reader_looked_is_coloured_or_else_marked(monkeypatch: pytest.MonkeyPatch, no_color: bool) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("TERM", "xterm-256color")
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    assert ("Ulwin**" in run("--demo", "--explain").stdout) == no_color


def test_an_explanation_shows_how_each_hypothesis_fits_the_blank() -> None:
    answers = json.loads(run("--demo", "--json").stdout)["answers"]
    lines = run("--demo", "--explain").stdout.splitlines()
    first = next(n for n, line in enumerate(lines) if line.split()[-3:] == ["fits", "the", "blank"])
    shown = [line.split()[-1] for line in lines[first + 1 : first + 1 + len(answers)]]
    assert shown == [f"{answer['fits_blank']:+.2f}" for answer in answers]


def test_hypotheses_stand_on_a_line_each_even_where_lines_are_short() -> None:
    lines = run("--demo", "--explain", columns=80).stdout.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("Tippin "))
    assert all(len(line.split()) == 8 for line in lines[first : first + 10])
    assert not any("…" in line for line in lines[first - 1 : first + 10])


def test_a_reader_that_does_not_ask_how_words_fit_the_blank_says_nothing_of_it() -> None:
    asked = ("--demo", "--model", "most-frequent")
    assert "fits the blank" not in run(*asked, "--explain").stdout
    assert all("fits_blank" not in answer for answer in json.loads(run(*asked, "--json").stdout)["answers"])


def test_the_bundled_stories_can_be_listed() -> None:
    assert STORY in run("--stories").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name a story with --story"),
        (["--story", "no-such-story", "--question", "XXXXX"], "there is no file 'no-such-story'"),
        (["--story", STORY], "ask something with --question"),
        (["--batch", "pyproject.toml"], "say where the answers go with --out"),
        (["--batch", "pyproject.toml", "--candidates", "a,b"], "--candidates does nothing beside --batch"),
        (["--demo", "--question", "XXXXX"], "--question does nothing beside --demo"),
        (["--story", STORY, "--question", "XXXXX", "--out", "x.json"], "--out goes with --batch"),
    ],
)
def test_a_mistake_on_the_command_line_is_explained_with_exit_code_2(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(cli, ["answer", *arguments])
    assert result.exit_code == 2
    assert sentence in result.stderr


def batch_lines(count: int) -> list[str]:
    passages = ["Ann had a goat. Tom had a cow.", ["Sue has a hat .", "Max has a cup ."]]
    return [
        json.dumps({"id": n, "passage": passages[n % 2], "question": "The one who had it was XXXXX ."})
        for n in range(count)
    ]


def test_a_batch_is_answered_line_by_line_and_a_bad_line_does_not_stop_it(tmp_path: Path) -> None:
    lines = batch_lines(5)
    lines[2] = '{"passage": "Ann had a goat.", "question": "no blank"}'
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    result = run("--batch", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / "out.jsonl"), "--top", "2")
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert result.exit_code == 0
    assert [record.get("id") for record in records] == [0, 1, None, 3, 4]
    assert records[2]["line"] == 3
    assert "exactly one blank" in records[2]["error"]
    assert f"{tmp_path / 'in.jsonl'}:3: the question must have exactly one blank" in result.stderr
    assert all(len(record["answers"]) == 2 for record in records if "answers" in record)


def test_a_batch_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("\n".join(batch_lines(9)) + "\n")
    run("--batch", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / "whole.jsonl"))
    whole = (tmp_path / "whole.jsonl").read_bytes()
    four_and_a_half = b"".join(whole.splitlines(keepends=True)[:4]) + b'{"id": 4, "quest'
    (tmp_path / "out.jsonl.part").write_bytes(four_and_a_half)
    (tmp_path / "out.jsonl.part.json").write_text(
        json.dumps({"source": sha256_of(tmp_path / "in.jsonl"), "model": "default", "top": None})
    )
    result = run("--batch", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / "out.jsonl"))
    assert "going on after line 4" in result.stderr
    again = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [record["id"] for record in again] == list(range(9))
    assert [r["answers"][0]["text"] for r in again] == [json.loads(x)["answers"][0]["text"] for x in whole.splitlines()]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl", "whole.jsonl"]


@pytest.mark.parametrize("changed", ["the questions", "--model", "--top", "nothing is known"])
def test_a_batch_goes_on_only_with_what_it_was_begun_with(tmp_path: Path, changed: str) -> None:
    source, part = tmp_path / "in.jsonl", tmp_path / "out.jsonl.part"
    source.write_text("\n".join(batch_lines(3)) + "\n")
    made_of = {"source": sha256_of(source), "model": "default", "top": 2}
    made_of |= {"the questions": {"source": "other"}, "--model": {"model": "mine"}, "--top": {"top": 1}}.get(
        changed, {}
    )
    part.write_text('{"id": 0}\n')
    if changed != "nothing is known":
        (tmp_path / "out.jsonl.part.json").write_text(json.dumps(made_of))
    result = CliRunner().invoke(
        cli, ["answer", "--batch", str(source), "--out", str(tmp_path / "out.jsonl"), "--top", "2"]
    )
    assert result.exit_code == 2
    assert "give what it was begun with, or remove it to begin anew" in result.stderr
    assert part.read_text() == '{"id": 0}\n'


def test_a_batch_of_which_no_line_can_be_answered_has_failed(tmp_path: Path) -> None:
    (tmp_path / "story.txt").write_text("Ann had a goat.\nTom had a cow.\n")
    result = CliRunner().invoke(
        cli, ["answer", "--batch", str(tmp_path / "story.txt"), "--out", str(tmp_path / "out.jsonl")]
    )
    assert str(result.exception).startswith(f"no line of {tmp_path / 'story.txt'} could be answered; ")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2


def test_the_licence_around_a_book_is_no_part_of_its_story(tmp_path: Path) -> None:
    frame = "*** {} OF THE PROJECT GUTENBERG EBOOK ANN ***\n"
    story = "Ann had a goat. Tom had a cow.\n"
    (tmp_path / "book.txt").write_text(f"Licence.\n{frame.format('START')}{story}{frame.format('END')}Donate.\n")
    (tmp_path / "story.txt").write_text(story)
    book, plain = (
        run("--story", str(tmp_path / name), "--question", "XXXXX had a cow.").stdout
        for name in ("book.txt", "story.txt")
    )
    assert book == plain


def test_a_batch_never_writes_over_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(batch_lines(1)[0])
    (tmp_path / "out.jsonl").write_text("mine")
    result = CliRunner().invoke(
        cli, ["answer", "--batch", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / "out.jsonl")]
    )
    assert result.exit_code == 2
    assert (tmp_path / "out.jsonl").read_text() == "mine"
