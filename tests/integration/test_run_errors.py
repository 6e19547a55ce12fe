"""What goes wrong with a run is said in one sentence, and what was there stays."""

import json
from pathlib import Path

import pytest
import torch
from builders import toy_corpus
from running import as_options, call, in_a_fork, result_of, saved_progress, tiny, train_here, train_on_a_small_disk
from safetensors.torch import load, save_file

from epireader.readers import saved

Captured = pytest.CaptureFixture[str]
STEPS = 6  # of an epoch


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_corpus(tmp_path_factory.mktemp("toy") / "corpus", train=8 * STEPS, valid=16).folder


def refused(capsys: Captured, *words: object, code: int = 1) -> str:
    """The one sentence with which a command ends."""
    capsys.readouterr()
    assert call(*words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("epireader: ")
    assert err.count("\n") == 1
    return err.removeprefix("epireader: ").rstrip("\n")


def training(corpus: Path, out: Path, *overrides: str) -> list[object]:
    return ["train", corpus, *as_options("as-reader", "training.max_epochs=2", *overrides), "--out", out]


def everything_in(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--preset", "cbt-nee"], "there is no preset 'cbt-nee'; did you mean cbt-ne?"),
        (
            ["--preset", "cbt-ne", "--set", "training.lerning_rate=1"],
            "there is no setting training.lerning_rate; did you mean training.learning_rate?",
        ),
        (["--preset", "cnn", "--set", "reader=stanford"], "preset cnn is for the reader epireader, not stanford; give stanford"),
        (["--preset", "as-reader", "--set", "model.hidden_dim=0"], "model.hidden_dim must be at least 1, got 0"),
        (["--preset", "as-reader", "--set", "model.embedding_dim=-3"], "model.embedding_dim must be at least 1, got -3"),
        (["--preset", "as-reader", "--set", "vocabulary.strangers=0"], "a vocabulary needs at least one stranger vector, got 0"),
        (["--preset", "as-reader", "--device", "cuda:7"], "this machine has no GPU that torch can use; give --device cpu"),
        (["--preset", "as-reader", "--device", "gpu"], "there is no device 'gpu'; give auto, cpu or cuda"),
    ],
)  # fmt: skip
def test_a_run_that_cannot_begin_says_why_and_makes_no_folder(
    corpus: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, words: list[str], sentence: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert refused(capsys, "train", corpus, *words, "--out", tmp_path / "run") == sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_a_machine_without_a_gpu_is_told_of_before_anything_is_read(
    corpus: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    words = [tmp_path, corpus] if command == "evaluate" else ["a", "b", "--questions", corpus]
    assert "has no GPU" in refused(capsys, command, *words, "--device", "cuda")


def test_a_corpus_that_cannot_be_trained_on_is_refused(tmp_path: Path, capsys: Captured) -> None:
    assert "is not a prepared corpus" in refused(capsys, *training(tmp_path, tmp_path / "run"))
    line = json.dumps({"passage": "Ann ran.", "question": "XXXXX ran.", "candidates": ["Ann"], "answer": "Ann"})
    (tmp_path / "a.train.jsonl").write_text(line + "\n")
    assert call("prepare", tmp_path / "a.train.jsonl", tmp_path / "train-only") == 0
    assert "has no valid questions, only train" in refused(capsys, *training(tmp_path / "train-only", tmp_path / "run"))
    (tmp_path / "b.train.jsonl").write_text('{"passage": "Ann ran.", "question": "XXXXX ran."}\n')
    assert call("prepare", tmp_path / "b.train.jsonl", tmp_path / "unanswered") == 0
    sentence = refused(capsys, *training(tmp_path / "unanswered", tmp_path / "run"))
    assert sentence == f"no training question of {tmp_path / 'unanswered'} has its answer among its candidates"
    assert not (tmp_path / "run").exists()


def test_a_run_with_other_settings_is_refused_and_left_as_it_is(corpus: Path, tmp_path: Path, capsys: Captured) -> None:
    assert call(*training(corpus, tmp_path / "run")) == 0
    before = everything_in(tmp_path / "run")
    sentence = refused(capsys, *training(corpus, tmp_path / "run", "training.seed=5", "model.hidden_dim=7"))
    assert sentence == (
        f"{tmp_path / 'run'} holds a run with other settings"
        " (model.hidden_dim was 6 and is 7; training.seed was 0 and is 5); give another --out"
    )
    assert everything_in(tmp_path / "run") == before


def test_a_run_of_another_reader_is_refused_by_name_and_left_as_it_is(
    corpus: Path, tmp_path: Path, capsys: Captured
) -> None:
    run = tmp_path / "run"
    assert call(*training(corpus, run)) == 0
    before = everything_in(run)
    sentence = refused(capsys, "train", corpus, "--preset", "stanford", "--out", run)
    assert sentence == f"{run} was begun with the reader as-reader, and this one is stanford; give another --out"
    assert everything_in(run) == before


def test_a_folder_that_is_no_run_is_left_alone(corpus: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("keep me")
    sentence = refused(capsys, *training(corpus, tmp_path / "run"))
    assert sentence == f"{tmp_path / 'run'} exists and is not a run; give another --out"
    assert everything_in(tmp_path / "run") == {"mine.txt": b"keep me"}


def test_a_checkpoint_that_is_damaged_or_foreign_is_refused(corpus: Path, tmp_path: Path, capsys: Captured) -> None:
    run = tmp_path / "run"
    assert call(*training(corpus, run)) == 0
    path = run / "resume.safetensors"
    whole = path.read_bytes()
    tensors = load(whole)
    record = {"record": json.dumps({"format": "epireader-resume", "progress": saved_progress(run)})}

    def spoil(content: bytes | dict[str, torch.Tensor], metadata: dict[str, str] = record) -> str:
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            save_file(content, path, metadata=metadata)
        before = everything_in(run)
        sentence = refused(capsys, *training(corpus, run))
        assert everything_in(run) == before
        assert str(path) in sentence
        return sentence

    assert "is damaged" in spoil(whole[: len(whole) // 2])
    assert "is damaged" in spoil(b"")
    assert "is damaged" in spoil(b"\0" * 100)
    assert "was not written by a run" in spoil(tensors, {})
    assert "belongs to another reader" in spoil({n: t for n, t in tensors.items() if n != "model.embedding.weight"})
    assert "is of another version" in spoil({**tensors, "optimizer.other.step": torch.zeros(1)})
    later = json.dumps({"format": "epireader-resume", "progress": {"speed": 1}})
    assert "is of another version" in spoil(tensors, {"record": later})
    path.write_bytes(whole)
    assert call(*training(corpus, run)) == 0


def test_a_loss_that_is_no_longer_a_number_ends_the_run(corpus: Path, tmp_path: Path, capsys: Captured) -> None:
    sentence = refused(capsys, *training(corpus, tmp_path / "run", "training.learning_rate=1e38"))
    assert sentence == (
        "the loss is no longer a number after step 6: try a smaller training.learning_rate, or training.clip_norm=10"
    )
    assert not (tmp_path / "run" / "model.safetensors").exists()
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_a_full_disk_ends_the_run_with_a_sentence_and_the_earlier_files_stay(corpus: Path, tmp_path: Path) -> None:
    out, config = tmp_path / "run", tiny("as-reader", "training.max_epochs=2", "training.checkpoint_minutes=0")
    assert in_a_fork(train_on_a_small_disk, corpus, out, config, 4000, STEPS + 2) == 1
    said = (out / "said").read_text()
    assert said.startswith(f"cannot write {out / 'resume.safetensors'}: ")
    assert "File too large" in said
    assert saved_progress(out)["total_steps"] == STEPS + 1
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []
    train_here(corpus, out, config)
    train_here(corpus, tmp_path / "whole", config)
    assert result_of(out) == result_of(tmp_path / "whole")


def test_a_best_reader_that_cannot_be_saved_ends_the_run(
    corpus: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = saved.save_file

    def full(tensors: dict[str, torch.Tensor], path: Path, **options: object) -> None:
        if "model" in path.name:
            raise OSError(28, "No space left on device", str(path))
        real(tensors, path, **options)

    monkeypatch.setattr(saved, "save_file", full)
    assert refused(capsys, *training(corpus, tmp_path / "run")).startswith("No space left on device: ")
    monkeypatch.undo()
    assert call(*training(corpus, tmp_path / "run")) == 0
    assert call(*training(corpus, tmp_path / "whole")) == 0
    assert result_of(tmp_path / "run") == result_of(tmp_path / "whole")


def test_too_little_gpu_memory_is_explained(
    corpus: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_much(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 99 GiB")

    monkeypatch.setattr("epireader.training.step.loss_of", too_much)
    assert "try a smaller training.batch_size" in refused(capsys, *training(corpus, tmp_path / "run"))


def test_our_own_mistakes_are_not_explained_away(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: object) -> None:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr("epireader.training.step.loss_of", mistaken)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        call(*training(corpus, tmp_path / "run"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["evaluate", "nowhere", "{corpus}"], "there is no model 'nowhere'"),
        (["evaluate", "{corpus}", "{corpus}"], "holds no reader"),
        (["compare", "a.jsonl", "b.jsonl"], "No such file or directory: a.jsonl"),
        (["ensemble", "{corpus}", "{corpus}", "--out", "{out}"], "holds no reader"),
        (["prepare", "{corpus}", "{corpus}"], "exists already"),
    ],
)  # fmt: skip
def test_other_commands_say_what_is_wrong_in_one_sentence(
    corpus: Path, tmp_path: Path, capsys: Captured, words: list[str], sentence: str
) -> None:
    named = [word.format(corpus=corpus, out=tmp_path / "out") for word in words]
    assert sentence in refused(capsys, *named)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["train"], "Missing argument 'CORPUS'"),
        (["train", "{corpus}", "--preset", "cnn"], "Missing option '--out'"),
        (["train", "nowhere", "--preset", "cnn", "--out", "x"], "Directory 'nowhere' does not exist"),
        (["trian"], "No such command 'trian'"),
        (["evaluate", "default", "{corpus}", "--split", "dev"], "'dev' is not one of"),
        (["evaluate", "default", "{corpus}", "--predictions", "nowhere/x.jsonl"], "there is no folder nowhere to put x.jsonl"),
        (["table", "--png", "nowhere/table.png"], "there is no folder nowhere to put table.png into"),
        (["compare", "only-one"], "give at least two readers to compare, each of them once"),
        (["compare", "twice", "twice"], "give at least two readers to compare, each of them once"),
        (["compare", "a.jsonl", "b"], "compare either prediction files or models, not both"),
        (["compare", "{corpus}/train.jsonl", "{corpus}/x.jsonl"], "was not written by evaluate --predictions"),
    ],
)  # fmt: skip
def test_a_mistake_on_the_command_line_gives_exit_code_2(
    corpus: Path, tmp_path: Path, capsys: Captured, words: list[str], sentence: str
) -> None:
    for name, content in {"train.jsonl": b"\xff\n", "x.jsonl": b"[]\n"}.items():
        (corpus / name).write_bytes(content)
    assert call(*(word.format(corpus=corpus) for word in words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
