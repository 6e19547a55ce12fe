"""`epireader report` as a person gives it."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from builders import toy_corpus, who_has_what
from running import call, tiny, train_here

from epireader.data.writing import cbt_record

pytest.importorskip("matplotlib")

Captured = pytest.CaptureFixture[str]
PICTURES = ["accuracy", "by-distance", "by-length", "by-mentions", "learning", "loss", "recall"]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus and two runs."""
    folder = tmp_path_factory.mktemp("work")
    toy_corpus(folder / "corpus", train=96, valid=40)
    quick = ("training.max_epochs=2", "training.learning_rate=0.01")
    for name, preset in {"epi": "cbt-ne", "as": "as-reader"}.items():
        train_here(folder / "corpus", folder / name, tiny(preset, *quick))
    return folder


def said(capsys: Captured, *words: object) -> tuple[int, str]:
    """The exit code and what is said; nothing may go to standard output."""
    capsys.readouterr()
    code = call("report", *words)
    captured = capsys.readouterr()
    assert captured.out == ""
    return code, captured.err


def refused(capsys: Captured, *words: object, code: int = 2) -> str:
    found, text = said(capsys, *words)
    assert found == code
    assert "Traceback" not in text
    return text


def test_two_runs_are_told_of_in_one_page_that_needs_nothing_else(work: Path, tmp_path: Path, capsys: Captured) -> None:
    out, pictures = tmp_path / "report.html", tmp_path / "pictures"
    code, text = said(capsys, work / "epi", work / "as", "--out", out, "--png", pictures, "--device", "cpu")
    assert (code, text) == (0, f"written to {out}\n7 pictures in {pictures}\n")
    page = out.read_text(encoding="utf-8")
    for heading in (
        "Training loss",
        "Validation accuracy",
        "Right answer among the first K",
        "What the Reasoner changed: epi",
    ):
        assert heading in page
    assert "40 questions of corpus, validation" in page
    assert page.count("<svg") == 7
    assert sorted(file.name for file in pictures.iterdir()) == [f"{name}.png" for name in PICTURES]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["pictures", "report.html"]
    assert not re.search(r'(?:href|src|action)="(?!#)|url\((?!#)|@import|<script|<link|<iframe', page)
    # The names of XML's own vocabularies look like addresses, but nothing is fetched from there.
    assert set(re.findall(r"https?://[^\"'\s<]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "default-src 'none'" in page
    assert str(work) not in page


def test_the_same_runs_give_the_same_page(work: Path, tmp_path: Path) -> None:
    for name in ("one.html", "two.html"):
        assert call("report", work / "epi", "--out", tmp_path / name, "--device", "cpu") == 0
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_a_model_that_is_no_run_is_told_of_without_learning(work: Path, tmp_path: Path, capsys: Captured) -> None:
    shutil.copytree(work / "epi", tmp_path / "model", ignore=shutil.ignore_patterns("metrics.jsonl"))
    out = tmp_path / "report.html"
    assert said(capsys, tmp_path / "model", "most-frequent", work / "corpus", "--out", out)[0] == 0
    page = out.read_text(encoding="utf-8")
    assert "Learning" not in page
    assert page.count("<svg") == 5
    assert "most-frequent" in page


def test_a_reader_without_a_reasoner_has_no_such_parts(work: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert call("report", work / "as", "--out", out) == 0
    page = out.read_text(encoding="utf-8")
    body = page[page.index("<body>") :]
    assert "Learning" in body
    assert "Reasoner" not in body
    assert "Extractor" not in body


def test_hostile_text_in_a_passage_stays_text(work: Path, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><img/src=x>"
    random = np.random.default_rng(0)
    records = [cbt_record(who_has_what(random)).replace("Ann", evil).replace("the", f"</p>{evil}") for _ in range(60)]
    source = tmp_path / "cbtest_NE_valid_2000ex.txt"
    source.write_text("".join(records))
    shutil.copytree(work / "epi", tmp_path / "x<b>y")
    assert call("report", reversed_reasoner(tmp_path / "x<b>y"), source, "--out", tmp_path / "report.html") == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<article" in page
    assert "&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "x&lt;b&gt;y" in page
    assert not re.search(r"<script|<img|<b>y", page)


def reversed_reasoner(run: Path) -> Path:
    """The same run with a Reasoner that is very sure of something else, so that there is something to show."""
    from safetensors.torch import load_file, save_file

    weights = load_file(run / "model.safetensors")
    for name, value in weights.items():
        if name.startswith("reasoner"):
            value *= -30 if name == "reasoner.evidence.weight" else 30
    save_file(weights, run / "model.safetensors")
    return run


def test_examples_are_as_many_as_wanted(work: Path, tmp_path: Path) -> None:
    shutil.copytree(work / "epi", tmp_path / "epi")
    run = reversed_reasoner(tmp_path / "epi")
    for wanted in (0, 1):
        out = tmp_path / f"{wanted}.html"
        assert call("report", run, work / "corpus", "--out", out, "--examples", wanted) == 0
        page = out.read_text(encoding="utf-8")
        assert page.count('<article class="corrected">') <= wanted
        assert page.count('<article class="spoiled">') == wanted


def test_a_file_of_test_questions_needs_no_split(work: Path, tmp_path: Path) -> None:
    source = tmp_path / "toy.test.jsonl"
    source.write_text(
        '{"passage": ["Ann has the cup ."], "question": "XXXXX .", "candidates": ["Ann"], "answer": "Ann"}\n'
    )
    assert call("report", work / "as", source, "--out", tmp_path / "report.html") == 0
    assert "1 question of toy.test.jsonl" in (tmp_path / "report.html").read_text()


def test_what_is_no_run_is_refused_in_one_sentence(work: Path, tmp_path: Path, capsys: Captured) -> None:
    out = ("--out", tmp_path / "report.html")
    assert "there is no model" in refused(capsys, tmp_path / "nothing", *out, code=1)
    (tmp_path / "empty").mkdir()
    for words in ([tmp_path / "empty"], [tmp_path / "empty", work / "corpus"]):
        assert "holds no reader" in refused(capsys, *words, *out, code=1)
    shutil.copytree(work / "as", tmp_path / "seeds/seed-0")
    for words in ([tmp_path / "seeds"], [work / "as", tmp_path / "seeds"]):
        assert f"name one of its runs, such as {tmp_path / 'seeds/seed-0'}" in refused(capsys, *words, *out, code=1)
    assert "is not here; name QUESTIONS after the runs" in refused(capsys, "most-frequent", *out)
    assert "give every run once" in refused(capsys, work / "as", work / "as", *out)
    assert "there is no folder" in refused(capsys, work / "as", "--out", tmp_path / "no/report.html")
    assert "has no test questions" in refused(capsys, work / "as", *out, "--split", "test", code=1)
    assert not (tmp_path / "report.html").exists()


def test_a_corpus_that_has_gone_and_corpora_that_differ_are_named(work: Path, tmp_path: Path, capsys: Captured) -> None:
    shutil.copytree(work, tmp_path / "moved")
    out = ("--out", tmp_path / "report.html")
    differ = refused(capsys, work / "as", tmp_path / "moved/as", *out)
    assert f"different corpora ({work / 'corpus'} and {tmp_path / 'moved/corpus'})" in " ".join(differ.split())
    shutil.rmtree(tmp_path / "moved/corpus")
    gone = refused(capsys, tmp_path / "moved/as", *out)
    assert f"the corpus {tmp_path / 'moved/as'} was trained on is not here" in " ".join(gone.split())


@pytest.mark.parametrize("line", ["{half a line", '{"kind": "valid"}'])
def test_damaged_metrics_are_named(work: Path, tmp_path: Path, capsys: Captured, line: str) -> None:
    shutil.copytree(work / "as", tmp_path / "as")
    (tmp_path / "as/metrics.jsonl").write_text(line + "\n")
    text = refused(capsys, tmp_path / "as", work / "corpus", "--out", tmp_path / "report.html", code=1)
    assert f"{tmp_path / 'as/metrics.jsonl'} is damaged" in text


def test_without_matplotlib_it_says_so_before_anything_is_read(
    work: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = refused(capsys, tmp_path / "nothing", "--out", tmp_path / "report.html", code=1)
    assert text == "epireader: drawing needs matplotlib; install it with: pip install 'epireader[plots]'\n"
