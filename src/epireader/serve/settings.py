"""How the server is set up. Every limit and every default stands here and nowhere else; `--help` is made from it."""

from dataclasses import dataclass, field, fields
from typing import Any


def _setting(default: int, help_: str, least: int = 1) -> Any:
    return field(default=default, metadata={"help": help_, "least": least})


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """Where to listen, what to read with, and how much to take on."""

    host: str = "127.0.0.1"
    """The address to listen on. Nobody but this machine reaches the default."""
    models: tuple[str, ...] = ("default",)
    """Bundled names or folders; the first one answers when a request names none."""
    port: int = _setting(8000, "The port to listen on; 0 takes a free one.", least=0)
    body_bytes: int = _setting(262_144, "The largest body of a request, in bytes.")
    characters: int = _setting(40_000, "The longest passage, in characters.")
    words: int = _setting(5_000, "The longest passage, in words.")
    questions: int = _setting(32, "The most questions in a request.")
    question_characters: int = _setting(2_000, "The longest question.")
    candidates: int = _setting(500, "The most candidates for a question.")
    candidate_characters: int = _setting(100, "The longest candidate.")
    queue: int = _setting(128, "How many requests may wait or be answered at once; more get a 503.")
    batch: int = _setting(32, "How many requests are taken from the queue at once.")
    cache_words: int = _setting(
        100_000, "How much of the passages read is kept, in words (about 3 KB each with the bundled model)."
    )
    threads: int = _setting(1, "Processor threads of the model.")
    body_seconds: int = _setting(10, "How long the body of a request may take to arrive.")
    shutdown_seconds: int = _setting(30, "How long requests that were begun may take to finish at shutdown.")

    def __post_init__(self) -> None:
        for one in fields(self):
            least = one.metadata.get("least")
            if least is not None and getattr(self, one.name) < least:
                raise ValueError(f"{one.name} must be at least {least}, got {getattr(self, one.name)}")
        if self.port > 65_535:
            raise ValueError(f"port must be at most 65535, got {self.port}")
        if not self.models:
            raise ValueError("a server needs at least one model")
