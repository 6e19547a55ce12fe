"""Several readers as one: their probabilities are averaged. An ensemble is a folder with one file, `ensemble.json`."""

import json
import os
from pathlib import Path

from epireader.files import folder_made_beside
from epireader.readers.floors import floor_model, is_floor
from epireader.readers.saved import BadModel, Model, find_model, load_model

FORMAT = "epireader-ensemble"


def save_ensemble(folder: Path, members: list[Path]) -> None:
    """Make the folder; members are kept by their paths relative to it, so that all can be moved together."""
    if len(members) < 2:
        raise ValueError(f"an ensemble needs at least two members, got {len(members)}")
    for member in members:
        load_model(member)
    paths = [os.path.relpath(member.resolve(), folder.resolve()) for member in members]
    with folder_made_beside(folder) as beside:
        text = json.dumps({"format": FORMAT, "members": paths}, indent=2)
        (beside / "ensemble.json").write_text(text + "\n", encoding="utf-8")


def load_members(name: str) -> list[Model]:
    """The readers of a run, of an ensemble, or of a bundled model; or a floor."""
    if is_floor(name):
        return [floor_model(name)]
    folder = find_model(name)
    record_path = folder / "ensemble.json"
    if not record_path.is_file():
        return [load_model(folder)]
    try:
        record = json.loads(record_path.read_text(encoding="utf-8"))
        if record["format"] != FORMAT or not record["members"]:
            raise KeyError("no members")
        paths = [folder / member for member in record["members"]]
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise BadModel(f"{record_path} does not describe an ensemble ({error})") from None
    return [load_model(path) for path in paths]
