"""`epireader`: finds the command, runs it, and turns what goes wrong into one sentence and an exit code.

Exit codes: 0 done, 1 bad input or a failed run, 2 a mistake on the command line, 130 stopped by Ctrl-C.
"""

import importlib
import os
import sys

import click

from epireader import __version__

COMMANDS = {
    "answer": "Answer a question about a story.",
    "prepare": "Compile question files into a corpus.",
    "prepare-books": "Compile books to make training questions from.",
    "vectors": "Learn word vectors from a text to begin a reader with.",
    "train": "Train a reader on a corpus.",
    "evaluate": "Measure a reader on questions.",
    "compare": "Test whether one reader is better than another.",
    "report": "Write a page about how runs learnt and what they get right.",
    "ensemble": "Join several runs into one model.",
    "reproduce": "Train and measure every reader of the paper's comparison.",
    "table": "Show the paper's table with figures measured here.",
    "grid": "Train a reader with every setting of a grid.",
    "make-questions": "Make cloze questions from a book.",
    "serve": "Serve the page and the HTTP API.",
    "tokenize": "Split a text into sentences and words.",
}


class Commands(click.Group):
    """Commands whose modules are imported when they are used, so that help is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(importlib.import_module(f"epireader.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="epireader")
def cli() -> None:
    """Find the missing word: reading comprehension with the EpiReader and the readers it was compared with.

    \b
    Example:
      epireader answer --story story.txt --question "'Come in,' said XXXXX."
    """


def main() -> None:
    open_closed_streams()
    try:
        cli(prog_name="epireader", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain when it flushes the rest on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if (sentence := explained(error)) is None:
            raise
        click.echo(f"epireader: {sentence}", err=True)
        sys.exit(1)


def open_closed_streams() -> None:
    """A standard stream that is closed (`>&-`) is an empty one, and no file that is opened later takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def explained(error: Exception) -> str | None:
    """One sentence for what can go wrong in use; None for what can only be our own mistake."""
    if type(error).__name__ == "OutOfMemoryError":
        return "the GPU has too little memory for this; try a smaller training.batch_size or --device cpu"
    if isinstance(error, OSError):
        return f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
    if isinstance(error, UnicodeEncodeError):
        character = error.object[error.start]
        return f"{character!a} cannot be written in {error.encoding}; terminal and text must be UTF-8 (PYTHONIOENCODING=utf-8)"
    if isinstance(error, (ValueError, ArithmeticError)) and type(error).__module__.startswith("epireader"):
        return str(error)
    if type(error) is ValueError:
        return str(error)
    return None
