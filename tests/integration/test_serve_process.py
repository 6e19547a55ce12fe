"""`epireader serve` as a process of its own: it starts, answers over real sockets, and stops as it should."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from serving import ANSWER, FLOOD, QUESTION, run

COMMAND = [sys.executable, "-c", "from epireader.cli.serve import serve; serve()"]
SECONDS = 60


def start(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", *arguments], stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.match(r"(http://127\.0\.0\.1:\d+)/", line)
    assert found, line
    return process, found[1]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    process, address = start()
    yield address
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)


def test_it_answers(address: str) -> None:
    response = httpx.post(f"{address}/v1/answer", json={"passage": FLOOD, "question": QUESTION}, timeout=SECONDS)
    assert response.json()["answers"][0]["text"] == ANSWER
    assert "server" not in response.headers


def test_a_chunked_body_over_the_limit_is_refused_over_a_real_socket(address: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        head = "POST /v1/answer HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
        response = b""
        # A server that hangs up on what it does not want to hear may cut its own answer short.
        with contextlib.suppress(ConnectionError):
            for _ in range(5):
                connection.sendall(chunk)
            while block := connection.recv(65_536):
                response += block
    assert response == b"" or response.startswith(b"HTTP/1.1 413")
    assert httpx.get(f"{address}/healthz", timeout=SECONDS).status_code == 200


def test_told_to_stop_it_finishes_what_was_begun() -> None:
    process, address = start()

    async def stop_in_the_middle() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=address, timeout=SECONDS) as client:
            await client.get("/healthz")
            questions = [{"question": f"The XXXXX {n}."} for n in range(32)]
            requests = [
                asyncio.create_task(client.post("/v1/answers", json={"passage": FLOOD, "questions": questions}))
                for _ in range(3)
            ]
            while "epireader_requests_at_hand 3.0" not in (await client.get("/metrics")).text:
                await asyncio.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            return await asyncio.gather(*requests)

    responses = run(stop_in_the_middle())
    assert [response.status_code for response in responses] == [200, 200, 200]
    assert all(len(response.json()["results"]) == 32 for response in responses)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode in (0, -signal.SIGTERM)
    assert "Traceback" not in errors
