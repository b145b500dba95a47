# SPDX-License-Identifier: Apache-2.0
"""Reads what `iperf3 --forceflush -f k` prints while it runs (3.12; JSON comes only at its end)."""

import re
from dataclasses import dataclass

from orrery_twin.contract.models import TrafficRequestIperf3, TrafficStatus

INTERVAL = re.compile(
    r"\[ *\d+\] +(?P<start>[\d.]+)-(?P<end>[\d.]+) +sec +(?P<amount>[\d.]+) (?P<unit>[KMGT]?)Bytes"
    r" +(?P<rate>[\d.]+) Kbits/sec"
    r"(?: +(?P<jitter>[\d.]+) ms +(?P<lost>\d+)/(?P<total>\d+))?"
)
UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


@dataclass(frozen=True)
class Interval:
    seconds: float
    bits_per_second: float
    octets: float
    lost: int
    total: int
    is_sum: bool
    """The line is of the whole test, at its end."""


def read_interval(line: str) -> Interval | None:
    found = INTERVAL.match(line.strip())
    if not found:
        return None
    return Interval(
        seconds=float(found["end"]) - float(found["start"]),
        bits_per_second=float(found["rate"]) * 1000,
        octets=float(found["amount"]) * UNITS[found["unit"]],
        lost=int(found["lost"] or 0),
        total=int(found["total"] or 0),
        is_sum=line.rstrip().endswith(("sender", "receiver")),
    )


class IperfCounts:
    """Counts a stream from the lines that its two ends print each second."""

    def __init__(self, status: TrafficStatus, request: TrafficRequestIperf3) -> None:
        self.status = status
        self._request = request
        self._sent_before = 0
        """Packets that had a second or more to arrive."""

    def take_sent(self, line: str) -> None:
        interval = read_interval(line)
        if interval is None:
            return
        if not interval.is_sum:
            self._sent_before = self.status.sent
            self.status.sent += self._packets(interval)
            if self._request.protocol == "udp":
                self.status.errors = max(0, self._sent_before - self.status.received)
            return
        # The receiver's line is the last one, and it alone knows the whole.
        self.status.bits_per_second = interval.bits_per_second
        if interval.total:
            self.status.sent, self.status.errors = interval.total, interval.lost
            self.status.received = interval.total - interval.lost
        else:
            self.status.received = self._packets(interval)

    def take_received(self, line: str) -> None:
        interval = read_interval(line)
        if interval is None or interval.is_sum:
            return
        self.status.bits_per_second = interval.bits_per_second
        self.status.received += interval.total - interval.lost if interval.total else self._packets(interval)

    def _packets(self, interval: Interval) -> int:
        return round(interval.octets / self._request.packet_bytes)
