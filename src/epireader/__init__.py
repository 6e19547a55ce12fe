"""Reading comprehension by hypothesis: the EpiReader, and the readers it was compared with."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from epireader.answer import Answer, Asked, Mention, Reader, Story

__version__ = "0.1.0"
__all__ = ["Answer", "Asked", "Mention", "Reader", "Story", "__version__"]


def __getattr__(name: str) -> Any:
    # Torch takes a second or two to import, so it is left until somebody reads.
    if name in __all__:
        from epireader import answer

        return getattr(answer, name)
    raise AttributeError(f"module 'epireader' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})  # for help() and completion
