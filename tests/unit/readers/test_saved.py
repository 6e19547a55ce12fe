"""Trained readers on disk."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import batch_of, random_example, vocabulary
from reference.small import small_settings
from safetensors.torch import load_file, save_file

from epireader.readers import READERS, saved
from epireader.readers.saved import (
    BadModel,
    Model,
    build_model,
    find_model,
    load_model,
    model_record,
    read_weights,
    reader_settings,
    save_weights,
)
from epireader.settings import BadSetting

SIZES = {"embedding_dim": 6, "hidden_dim": 5, "hypotheses": 2, "filters": 3, "reasoner_hidden_dim": 4}
SETTINGS = {name: kind.config(**small_settings(name, SIZES)) for name, kind in READERS.items()}


def save(model: Model, folder: Path) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(model_record(model)))
    model.vocabulary.save(folder / "vocab.txt")
    save_weights(folder / "model.safetensors", model.module.state_dict(), {"epoch": 1})
    return folder


def fresh(reader: str = "epireader") -> Model:
    torch.manual_seed(0)
    return build_model(reader, SETTINGS[reader], vocabulary(9, strangers=3, lowercase=True))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save(fresh(), tmp_path / "model")


def answers(model: Model) -> torch.Tensor:
    random = np.random.default_rng(0)
    batch = batch_of([random_example(random, phrase=2) for _ in range(6)], model.vocabulary)
    with torch.no_grad():
        return model.module.eval()(batch).log_probs


def refused(folder: Path, *parts: str) -> None:
    with pytest.raises(BadModel) as error:
        load_model(folder)
    assert "\n" not in str(error.value)
    for part in (str(folder), *parts):
        assert part in str(error.value)


@pytest.mark.parametrize("reader", SETTINGS)
def test_a_saved_reader_answers_as_before_bit_for_bit(reader: str, tmp_path: Path) -> None:
    model = fresh(reader)
    loaded = load_model(save(model, tmp_path / "model"))
    assert not loaded.module.training
    assert torch.equal(answers(loaded), answers(model))
    assert (loaded.reader, loaded.settings, loaded.vocabulary) == (reader, model.settings, model.vocabulary)
    for name, tensor in model.module.state_dict().items():
        assert torch.equal(loaded.module.state_dict()[name], tensor)


def test_weights_saved_in_half_precision_are_loaded_into_full(folder: Path) -> None:
    weights = {name: tensor.half() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors")
    loaded = load_model(folder)
    for name, tensor in loaded.module.state_dict().items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, weights[name].float())
    assert torch.isfinite(answers(loaded).exp()).all()


def test_loading_leaves_the_random_numbers_alone(folder: Path) -> None:
    before = torch.get_rng_state()
    load_model(folder)
    assert torch.equal(torch.get_rng_state(), before)


def test_how_many_answers_are_weighed_is_k_or_five() -> None:
    assert fresh("epireader").hypotheses == 2
    assert fresh("as-reader").hypotheses == 5


def test_weights_come_with_the_record_they_were_saved_with(folder: Path) -> None:
    assert read_weights(folder / "model.safetensors")[1] == {"epoch": 1}


def test_weights_of_another_shape_are_refused_by_name_and_both_shapes(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["embedding.weight"] = weights["embedding.weight"][:-1].contiguous()
    save_file(weights, folder / "model.safetensors")
    refused(folder, "embedding.weight is (13, 6) in the file and (14, 6) in the reader")


def test_weights_that_are_missing_or_too_many_are_refused_by_name(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file({name: tensor for name, tensor in weights.items() if name != "embedding.weight"}, folder / "a")
    save_file({**weights, "extra": torch.zeros(1)}, folder / "b")
    (folder / "a").replace(folder / "model.safetensors")
    refused(folder, "embedding.weight is missing in the file")
    (folder / "b").replace(folder / "model.safetensors")
    refused(folder, "extra is (1,) in the file and unknown in the reader")


@pytest.mark.parametrize("kept", [0, 4, 100, -1])
def test_truncated_weights_are_refused(folder: Path, kept: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    refused(folder, "model.safetensors is damaged or not a safetensors file")


def test_a_pickled_file_is_refused_and_never_run(folder: Path, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
            return Path.touch, (tmp_path / "exploded",)

    torch.save({"embedding.weight": Bomb()}, folder / "model.safetensors")
    refused(folder, "not a safetensors file")
    assert not (tmp_path / "exploded").exists()


def test_no_code_of_ours_can_load_a_pickle() -> None:
    source = Path(saved.__file__).parent.parent
    pattern = re.compile(
        r"torch\.load\b|\bimport (c?pickle|dill|joblib|shelve|marshal)\b|from pickle|allow_pickle=True"
    )
    files = sorted(source.rglob("*.py"))
    assert len(files) > 30
    assert [str(path) for path in files if pattern.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    refused(folder, name)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "epireader-corpus"}', '"epireader-model"'])
def test_a_config_that_describes_no_reader_is_refused(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text)
    refused(folder, "config.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"reader": "epi-reader"},
        {"model": {"filters": 3, "unheard_of": 1}},
        {"model": {"filters": "many"}},
        {"model": {"filters": 0}},
        {"vocabulary": {"strangers": 3}},
        {"vocabulary": {"strangers": 0, "lowercase": False}},
        {"vocabulary": None},
    ],
)
def test_a_config_of_a_reader_we_do_not_know_is_refused(folder: Path, changes: dict[str, object]) -> None:
    record = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(record | changes))
    refused(folder, "does not hold a reader this version knows")


@pytest.mark.parametrize("content", [b"\xff\n", b"twice\ntwice\n"])
def test_a_damaged_vocabulary_is_refused(folder: Path, content: bytes) -> None:
    (folder / "vocab.txt").write_bytes(content)
    refused(folder, "does not hold a reader this version knows")


def test_a_vocabulary_that_lost_a_word_does_not_fit_the_weights(folder: Path) -> None:
    (folder / "vocab.txt").write_bytes((folder / "vocab.txt").read_bytes()[:-3])
    refused(folder, "embedding.weight")


def test_an_unknown_reader_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(BadSetting, match=r"there is no reader 'asreader'; did you mean as-reader\?"):
        reader_settings("asreader", {})


def test_a_failed_save_leaves_the_old_weights_and_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(_: object, path: Path, **__: object) -> None:
        path.write_bytes(b"half of it")
        raise saved.SafetensorError("I/O error: No space left on device")

    before = (folder / "model.safetensors").read_bytes()
    monkeypatch.setattr(saved, "save_file", full_disk)
    with pytest.raises(OSError, match=r"cannot write .*model\.safetensors: .*No space left"):
        save_weights(folder / "model.safetensors", {"a": torch.zeros(1)}, {})
    assert (folder / "model.safetensors").read_bytes() == before
    assert len(list(folder.iterdir())) == 3


def test_a_model_is_found_by_path_or_by_the_name_of_one_that_ships(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "BUNDLED", tmp_path)
    monkeypatch.chdir(folder)  # else what lies beside the project may have one of these names
    assert find_model(str(folder)) == folder
    assert find_model("model") == folder
    for name in ("modell", "../x", "model/"):
        with pytest.raises(BadModel, match=r"there is no model .*: give the folder of a run, or one of model"):
            find_model(name)
