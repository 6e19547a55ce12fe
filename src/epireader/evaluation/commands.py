"""The commands that give results again, as few as will do."""

import shlex
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter

from epireader.evaluation.results import Result

Words = tuple[str, ...]
ENSEMBLE = "--ensemble"


@dataclass(frozen=True)
class Command:
    """A command of `epireader reproduce`, taken apart."""

    corpora: Words
    readers: Words
    seeds: Words
    rest: Words

    @classmethod
    def parsed(cls, text: str) -> "Command":
        """What `Result.command` holds: one corpus, and options that all have a value, but for `--ensemble`."""
        _, _, corpus, *given = shlex.split(text)
        words = [word for word in given if word != ENSEMBLE]
        options = list(zip(words[::2], words[1::2], strict=True))
        chosen = {name: tuple(value for key, value in options if key == name) for name in ("--reader", "--seed")}
        rest = tuple(word for option in options if option[0] not in chosen for word in option)
        flags = (ENSEMBLE,) if ENSEMBLE in given else ()
        return cls((corpus,), chosen["--reader"], chosen["--seed"], (*flags, *rest))

    def __str__(self) -> str:
        readers = [word for reader in self.readers for word in ("--reader", reader)]
        seeds = [word for seed in self.seeds for word in ("--seed", seed)]
        return shlex.join(("epireader", "reproduce", *self.corpora, *readers, *seeds, *self.rest))

    @property
    def gives_an_ensemble(self) -> bool:
        return ENSEMBLE in self.rest

    def gives(self, member: "Command") -> bool:
        """Whether the command of an ensemble gives the row of this member, too."""
        return replace(self, seeds=member.seeds, rest=self.rest[1:]) == member and {*member.seeds} <= {*self.seeds}


def commands_of(results: Iterable[Result]) -> list[str]:
    """Commands that give all of the results: those that differ in seed, reader or corpus alone become one.

    The command of an ensemble gives its members, too; ensembles of other seeds are other ensembles.
    """
    given = dict.fromkeys(result.command for result in results)
    ours = [Command.parsed(text) for text in given if text.startswith("epireader reproduce ")]
    ensembles = [command for command in ours if command.gives_an_ensemble]
    others = [one for one in ours if one not in ensembles and not any(several.gives(one) for several in ensembles)]
    ours = [*_merged(others, "seeds"), *ensembles]
    for differing in ("readers", "corpora"):
        ours = _merged(ours, differing)
    return [*map(str, ours), *(text for text in given if not text.startswith("epireader reproduce "))]


def _merged(commands: Iterable[Command], differing: str) -> list[Command]:
    same = [name for name in ("corpora", "readers", "seeds", "rest") if name != differing]
    groups: dict[Hashable, list[Command]] = {}
    for command in commands:
        groups.setdefault(attrgetter(*same)(command), []).append(command)
    return [
        replace(group[0], **{differing: tuple(dict.fromkeys(w for one in group for w in getattr(one, differing)))})
        for group in groups.values()
    ]
