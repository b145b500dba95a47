# SPDX-License-Identifier: Apache-2.0
"""An origin: HTTP on port 80, echo by TCP on port 8080 and by UDP on port 7, names on port 53. Prints each request as a JSON line."""

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Pages(BaseHTTPRequestHandler):
    """Every path is a page; caches may keep those below /kept/ for a minute."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the path, and as many bytes more as the query says."""
        path, _, size = self.path.partition("?")
        seen = {"path": path, "from": self.client_address[0], "for": self.headers.get("X-Forwarded-For")}
        print(json.dumps(seen), flush=True)
        body = path.encode() + b"x" * int(size or 0)
        self.send_response(200)
        self.send_header("Cache-Control", "max-age=60" if path.startswith("/kept/") else "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Stream(socketserver.BaseRequestHandler):
    """Answers with the client's address."""

    def handle(self) -> None:
        """Answer once."""
        self.request.recv(100)
        self.request.sendall(self.client_address[0].encode())


class Datagram(socketserver.BaseRequestHandler):
    """Answers with the client's address."""

    def handle(self) -> None:
        """Answer once."""
        self.request[1].sendto(self.client_address[0].encode(), self.client_address)


class Names(socketserver.BaseRequestHandler):
    """Knows that names in .example have the address 10.0.2.2 (RFC 1035 4.1)."""

    def handle(self) -> None:
        """Answer a query for an address; there are no others."""
        query, listener = self.request
        end = query.index(b"\0", 12) + 5
        known = b"\x07example\0" in query and query[end - 4 : end - 2] == b"\0\x01"
        flags, answers = (b"\x84\0", 1) if known else (b"\x84\x03", 0)
        record = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\x02\x02" if known else b""
        counts = b"\0\x01" + bytes([0, answers]) + b"\0\0\0\0"
        listener.sendto(query[:2] + flags + counts + query[12:end] + record, self.client_address)


def main() -> None:
    """Serve until killed."""
    servers = [
        ThreadingHTTPServer(("", 80), Pages),
        socketserver.ThreadingTCPServer(("", 8080), Stream),
        socketserver.UDPServer(("", 7), Datagram),
        socketserver.UDPServer(("", 53), Names),
    ]
    for server in servers[1:]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    servers[0].serve_forever()


if __name__ == "__main__":
    main()
