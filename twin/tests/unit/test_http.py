# SPDX-License-Identifier: Apache-2.0
"""The hosts' web server, over a real socket, and the client against it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from orrery_twin.applications.http_client.program import Client
from orrery_twin.applications.http_server.program import PAGE, REQUEST_MAX_BYTES, Counts, HttpConnection

Scenario = Callable[[int], Awaitable[None]]


def with_server(scenario: Scenario) -> None:
    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(lambda: HttpConnection(Counts()), "127.0.0.1", 0)
        async with server:
            await scenario(server.sockets[0].getsockname()[1])

    asyncio.run(run())


async def exchange(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    reply = await reader.read()
    writer.close()
    return reply


def test_pages_echo_and_sizes() -> None:
    async def scenario(port: int) -> None:
        page = await exchange(port, b"GET /any?q=1' HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert page.startswith(b"HTTP/1.1 200 OK\r\n") and page.endswith(PAGE)
        echo = b"POST /echo HTTP/1.1\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
        assert (await exchange(port, echo)).endswith(b"\r\n\r\nhello")
        sized = await exchange(port, b"GET /bytes/1234 HTTP/1.0\r\n\r\n")
        assert len(sized.split(b"\r\n\r\n", 1)[1]) == 1234
        kept = await exchange(port, b"GET /kept/page HTTP/1.0\r\n\r\n")
        assert b"\r\nCache-Control: max-age=60\r\nDate: " in kept and kept.endswith(PAGE)
        assert b"Cache-Control" not in page

    with_server(scenario)


def test_requests_in_pieces_and_several_on_one_connection() -> None:
    async def scenario(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for piece in (b"POST /echo HTTP/1.1\r\nContent-Le", b"ngth: 2\r\n\r\nh", b"iGET /bytes/3 HTTP/1.1\r\n\r\n"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        assert await reader.readuntil(b"\r\n\r\nhi")
        assert await reader.readuntil(b"\r\n\r\nxxx")
        writer.close()

    with_server(scenario)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: " + str(REQUEST_MAX_BYTES + 1).encode() + b"\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused(request_bytes: bytes) -> None:
    async def scenario(port: int) -> None:
        assert (await exchange(port, request_bytes)).startswith(b"HTTP/1.1 400 ")

    with_server(scenario)


def test_a_request_without_end_is_cut_off() -> None:
    async def scenario(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /" + b"x" * (REQUEST_MAX_BYTES + 1))
        assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
        writer.close()

    with_server(scenario)


def settings(port: int, **changed: object) -> dict[str, object]:
    return {
        "address": "127.0.0.1",
        "port": port,
        "path": "/echo",
        "body": "hello",
        "rate_per_s": 500,
        "count": 20,
        "duration_s": 0,
    } | changed


def test_the_client_counts_replies_and_latency(capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario(port: int) -> None:
        client = Client(settings(port))
        await client.run()
        assert (client.counters.sent, client.counters.received, client.counters.errors) == (20, 20, 0)

    with_server(scenario)
    assert '"latency_p99_us"' in capsys.readouterr().out.splitlines()[-1]


def test_the_client_counts_what_fails() -> None:
    async def scenario(port: int) -> None:
        client = Client(settings(1, count=3))
        await client.run()
        assert (client.counters.sent, client.counters.received, client.counters.errors) == (3, 0, 3)
        assert client.error.latest

    with_server(scenario)
