# SPDX-License-Identifier: Apache-2.0
"""Serve a small page on every path, the request body on `/echo` and N bytes on `/bytes/N`.

Caches may keep pages below `/kept/` for a minute.
"""

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from email.utils import formatdate

from orrery_twin.applications.report import REPORT_INTERVAL_S, Rate, report

REQUEST_MAX_BYTES = 1 << 20
REPLY_MAX_BYTES = 1 << 20
IDLE_S = 30.0
CONNECTIONS_MAX = 2000
KEPT = b"/kept/"
PAGE = b"<!doctype html><title>Orrery twin</title><p>This page crossed the emulated network.</p>\n" + b" " * 400 + b"\n"


@dataclass
class Counts:
    requests: int = 0
    errors: int = 0
    octets: int = 0
    connections: int = 0


class HttpConnection(asyncio.Protocol):
    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._counts.connections += 1
        if self._counts.connections > CONNECTIONS_MAX:
            transport.abort()
        self._idle = asyncio.get_running_loop().call_later(IDLE_S, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._counts.connections -= 1
        if self._idle:
            self._idle.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while self._answer_one():
            pass
        if len(self._buffer) > REQUEST_MAX_BYTES and self._transport:
            self._reply(413, b"too large\n", close=True)

    def _answer_one(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        lines = bytes(self._buffer[:end]).split(b"\r\n")
        words = lines[0].split(b" ")
        headers = dict(_header(line) for line in lines[1:] if b":" in line)
        length_text = headers.get(b"content-length", b"0")
        if len(words) != 3 or not length_text.isdigit() or int(length_text) > REQUEST_MAX_BYTES:
            self._reply(400, b"not an HTTP/1.1 request\n", close=True)
            self._buffer.clear()
            return False
        length = int(length_text)
        if len(self._buffer) < end + 4 + length:
            return False
        body = bytes(self._buffer[end + 4 : end + 4 + length])
        del self._buffer[: end + 4 + length]
        close = headers.get(b"connection", b"").lower() == b"close" or words[2] == b"HTTP/1.0"
        self._reply(200, _content(words[1], body), close, words[1].startswith(KEPT))
        return not close

    def _reply(self, status: int, content: bytes, close: bool, kept: bool = False) -> None:
        if not self._transport or self._transport.is_closing():
            return
        self._counts.requests += 1
        self._counts.errors += status != 200
        head = f"HTTP/1.1 {status} {'OK' if status == 200 else 'Bad Request'}\r\nContent-Type: text/html\r\n"
        if kept:
            # Caches reckon the age of a page from its date (RFC 9111 4.2.3).
            head += f"Cache-Control: max-age=60\r\nDate: {formatdate(usegmt=True)}\r\n"
        head += f"Content-Length: {len(content)}\r\nConnection: {'close' if close else 'keep-alive'}\r\n\r\n"
        reply = head.encode() + content
        self._counts.octets += len(reply)
        self._transport.write(reply)
        if close:
            self._transport.close()


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, value = line.split(b":", 1)
    return name.strip().lower(), value.strip()


def _content(target: bytes, body: bytes) -> bytes:
    path = target.split(b"?", 1)[0]
    if path == b"/echo":
        return body
    if path.startswith(b"/bytes/") and path[7:].isdigit():
        return b"x" * min(int(path[7:]), REPLY_MAX_BYTES)
    return PAGE


async def serve(port: int) -> None:
    counts, rate = Counts(), Rate()
    # No host: all addresses, IPv4 and IPv6.
    await asyncio.get_running_loop().create_server(lambda: HttpConnection(counts), None, port, backlog=512)
    before = time.monotonic()
    while True:
        now = time.monotonic()
        metrics = {"requests": counts.requests, "errors": counts.errors, "connections": counts.connections}
        report(metrics | {"bits_per_second": rate.bits_per_second(counts.octets, now - before)})
        before = now
        await asyncio.sleep(REPORT_INTERVAL_S)


if __name__ == "__main__":
    asyncio.run(serve(json.loads(sys.argv[1])["port"]))
