# SPDX-License-Identifier: Apache-2.0
"""Timestamp arriving probes with the kernel's arrival time, and report to their sender."""

import json
import select
import socket
import struct
import sys
import time
from collections import OrderedDict

from orrery_twin.applications.probe.packets import PROBE, REPLY
from orrery_twin.applications.probe.stall_buffer import enlarge_buffer
from orrery_twin.applications.report import REPORT_INTERVAL_S, LatestError, report

SO_TIMESTAMPNS, SO_RXQ_OVFL = 35, 40
TIMESPEC = struct.Struct("qq")
SESSIONS_MAX = 1000


def bound(port: int) -> socket.socket:
    """Accepts IPv4 as well (RFC 4291 2.5.5.2)."""
    server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    enlarge_buffer(server)
    server.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    server.setsockopt(socket.SOL_SOCKET, SO_RXQ_OVFL, 1)
    server.setblocking(False)
    server.bind(("::", port))
    return server


class ProbeServer:
    def __init__(self, port: int) -> None:
        self._socket = bound(port)
        self._arrived_of: OrderedDict[int, int] = OrderedDict()
        """Probes received per session; the sessions idle longest are dropped first."""
        self._received = 0
        self._errors = 0
        self._overflow = 0
        """Packets that arrived and did not fit into the buffer, since the start."""
        self._error = LatestError()

    def run(self) -> None:
        waiter = select.poll()
        waiter.register(self._socket, select.POLLIN)
        report_due = 0.0
        while True:
            now = time.monotonic()
            if now >= report_due:
                metrics: dict[str, float] = {"received": self._received, "errors": self._errors + self._overflow}
                report(metrics | {"overflow": self._overflow}, self._error.end_interval())
                report_due = now + REPORT_INTERVAL_S
            if waiter.poll((report_due - now) * 1000):
                self._answer_all()

    def _answer_all(self) -> None:
        while True:
            try:
                payload, ancillary, _, sender = self._socket.recvmsg(2048, 128)
            except BlockingIOError:
                return
            told = {kind: data for _, kind, data in ancillary}
            if SO_RXQ_OVFL in told:
                self._overflow = int.from_bytes(told[SO_RXQ_OVFL], sys.byteorder)
            if len(payload) != PROBE.size or SO_TIMESTAMPNS not in told:
                self._errors += 1
                continue
            self._received += 1
            seconds, nanoseconds = TIMESPEC.unpack(told[SO_TIMESTAMPNS])
            session, sequence, sent_ns = PROBE.unpack(payload)
            arrived = self._arrived_of.pop(session, 0) + 1
            self._arrived_of[session] = arrived
            if len(self._arrived_of) > SESSIONS_MAX:
                self._arrived_of.popitem(last=False)
            self._reply(REPLY.pack(session, sequence, sent_ns, seconds * 1_000_000_000 + nanoseconds, arrived), sender)

    def _reply(self, payload: bytes, sender: tuple[str, int]) -> None:
        try:
            self._socket.sendto(payload, sender)
            self._error.succeeded()
        except OSError as error:
            self._errors += 1
            self._error.failed(str(error))


if __name__ == "__main__":
    ProbeServer(json.loads(sys.argv[1])["port"]).run()
