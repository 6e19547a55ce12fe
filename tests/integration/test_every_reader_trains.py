"""The same loop, checkpoints and ensembles serve every reader of the table."""

import signal
from dataclasses import fields
from pathlib import Path

import pytest
from builders import toy_corpus
from running import SAVE_OFTEN, Watch, result_of, train_here

from epireader.data.corpus import open_corpus
from epireader.evaluation.predict import predict
from epireader.readers import READERS
from epireader.readers.ensemble import load_members, save_ensemble
from epireader.training.config import Config, load_config, presets
from epireader.training.loop import Interrupted

SMALL = {"embedding_dim": 6, "hidden_dim": 5, "filters": 3, "reasoner_hidden_dim": 3, "reasoner_weight": 1.0}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_corpus(tmp_path_factory.mktemp("toy") / "corpus", train=32, valid=12).folder


def config_of(reader: str) -> Config:
    """A preset of the reader, made small."""
    known = {name: load_config(name) for name in presets()}
    preset = next(name for name, config in known.items() if config.reader == reader and config.books is None)
    sizes = [f"model.{f.name}={SMALL[f.name]}" for f in fields(READERS[reader].config) if f.name in SMALL]
    return load_config(preset, [*sizes, "training.batch_size=8", "training.max_epochs=2", SAVE_OFTEN])


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_that_was_stopped_goes_on_to_the_same_bits_and_votes(
    reader: str, corpus: Path, tmp_path: Path
) -> None:
    config = config_of(reader)
    train_here(corpus, tmp_path / "whole", config)
    with pytest.raises(Interrupted):
        train_here(corpus, tmp_path / "halves", config, Watch(3, lambda: signal.raise_signal(signal.SIGTERM)))
    train_here(corpus, tmp_path / "halves", config)
    assert result_of(tmp_path / "halves") == result_of(tmp_path / "whole")
    save_ensemble(tmp_path / "both", [tmp_path / "whole", tmp_path / "halves"])
    asked = open_corpus(corpus).questions("valid")
    alone, both = (predict(load_members(str(tmp_path / name)), asked).final for name in ("whole", "both"))
    assert both == pytest.approx(alone)
