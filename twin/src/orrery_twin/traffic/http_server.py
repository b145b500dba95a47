# SPDX-License-Identifier: Apache-2.0
"""Web server of a host: answers every path with a small page, `/echo` with the body, `/bytes/N` with N bytes."""

import argparse
import asyncio

REQUEST_MAX_BYTES = 1 << 20
REPLY_MAX_BYTES = 1 << 20
IDLE_S = 30.0
CONNECTIONS_MAX = 2000
PAGE = b"<!doctype html><title>Orrery twin</title><p>This page crossed the emulated network.</p>\n" + b" " * 400 + b"\n"


class HttpConnection(asyncio.Protocol):
    open_connections = 0

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        HttpConnection.open_connections += 1
        if HttpConnection.open_connections > CONNECTIONS_MAX:
            transport.abort()
        self._idle = asyncio.get_running_loop().call_later(IDLE_S, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        HttpConnection.open_connections -= 1
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
        self._reply(200, _content(words[1], body), close)
        return not close

    def _reply(self, status: int, content: bytes, close: bool) -> None:
        if not self._transport or self._transport.is_closing():
            return
        head = f"HTTP/1.1 {status} {'OK' if status == 200 else 'Bad Request'}\r\nContent-Type: text/html\r\n"
        head += f"Content-Length: {len(content)}\r\nConnection: {'close' if close else 'keep-alive'}\r\n\r\n"
        self._transport.write(head.encode() + content)
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
    server = await asyncio.get_running_loop().create_server(
        HttpConnection, "0.0.0.0", port, reuse_port=True, backlog=512
    )
    print(f"listening on {port}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=80)
    asyncio.run(serve(parser.parse_args().port))
