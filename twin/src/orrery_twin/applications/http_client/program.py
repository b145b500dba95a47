# SPDX-License-Identifier: Apache-2.0
"""Send HTTP requests at a fixed rate, each on its own connection: every request is a new flow."""

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from typing import Any

from orrery_twin.applications.report import REPORT_INTERVAL_S, Latencies, LatestError, Rate, report

IN_FLIGHT_MAX = 256
REPLY_TIMEOUT_S = 3.0


class Request(asyncio.Protocol):
    def __init__(self, message: bytes) -> None:
        self._message = message
        self.status = 0
        self.octets = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._message)

    def data_received(self, data: bytes) -> None:
        if self.octets == 0 and data.startswith(b"HTTP/1.1 ") and data[9:12].isdigit():
            self.status = int(data[9:12])
        self.octets += len(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


@dataclass
class Counts:
    sent: int = 0
    received: int = 0
    errors: int = 0
    octets: int = 0


class Client:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.counters = Counts()
        self.error = LatestError()
        self.latencies = Latencies()
        self.rate = Rate()
        body = settings["body"].encode()
        host = f"[{settings['address']}]" if ":" in settings["address"] else settings["address"]
        head = f"{'POST' if body else 'GET'} {settings['path']} HTTP/1.1\r\nHost: {host}\r\n"
        head += "User-Agent: orrery-twin\r\nConnection: close\r\n"
        if body:
            head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
        self.message = head.encode() + b"\r\n" + body
        self.in_flight: set[asyncio.Task[None]] = set()
        self.reported = time.monotonic()

    async def run(self) -> None:
        reporter = asyncio.create_task(self._report_regularly())
        start = time.monotonic()
        interval_s = 1 / self.settings["rate_per_s"]
        limit = self.settings["count"]
        due = start
        while not limit or self.counters.sent < limit:
            if self.settings["duration_s"] and due - start >= self.settings["duration_s"]:
                break
            if (wait := due - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            elif wait < -1:
                due = time.monotonic()
            due += interval_s
            self._send()
        if self.in_flight:
            await asyncio.wait(self.in_flight)
        reporter.cancel()
        self._report(self.error.latest)

    def _send(self) -> None:
        self.counters.sent += 1
        if len(self.in_flight) >= IN_FLIGHT_MAX:
            return self._failed(f"{IN_FLIGHT_MAX} requests are waiting for a reply")
        task = asyncio.create_task(self._one())
        self.in_flight.add(task)
        task.add_done_callback(self.in_flight.discard)

    async def _one(self) -> None:
        start = time.monotonic()
        transport: asyncio.BaseTransport | None = None
        try:
            async with asyncio.timeout(REPLY_TIMEOUT_S):
                transport, request = await asyncio.get_running_loop().create_connection(
                    lambda: Request(self.message), self.settings["address"], self.settings["port"]
                )
                await request.done
        except (OSError, TimeoutError) as error:
            is_late = isinstance(error, TimeoutError)
            return self._failed(f"no reply in {REPLY_TIMEOUT_S:.0f} s" if is_late else str(error))
        finally:
            if isinstance(transport, asyncio.Transport):
                transport.abort()
        if request.status == 200:
            self.counters.received += 1
            self.counters.octets += request.octets
            self.latencies.add((time.monotonic() - start) * 1e6)
            self.error.succeeded()
        else:
            self._failed(f"status {request.status}" if request.status else "the connection closed without a reply")

    def _failed(self, error: str) -> None:
        self.counters.errors += 1
        self.error.failed(error)

    async def _report_regularly(self) -> None:
        while True:
            await asyncio.sleep(REPORT_INTERVAL_S)
            self._report(self.error.end_interval())

    def _report(self, error: str | None) -> None:
        now, counts = time.monotonic(), self.counters
        metrics: dict[str, float] = {"sent": counts.sent, "received": counts.received, "errors": counts.errors}
        metrics["bits_per_second"] = self.rate.bits_per_second(counts.octets, now - self.reported)
        report(metrics | self.latencies.metrics(), error)
        self.reported = now


async def main() -> None:
    await Client(json.loads(sys.argv[1])).run()


if __name__ == "__main__":
    asyncio.run(main())
