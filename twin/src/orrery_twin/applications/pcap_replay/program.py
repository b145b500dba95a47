# SPDX-License-Identifier: Apache-2.0
"""Send the frames of a capture file, as from this host, at a steady rate from the interface of the host it runs in."""

import errno
import json
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orrery_twin.applications.report import REPORT_INTERVAL_S, LatestError, Rate, report
from orrery_twin.domain.pcap_file import read_frames
from orrery_twin.domain.topology import GATEWAY_MAC

TICK_S = 0.002
"""Shortest sleep: at higher rates, several frames are sent per tick."""


@dataclass
class Counts:
    sent: int = 0
    errors: int = 0
    octets: int = 0
    error: LatestError = field(default_factory=LatestError)


def replay(settings: dict[str, Any]) -> None:
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind((settings["interface"], 0))
    # A switch accepts nothing else from a host.
    addresses = bytes.fromhex(GATEWAY_MAC.replace(":", "")) + sender.getsockname()[4]
    captured = read_frames(Path(settings["file"]).read_bytes())
    frames = [addresses + frame.data[len(addresses) :] for frame in captured]
    counters, rate = Counts(), Rate()
    start = reported = time.monotonic()
    end = start + settings["duration_s"] if settings["duration_s"] else None
    total = len(frames) * settings["loops"]
    while counters.sent < total:
        now = time.monotonic()
        if end and now >= end:
            break
        for _ in range(min(total - counters.sent, int((now - start) * settings["rate_pps"]) + 1 - counters.sent)):
            _send(sender, frames[counters.sent % len(frames)], counters)
        if now - reported >= REPORT_INTERVAL_S:
            _report(counters, rate, now - reported, counters.error.end_interval())
            reported = now
        next_frame = start + counters.sent / settings["rate_pps"]
        time.sleep(max(TICK_S, min(next_frame - now, REPORT_INTERVAL_S)))
    _report(counters, rate, time.monotonic() - reported, counters.error.latest)


def _send(sender: socket.socket, frame: bytes, counters: Counts) -> None:
    counters.sent += 1
    try:
        sender.send(frame)
        counters.octets += len(frame)
        counters.error.succeeded()
    except OSError as error:
        counters.errors += 1
        too_long = error.errno == errno.EMSGSIZE
        counters.error.failed(f"a frame of {len(frame)} bytes does not fit the link" if too_long else str(error))


def _report(counts: Counts, rate: Rate, interval_s: float, error: str | None) -> None:
    metrics = {"sent": counts.sent, "errors": counts.errors}
    report(metrics | {"bits_per_second": rate.bits_per_second(counts.octets, interval_s)}, error)


if __name__ == "__main__":
    replay(json.loads(sys.argv[1]))
