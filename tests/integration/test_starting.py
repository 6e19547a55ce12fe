"""`epireader train --from`: a reader that was trained before goes on learning, from other questions or by other rules."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from builders import toy_corpus
from running import Watch, as_options, call, tiny, train_here

from epireader.readers.saved import find_model, load_model
from epireader.settings import BadSetting
from epireader.training.beginning import fresh_model
from epireader.training.config import config_of_trained
from epireader.training.run import RunRefused

ONE_EPOCH = "training.max_epochs=1"
HARDLY = "training.learning_rate=1e-9"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_corpus(tmp_path_factory.mktemp("toy") / "corpus", train=16, valid=4).folder


@pytest.fixture(scope="module")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small EpiReader."""
    out = tmp_path_factory.mktemp("trained") / "run"
    train_here(corpus, out, tiny("cbt-ne", ONE_EPOCH, "training.max_minutes=9", "training.learning_rate=0.01"))
    return out


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_model(folder).module.state_dict()


def test_a_reader_begins_with_the_words_and_weights_of_the_other_whatever_the_corpus(
    trained: Path, tmp_path: Path
) -> None:
    other = toy_corpus(tmp_path / "other", train=4, valid=2)
    model = fresh_model(other, config_of_trained(trained, with_books=False), torch.device("cpu"), start=trained)
    assert model.vocabulary.words == load_model(trained).vocabulary.words
    for name, weight in weights(trained).items():
        assert torch.equal(model.module.state_dict()[name], weight), name


def test_settings_are_those_it_was_trained_with_but_for_its_time_and_what_is_set(trained: Path) -> None:
    config = config_of_trained(trained, ["training.l2=0.5", "model.margin=0.2"], with_books=False)
    before = tiny("cbt-ne", ONE_EPOCH, "training.learning_rate=0.01", "training.l2=0.5", "model.margin=0.2")
    assert config == before, "nothing is left of the nine minutes"
    assert config_of_trained(trained, ["books.names=0"], with_books=True).books.names == 0


def test_the_command_goes_on_from_a_run_and_says_what_it_is_worth(
    corpus: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "more"
    options = ("--from", trained, "--set", HARDLY, "--set", "training.average=0")
    assert call("train", corpus, *options, "--out", out) == 0
    begun = json.loads((trained / "metrics.jsonl").read_text().splitlines()[-1])["accuracy"]
    assert f"it begins with a validation accuracy of {begun:.2%}" in capsys.readouterr().err
    for name, weight in weights(trained).items():
        torch.testing.assert_close(weights(out)[name], weight, rtol=0, atol=1e-6)
    record = json.loads((out / "config.json").read_text())
    assert record["start"]["name"] == trained.name
    assert record["model"] == json.loads((trained / "config.json").read_text())["model"]


def test_a_run_goes_on_with_the_same_beginning_only_wherever_it_lies(
    corpus: Path, trained: Path, tmp_path: Path
) -> None:
    config, out, watch = config_of_trained(trained, with_books=False), tmp_path / "run", Watch()
    train_here(corpus, out, config, watch, start=trained)
    assert watch.said[0].startswith("it begins with")
    moved = Path(shutil.copytree(trained, tmp_path / "moved"))
    again = Watch()
    train_here(corpus, out, config, again, start=moved)
    assert not again.said, "it began long ago"
    with pytest.raises(RunRefused, match=r"start\.sha256 was"):
        train_here(corpus, out, config, start=out)
    with pytest.raises(RunRefused, match="start was"):
        train_here(corpus, out, config)


def test_several_readers_can_begin_alike_and_go_their_own_ways(corpus: Path, trained: Path, tmp_path: Path) -> None:
    assert call("train", corpus, "--from", trained, "--seeds", "2", "--out", tmp_path / "both") == 0
    one, other = (weights(tmp_path / "both" / f"seed-{n}") for n in range(2))
    assert any(not torch.equal(one[name], other[name]) for name in one)
    far = max(float((one[name] - weight).abs().max()) for name, weight in weights(trained).items())
    assert far < 0.1, "two steps at a rate of 0.01"


def test_a_size_cannot_be_set_and_no_run_is_made(corpus: Path, trained: Path, tmp_path: Path) -> None:
    config = config_of_trained(trained, ["model.hidden_dim=7"], with_books=False)
    with pytest.raises(
        BadSetting, match=r"belongs to another reader: .*what a reader begins with says how large it is"
    ):
        train_here(corpus, tmp_path / "run", config, start=trained)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("override", ["vocabulary.max_words=9", "reader=as-reader"])
def test_what_it_is_and_which_words_it_knows_cannot_be_set(trained: Path, override: str) -> None:
    with pytest.raises(BadSetting, match=f"{override} cannot be set here"):
        config_of_trained(trained, [override], with_books=False)


def test_what_to_begin_with_is_said_once(
    corpus: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", tmp_path / "run")
    for options in ((), (*as_options(), "--from", trained)):
        assert call("train", corpus, *options, *out) == 2
        assert "give either --preset or --from" in capsys.readouterr().err
    assert call("train", corpus, "--from", trained, "--embeddings", trained / "vocab.txt", *out) == 2
    assert "a trained reader has its word vectors" in capsys.readouterr().err
    assert call("train", corpus, "--from", tmp_path / "nowhere", *out) == 1
    assert "there is no model" in capsys.readouterr().err


def test_the_bundled_reader_can_be_taught_more_without_the_books_it_was_made_from(corpus: Path, tmp_path: Path) -> None:
    options = ("--set", "training.batch_size=8", "--set", ONE_EPOCH, "--out", tmp_path / "run")
    assert call("train", corpus, "--from", "default", *options) == 0
    assert load_model(tmp_path / "run").vocabulary.words == load_model(find_model("default")).vocabulary.words
