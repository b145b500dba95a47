# SPDX-License-Identifier: Apache-2.0
"""One-way latency: timestamped UDP from one host to another, sent and received by one process with one clock."""

import ctypes
import json
import os
import select
import socket
import struct
import sys
import time
from typing import Any

from orrery_twin.traffic.report import Counters

CLONE_NEWNET = 0x40000000
SO_TIMESTAMPNS = 35
LOST_AFTER_S = 1.0
REPORT_INTERVAL_S = 1.0
PAYLOAD = struct.Struct("!QQQ")
"""Session, sequence number, time of sending in ns."""


def socket_in(pid: int) -> socket.socket:
    """A UDP socket that belongs to the network namespace of a process."""
    handle = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(handle, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace of {pid}")
    finally:
        os.close(handle)
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


class Probe:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.counters = Counters()
        self.sender = socket_in(settings["from_pid"])
        self.sender.bind((settings["from_address"], 0))
        self.receiver = socket_in(settings["to_pid"])
        self.receiver.bind((settings["to_address"], settings["port"]))
        self.receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.receiver.setblocking(False)
        self.session = int.from_bytes(os.urandom(8), "big")

    def run(self) -> None:
        start = time.monotonic()
        duration_s = self.settings["duration_s"]
        due, report_due, reported = start, start + REPORT_INTERVAL_S, start
        waiter = select.poll()
        waiter.register(self.receiver, select.POLLIN)
        sent_at: list[tuple[float, int]] = []
        while not duration_s or time.monotonic() - start < duration_s + LOST_AFTER_S:
            now = time.monotonic()
            if now >= due and (not duration_s or now - start < duration_s):
                self._send()
                due = max(due + 1 / self.settings["rate_per_s"], now)
            if now >= report_due:
                sent_at = [(t, n) for t, n in sent_at if t > now - 2 * LOST_AFTER_S] + [(now, self.counters.sent)]
                settled = [n for t, n in sent_at if t <= now - LOST_AFTER_S]
                self.counters.errors = max(0, (settled[-1] if settled else 0) - self.counters.received)
                self.counters.print(now - reported)
                reported, report_due = now, now + REPORT_INTERVAL_S
            sleep_s = max(0.0, min(due, report_due) - time.monotonic())
            if duration_s and now - start >= duration_s:
                sleep_s = max(0.0, report_due - now)
            if waiter.poll(sleep_s * 1000):
                self._receive()
        self.counters.errors = self.counters.sent - self.counters.received
        self.counters.print(time.monotonic() - reported)

    def _send(self) -> None:
        self.counters.sent += 1
        payload = PAYLOAD.pack(self.session, self.counters.sent, time.time_ns())
        try:
            self.sender.sendto(payload, (self.settings["to_address"], self.settings["port"]))
        except OSError as error:
            self.counters.detail = str(error)

    def _receive(self) -> None:
        while True:
            try:
                payload, ancillary, _, _ = self.receiver.recvmsg(2048, 64)
            except BlockingIOError:
                return
            if len(payload) != PAYLOAD.size or not ancillary:
                continue
            session, _, sent_ns = PAYLOAD.unpack(payload)
            if session != self.session:
                continue
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
            self.counters.received += 1
            self.counters.octets += len(payload) + 28
            self.counters.latency(max(0, seconds * 1_000_000_000 + nanoseconds - sent_ns) / 1000)


if __name__ == "__main__":
    Probe(json.loads(sys.argv[1])).run()
