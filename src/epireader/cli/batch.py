"""`epireader answer --batch`: a JSONL file in, a JSONL file out, line for line.

Output grows in `OUT.part`, which becomes OUT when all lines are done; a run that was stopped goes on after the last
whole line in it, if `OUT.part.json` says that it was made of the same lines in the same way. Memory does not depend on
how many lines there are.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from epireader.cli.show import print_json, progress_bar, say
from epireader.files import sha256_of, written_beside

if TYPE_CHECKING:
    from epireader.answer import Answer, Reader

LINES_AT_ONCE = 256


def run_batch(source: Path, out: Path, *, model: str, top: int | None, as_json: bool) -> None:
    """Answer every line; a line that cannot be read gets an `error`, and is reported with its number."""
    from epireader.answer import Reader

    if out.exists():
        raise click.UsageError(f"{out} exists already; choose another name or remove it first")
    part, made_of = out.with_name(out.name + ".part"), out.with_name(out.name + ".part.json")
    reader = Reader.load(model)
    begin_or_go_on(part, made_of, {"source": sha256_of(source), "model": model, "top": top})
    done = whole_lines(part)
    if done:
        say(f"going on after line {done:,}")
    bad = 0
    with source.open("rb") as lines, part.open("ab") as answers:
        with progress_bar("Answering", source.stat().st_size, unit="bytes") as advance:
            advance(sum(map(len, islice(lines, done))))
            while chunk := list(islice(lines, LINES_AT_ONCE)):
                for record in answer_lines(reader, chunk, done + 1, top):
                    if "error" in record:
                        bad += 1
                        say(f"{source}:{record['line']}: {record['error']}")
                    answers.write(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
                answers.flush()
                done += len(chunk)
                advance(sum(map(len, chunk)))
        os.fsync(answers.fileno())
    part.replace(out)
    made_of.unlink()
    if as_json:
        print_json({"out": str(out), "lines": done, "bad": bad})
    else:
        say(f"{out}: {done:,} lines" + (f", {bad:,} of them bad" if bad else ""))
    if 0 < bad == done:
        raise ValueError(
            f"no line of {source} could be answered; each must be a question, as docs/data.md says of JSONL"
        )


def begin_or_go_on(part: Path, made_of: Path, record: dict[str, Any]) -> None:
    """Write down what answers are made of; those already there must have been made of the same."""
    if not part.exists():
        with written_beside(made_of) as path:
            path.write_text(json.dumps(record), encoding="utf-8")
    elif not made_of.exists() or json.loads(made_of.read_text(encoding="utf-8")) != record:
        raise click.UsageError(
            f"{part} holds answers to other questions, by another --model or with another --top; "
            "give what it was begun with, or remove it to begin anew"
        )


def answer_lines(reader: "Reader", lines: list[bytes], first: int, top: int | None) -> Iterator[dict[str, Any]]:
    """A record for each line, in order; `first` is the number of the first of them."""
    from epireader.answer import Asked
    from epireader.data.example import BadExample
    from epireader.data.jsonl import parse_question

    records: list[dict[str, Any]] = []
    questions = []
    for number, line in enumerate(lines, start=first):
        try:
            raw = parse_question(line, number)
            story, asked = reader.read(raw.passage), Asked(raw.question, raw.candidates)
            story.example(asked)
        except BadExample as error:
            records.append({"line": number, "error": error.reason})
        else:
            records.append({"question": raw.question} if raw.id is None else {"id": raw.id, "question": raw.question})
            questions.append((story, asked))
    answers = iter(reader.answer_all(questions, top=top))
    for record in records:
        yield record if "error" in record else {**record, "answers": [answer_record(one) for one in next(answers)]}


def answer_record(answer: "Answer") -> dict[str, Any]:
    """An answer for a script. The attention on every word, which takes most room, is left out."""
    record = asdict(answer)
    del record["attention"]
    only_some_have = ("evidence", "fits_blank", "read_again")
    return {key: value for key, value in record.items() if value is not None or key not in only_some_have}


def whole_lines(part: Path) -> int:
    """How many whole lines an unfinished file has; a piece of a line at its end is cut off."""
    if not part.exists():
        return 0
    count, end = 0, 0
    with part.open("r+b") as file:
        for line in file:
            if line.endswith(b"\n"):
                count, end = count + 1, end + len(line)
        file.truncate(end)
    return count
