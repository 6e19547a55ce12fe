"""A trained reader on disk: a folder with `config.json`, `vocab.txt` and `model.safetensors`."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from epireader.data.vocabulary import Vocabulary
from epireader.files import written_beside
from epireader.readers import READERS
from epireader.readers.reading import ReaderModule
from epireader.settings import BadSetting, from_mapping, nearest

FORMAT = "epireader-model"
WEIGHTS = "model.safetensors"
BUNDLED = Path(__file__).parent.parent / "pretrained"


class BadModel(ValueError):
    """A folder that holds no reader, or one that is damaged."""


@dataclass(frozen=True)
class Model:
    """A reader with the words it knows."""

    reader: str
    settings: Any
    vocabulary: Vocabulary
    module: ReaderModule

    @property
    def hypotheses(self) -> int:
        """How many answers it weighs (K); for a reader that does not rerank, how many are worth listing."""
        return int(getattr(self.settings, "hypotheses", 5))


def build_model(reader: str, settings: Any, vocabulary: Vocabulary) -> Model:
    """A reader with fresh weights (drawn from torch's generator)."""
    module = READERS[reader].module(settings, len(vocabulary))
    module.introduce(vocabulary)
    return Model(reader, settings, vocabulary, module)


def reader_settings(reader: str, values: Mapping[str, Any]) -> Any:
    """The settings of a reader from a plain mapping."""
    if reader not in READERS:
        raise BadSetting(f"there is no reader {reader!r}{nearest(reader, READERS)}")
    return from_mapping(READERS[reader].config, values, "model")


def model_record(model: Model) -> dict[str, Any]:
    """What `config.json` must hold for a reader to be loaded again."""
    return {
        "format": FORMAT,
        "reader": model.reader,
        "model": asdict(model.settings),
        "vocabulary": {name: getattr(model.vocabulary, name) for name in ("strangers", "lowercase", "rename_entities")},
    }


def save_weights(path: Path, tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
    """Tensors and a record of what they are, in one file that appears whole."""
    contiguous = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    with written_beside(path) as beside:
        try:
            save_file(contiguous, beside, metadata={"record": json.dumps(record)})
        except SafetensorError as error:
            raise OSError(f"cannot write {path}: {error}") from None


def read_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `save_weights` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            record = json.loads((file.metadata() or {}).get("record", "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, record  # noqa: SIM118
    except FileNotFoundError:
        raise BadModel(f"{path} is missing") from None
    except (OSError, SafetensorError, json.JSONDecodeError) as error:
        raise BadModel(f"{path} is damaged or not a safetensors file ({error})") from None


def load_model(folder: Path) -> Model:
    """The reader in a folder, in evaluation mode, on the CPU."""
    record = read_record(folder)
    try:
        settings = reader_settings(record["reader"], record["model"])
        vocabulary = Vocabulary.load(folder / "vocab.txt", **record["vocabulary"])
    except (AttributeError, KeyError, TypeError, ValueError, FileNotFoundError) as error:
        raise BadModel(f"{folder} does not hold a reader this version knows ({error})") from None
    with torch.device("meta"), Undrawn():
        model = build_model(record["reader"], settings, vocabulary)
    weights, _ = read_weights(folder / WEIGHTS)
    # Copies, because the tensors of a file lie in the file.
    weights = {name: weight.to(torch.get_default_dtype(), copy=True) for name, weight in weights.items()}
    put_weights(model.module, weights, folder / WEIGHTS, assign=True)
    model.module.eval()
    return model


class Undrawn(TorchFunctionMode):
    """Here first weights are not drawn: loaded ones take their place, and to draw on the meta device torch imports
    its compiler, which takes as long as all the rest."""

    DRAWS = frozenset({"uniform_", "normal_", "kaiming_uniform_", "xavier_uniform_", "orthogonal_"})

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        del types
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in self.DRAWS:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def put_weights(module: nn.Module, weights: Mapping[str, Tensor], path: Path, *, assign: bool = False) -> None:
    """Copy weights into a module, or make them its own; they must be its weights, name by name and shape by shape."""
    wanted = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise BadModel(
                f"{path} belongs to another reader: {name} is {found.get(name, 'missing')} in the file"
                f" and {wanted.get(name, 'unknown')} in the reader"
            )
    module.load_state_dict(dict(weights), assign=assign)


def read_record(folder: Path) -> dict[str, Any]:
    """The `config.json` of a reader's folder."""
    try:
        record = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        runs = seeds_in(folder)
        way_out = f"; name one of its runs, such as {runs[0]}, or join them with 'epireader ensemble'" if runs else ""
        raise BadModel(f"{folder} holds no reader: there is no config.json in it{way_out}") from None
    except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BadModel(f"{folder / 'config.json'} cannot be read ({error})") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise BadModel(f"{folder / 'config.json'} does not describe a reader")
    return record


def seeds_in(folder: Path) -> list[Path]:
    """The runs of all seeds in a folder that `train --seeds` made; none in any other."""
    return sorted(record.parent for record in folder.glob("seed-*/config.json"))


def recorded_corpus(folder: Path) -> Path | None:
    """The corpus that the reader in a folder was trained on, if that is written down and the corpus is there."""
    corpus = None if (folder / "ensemble.json").exists() else read_record(folder).get("corpus")
    path = corpus.get("path") if isinstance(corpus, dict) else None
    there = Path(os.path.normpath(folder / path)) if isinstance(path, str) else None
    return there if there and there.exists() else None


def find_model(name: str) -> Path:
    """The folder of a model given by path, or by the name of one that ships with the package."""
    path = Path(name)
    if path.is_dir():
        return path
    bundled = BUNDLED / name
    if name and path.name == name and bundled.is_dir():
        return bundled
    names = sorted(p.name for p in BUNDLED.iterdir() if p.is_dir()) if BUNDLED.is_dir() else []
    raise BadModel(
        f"there is no model {name!r}: give the folder of a run, or one of {', '.join(names) or 'none bundled'}"
    )
