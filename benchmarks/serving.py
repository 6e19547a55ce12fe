"""The server under load: clients on loopback, each asking one question after the other for a while.

    python benchmarks/serving.py [--clients 64] [--seconds 20] [--fresh 0.1]

Every client asks about the bundled stories; a share of the requests (`--fresh`, 1 for all) is about a passage that nobody
has read yet, a story without a part of its beginning, so that the cache of passages does not do all the work. The server
is a process of its own; the clients are another.
Prints a table and, last, one line of JSON. Exits with 1 if a request failed or memory grew.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from epireader.stories import bundled_stories, story_questions

WARM_UP_SECONDS = 8
"""All of it about passages nobody has read, so that the cache of passages fills."""
GROWTH_MB = 100
COMMAND = [
    sys.executable,
    "-c",
    "from epireader.cli.serve import serve; serve()",
    "--port",
    "0",
    "--cache-words",
    "30000",
]
"""The cache is small enough to be full after the warm-up: from then on memory must be flat."""


@dataclass
class Tally:
    """What the clients saw."""

    milliseconds: list[float] = field(default_factory=list)
    failures: int = 0
    refused: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--fresh", type=float, default=0.1, help="share of requests about a passage nobody has read")
    parser.add_argument("--model", default="default", help="what to serve: a run, or a bundled model")
    options = parser.parse_args()
    process, port = start_server(options.model)
    try:
        asyncio.run(load(port, options.clients, WARM_UP_SECONDS, fresh=1))
        before = resident_mb(process.pid)
        start, used = time.perf_counter(), cpu_seconds(process.pid)
        tally = asyncio.run(load(port, options.clients, options.seconds, options.fresh))
        seconds, used = time.perf_counter() - start, cpu_seconds(process.pid) - used
        after = resident_mb(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    report(
        tally,
        seconds,
        {**vars(options), "rss_before_mb": round(before), "rss_after_mb": round(after), "cpu_seconds": used},
    )
    sys.exit(1 if tally.failures or tally.refused or after - before > GROWTH_MB else 0)


def start_server(model: str) -> tuple[subprocess.Popen[str], int]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([*COMMAND, "--model", model], stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r":(\d+)/", line)
    if not found:
        raise RuntimeError(f"the server did not start: {line}")
    return process, int(found[1])


async def load(port: int, clients: int, seconds: float, fresh: float) -> Tally:
    tally = Tally()
    end = time.perf_counter() + seconds
    await asyncio.gather(*(client(port, end, random.Random(n), fresh, tally) for n in range(clients)))
    return tally


async def client(port: int, end: float, chance: random.Random, fresh: float, tally: Tally) -> None:
    """One who asks, reads the answer, and asks again, over one connection."""
    questions, stories = story_questions(), bundled_stories()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < end:
        asked = chance.choice(questions)
        passage = stories[asked.story].text
        if chance.random() < fresh:
            passage = f"It was told on day {chance.randrange(10**9)}. {passage[chance.randrange(len(passage) // 2) :]}"
        start = time.perf_counter()
        status, body = await post(reader, writer, {"passage": passage, "question": asked.question})
        tally.milliseconds.append(1000 * (time.perf_counter() - start))
        tally.refused += status in (429, 503)
        tally.failures += status not in (200, 429, 503) or (status == 200 and not json.loads(body)["answers"])
    writer.close()
    await writer.wait_closed()


async def post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: dict[str, str]
) -> tuple[int, bytes]:
    body = json.dumps(request).encode()
    head = (
        f"POST /v1/answer HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", answer)
    assert length
    return int(answer.split(b" ", 2)[1]), await reader.readexactly(int(length[1]))


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def cpu_seconds(pid: int) -> float:
    """Processor time of the server so far: what its answers cost, whatever else the machine is doing."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(tally: Tally, seconds: float, facts: dict[str, float]) -> None:
    ordered = sorted(tally.milliseconds)
    share = {f"p{n}_ms": round(ordered[min(len(ordered) - 1, len(ordered) * n // 100)], 1) for n in (50, 95, 99)}
    found = {
        "requests": len(ordered),
        "failures": tally.failures,
        "refused": tally.refused,
        "rate": round(len(ordered) / seconds, 1),
        **share,
        "max_ms": round(ordered[-1], 1),
        "cpu_ms_each": round(1000 * facts.pop("cpu_seconds") / len(ordered), 1),
        **facts,
    }
    for name, value in found.items():
        print(f"{name:<16}{value:>12}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
