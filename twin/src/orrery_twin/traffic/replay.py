# SPDX-License-Identifier: Apache-2.0
"""Sends the frames of a capture file as they are, at a steady rate, from the interface of the host it runs in."""

import errno
import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

from orrery_twin.domain.pcap_file import read_frames
from orrery_twin.traffic.report import Counters

REPORT_INTERVAL_S = 1.0
TICK_S = 0.002
"""Shortest sleep: at higher rates several frames are sent a tick."""


def replay(settings: dict[str, Any]) -> None:
    frames = [frame.data for frame in read_frames(Path(settings["file"]).read_bytes())]
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind((settings["interface"], 0))
    counters = Counters()
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
            counters.print(now - reported)
            reported = now
        next_frame = start + counters.sent / settings["rate_pps"]
        time.sleep(max(TICK_S, min(next_frame - now, REPORT_INTERVAL_S)))
    counters.print(time.monotonic() - reported)


def _send(sender: socket.socket, frame: bytes, counters: Counters) -> None:
    counters.sent += 1
    try:
        sender.send(frame)
        counters.octets += len(frame)
    except OSError as error:
        counters.errors += 1
        too_long = error.errno == errno.EMSGSIZE
        counters.detail = f"a frame of {len(frame)} bytes does not fit the link" if too_long else str(error)


if __name__ == "__main__":
    replay(json.loads(sys.argv[1]))
