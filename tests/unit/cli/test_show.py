"""What commands print, and where."""

import io
import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from epireader.cli.show import percent, print_json, progress_bar, read_text, say
from epireader.cli.train import Screen
from epireader.evaluation.accuracy import Evaluation, Share
from epireader.training.run import Progress

Captured = pytest.CaptureFixture[str]


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, show: Callable[[], None]) -> str:
    """What `show` writes to stderr where that is a terminal."""
    ours, theirs = pty.openpty()
    read: list[bytes] = []

    def collect() -> None:
        try:
            while data := os.read(ours, 4096):
                read.append(data)
        except OSError:  # the other end was closed
            pass

    reader = threading.Thread(target=collect)
    reader.start()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with open(theirs, "w") as terminal:  # noqa: PTH123
        monkeypatch.setattr(sys, "stderr", terminal)
        show()
        monkeypatch.undo()
    reader.join(10)
    os.close(ours)
    return b"".join(read).decode()


def test_results_go_to_stdout_and_the_rest_to_stderr(capsys: Captured) -> None:
    print_json({"answer": "Zoë", "lines": "a\nb"})
    say("by the way")
    out, err = capsys.readouterr()
    assert json.loads(out) == {"answer": "Zoë", "lines": "a\nb"}
    assert "Zoë" in out
    assert out.count("\n") == 1
    assert err == "by the way\n"


def test_a_bar_is_silent_where_there_is_no_terminal(capsys: Captured) -> None:
    with progress_bar("Reading", 10) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal_shows_count_rate_and_time_left(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def show() -> None:
        with progress_bar("Reading", 4000) as advance:
            advance(3000)

    shown = on_a_terminal(monkeypatch, show)
    assert "Reading" in shown
    assert "3,000 of 4,000" in shown
    assert "questions/s" in shown
    assert capsys.readouterr().out == ""


def test_a_bar_of_bytes_speaks_of_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def show() -> None:
        with progress_bar("Reading", 4_000_000, unit="bytes") as advance:
            advance(2_000_000)

    shown = on_a_terminal(monkeypatch, show)
    assert "2.0/4.0 MB" in shown
    assert "MB/s" in shown


def evaluation(right: int) -> Evaluation:
    share = Share(right, 4)
    return Evaluation(
        questions=4, unknown=0, extractor=Share(1, 4), final=share, recall_at={1: Share(1, 4), 5: Share(4, 4)},
        corrected=0, spoiled=0,
    )  # fmt: skip


def show_a_run(screen: Screen) -> None:
    screen.epoch(0, 12, 5)
    for _ in range(7):
        screen.step()
    screen.validated(Progress(best_epoch=0), evaluation(3))
    screen.epoch(1, 12, 0)
    screen.validated(Progress(epoch=1, best_epoch=0), evaluation(2))


def test_a_run_is_shown_as_a_line_an_epoch_and_says_where_it_goes_on(capsys: Captured) -> None:
    with Screen(quiet=False) as screen:
        assert screen.idle
        show_a_run(screen)
        assert not screen.idle
    assert capsys.readouterr() == (
        "",
        "going on in epoch 1 after step 5 of 12\n"
        "epoch 1: validation accuracy 75.00, Extractor 25.00, recall@5 100.00  (best so far)\n"
        "epoch 2: validation accuracy 50.00, Extractor 25.00, recall@5 100.00\n",
    )


def test_a_run_on_a_terminal_has_a_bar_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    def show() -> None:
        with Screen(quiet=False) as screen:
            show_a_run(screen)

    shown = on_a_terminal(monkeypatch, show)
    for text in ("Epoch 1", "12 of 12", "steps/s", "Epoch 2", "validation accuracy 75.00"):
        assert text in shown


def test_all_processes_but_the_first_are_quiet(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    with Screen(quiet=True) as screen:
        show_a_run(screen)
    assert capsys.readouterr() == ("", "")

    def show() -> None:
        with ExitStack() as stack:
            show_a_run(stack.enter_context(Screen(quiet=True)))

    assert on_a_terminal(monkeypatch, show) == ""


def test_shares_are_shown_in_percent_with_two_digits() -> None:
    assert (percent(2 / 3), percent(1.0), percent(0.0)) == ("66.67", "100.00", "0.00")


def test_text_is_read_from_files_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "story.txt").write_bytes(b"\xef\xbb\xbfZo\xc3\xab ran.\r\n")
    assert read_text(tmp_path / "story.txt") == "Zoë ran.\r\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Zoë sat.".encode())))
    assert read_text(Path("-")) == "Zoë sat."


@pytest.mark.parametrize("third", [b"Zo\xeb", "Zoe".encode("utf-16-le"), b"PK\0\3"], ids=["latin-1", "utf-16", "zip"])
def test_what_is_not_utf_8_text_is_refused_by_file_and_line(tmp_path: Path, third: bytes) -> None:
    (tmp_path / "story.txt").write_bytes(b"one\ntwo\n" + third)
    with pytest.raises(ValueError, match=r"story\.txt:3: this is not UTF-8 text; save it as plain text in UTF-8 and"):
        read_text(tmp_path / "story.txt")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["tokenize -", "make-questions a.txt --kinds a.kinds --kind names --out b.txt"])
def test_a_stream_that_is_closed_is_an_empty_one(tmp_path: Path, command: str, closed: str) -> None:
    (tmp_path / "a.txt").write_text("Ann Bob Cid Dan Eve Fay Gus Hal Ida Jim .\n" * 21)
    (tmp_path / "a.kinds").write_text("NNNNNNNNNN-\n" * 21)
    script = f'"$0" -m epireader {command} < a.txt {closed}'
    finished = subprocess.run(["sh", "-c", script, sys.executable], cwd=tmp_path, capture_output=True, check=False)
    assert (finished.returncode, b"Traceback" in finished.stderr) == (0, False)
    assert command == "tokenize -" or "XXXXX" in (tmp_path / "b.txt").read_text()


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("sentences", [1, 30_000])
def test_a_reader_that_goes_away_is_no_reason_to_complain(tmp_path: Path, sentences: int, buffered: bool) -> None:
    (tmp_path / "story.txt").write_text("The cat sat on the mat.\n" * sentences)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [sys.executable, *([] if buffered else ["-u"]), "-m", "epireader", "tokenize", str(tmp_path / "story.txt")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
    ) as started:  # fmt: skip
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()
        assert started.stderr.read() == b""
    assert started.returncode == 1
