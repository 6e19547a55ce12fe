"""Short stories that ship with the package, written for it, with questions about them."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Story:
    title: str
    text: str


@dataclass(frozen=True)
class StoryQuestion:
    story: str
    question: str
    answer: str
    candidates: tuple[str, ...]
    kind: str


@cache
def bundled_stories() -> dict[str, Story]:
    """The stories by name."""
    stories = {}
    for path in sorted(_FOLDER.glob("*.txt")):
        title, _, text = path.read_text(encoding="utf-8").partition("\n")
        stories[path.stem] = Story(title.strip(), text.strip())
    return stories


def story_questions() -> list[StoryQuestion]:
    """Questions about the stories, with their answers."""
    lines = (_FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        StoryQuestion(**{**(record := json.loads(line)), "candidates": tuple(record["candidates"])}) for line in lines
    ]
