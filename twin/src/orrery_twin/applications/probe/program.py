# SPDX-License-Identifier: Apache-2.0
"""Measure one-way latency and loss: send timestamped UDP packets; the server reports when and how many arrived.

Interrupted (SIGINT), it ends as when its time is up.
"""

import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

from orrery_twin.applications.probe.packets import PROBE, REPLY
from orrery_twin.applications.probe.stall_buffer import enlarge_buffer
from orrery_twin.applications.report import REPORT_INTERVAL_S, Latencies, LatestError, Rate, report

LOST_AFTER_S = 1.0
"""While probes are sent: one without a reply for so long counts as lost, until a reply tells that it arrived."""
SILENCE_S = 4.0
"""After the last probe, it ends when no reply has come for so long: a server that stalls or lags is no loss."""
HEADERS_BYTES = 28


class Probe:
    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._target = (settings["address"], settings["port"])
        family = socket.AF_INET6 if ":" in settings["address"] else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        enlarge_buffer(self._socket)
        self._socket.setblocking(False)
        self._session = int.from_bytes(os.urandom(8), "big")
        self._latencies = Latencies()
        self._rate = Rate()
        self._sent = 0
        self._arrived = 0
        self._answered = 0
        """The highest sequence number of a reply; `_arrived` is as of that reply."""
        self._heard = 0.0
        """When the latest reply came."""
        self._send_until = 0.0
        self._sent_at: list[tuple[float, int]] = []
        """How many had been sent at which time, for as long as some may be in flight."""
        self._error = LatestError()
        self._reported = time.monotonic()

    def run(self) -> None:
        due = time.monotonic()
        report_due = due + REPORT_INTERVAL_S
        self._send_until = due + (self._settings["duration_s"] or float("inf"))
        waiter = select.poll()
        waiter.register(self._socket, select.POLLIN)
        while (now := time.monotonic()) < max(self._send_until, self._heard) + SILENCE_S:
            sends = now < self._send_until
            if not sends and self._answered == self._sent:
                break
            if sends and now >= due:
                self._send()
                due = max(due + 1 / self._settings["rate_per_s"], now)
            if now >= report_due:
                self._report(now)
                report_due = now + REPORT_INTERVAL_S
            wake = min(due, report_due) if sends else report_due
            if waiter.poll(max(0.0, wake - time.monotonic()) * 1000):
                self._receive()
        self._report(time.monotonic(), is_last=True)

    def interrupt(self) -> None:
        self._send_until = time.monotonic()

    def _report(self, now: float, is_last: bool = False) -> None:
        recent = [(t, sent) for t, sent in self._sent_at if t > now - 2 * LOST_AFTER_S]
        self._sent_at = [*recent, (now, self._sent)]
        settled = [sent for t, sent in self._sent_at if is_last or t <= now - LOST_AFTER_S]
        metrics: dict[str, float] = {
            "sent": self._sent,
            "received": self._arrived,
            "lost": max(0, self._answered - self._arrived) + max(0, (settled[-1] if settled else 0) - self._answered),
            "bits_per_second": self._rate.bits_per_second(
                self._arrived * (PROBE.size + HEADERS_BYTES), now - self._reported
            ),
        }
        error = self._error.latest if is_last else self._error.end_interval()
        report(metrics | self._latencies.metrics(), error)
        self._reported = now

    def _send(self) -> None:
        self._sent += 1
        try:
            self._socket.sendto(PROBE.pack(self._session, self._sent, time.time_ns()), self._target)
            self._error.succeeded()
        except OSError as error:
            self._error.failed(str(error))

    def _receive(self) -> None:
        while True:
            try:
                payload = self._socket.recv(2048)
            except BlockingIOError:
                return
            except OSError as error:  # e.g. the port is closed there
                self._error.failed(str(error))
                return
            if len(payload) != REPLY.size:
                continue
            session, sequence, sent_ns, arrived_ns, arrived = REPLY.unpack(payload)
            if session == self._session:
                self._heard = time.monotonic()
                if sequence > self._answered:
                    self._answered, self._arrived = sequence, arrived
                self._latencies.add(max(0, arrived_ns - sent_ns) / 1000)


if __name__ == "__main__":
    probe = Probe(json.loads(sys.argv[1]))
    signal.signal(signal.SIGINT, lambda *_: probe.interrupt())
    probe.run()
