# SPDX-License-Identifier: Apache-2.0
"""Golden model of rtl/nf_ddos_detector."""

from __future__ import annotations

from dataclasses import dataclass, field

from model.flow_table import crc32c
from model.packet import TCP, parse
from model.verdict import FORWARD, Verdict, drop

ENTRIES = 1024
COUNT_MAX = 65535
SYN, ACK = 2, 16
NORMAL, ATTACK = 1, 2
EVENT_FLAGGED, EVENT_CLEARED = 1, 2


def index_of(address: int) -> int:
    return crc32c(address.to_bytes(4, "big")) % ENTRIES


@dataclass
class Counter:
    address: int = 0  # the destination that raised it last
    count: int = 0
    flagged_address: int | None = None
    end: tuple[int, int] = (0, 0)  # address and count at the end of the last window

    def put(self, address: int, count: int, flagged_address: int | None) -> None:
        """Set by the host."""
        self.address, self.count, self.flagged_address = address, count, flagged_address


@dataclass(frozen=True)
class Sums:
    """Over the counters above 0."""

    counters: int
    sum: int
    squares: int

    @property
    def mean(self) -> int:
        return self.sum // self.counters if self.counters else 0

    def stands_out(self, count: int, quarters: int) -> bool:
        """Whether a counter is more than k quarters of a standard deviation above the mean; always if it is alone."""
        if self.counters == 1:
            return True
        above = self.counters * count - self.sum
        return above > 0 and above**2 * 16 > quarters**2 * (self.counters * self.squares - self.sum**2)


def sums_of(counts: list[int]) -> Sums:
    return Sums(sum(count > 0 for count in counts), sum(counts), sum(count**2 for count in counts))


@dataclass
class DdosDetector:
    minimum: int = 32
    quarters: int = 12
    drop_attacks: bool = False
    window_ms: int = 1000
    counters: list[Counter] = field(default_factory=lambda: [Counter() for _ in range(ENTRIES)])
    events: list[list[int]] = field(default_factory=list)
    windows: int = 0

    def advance(self, now_ms: int) -> None:
        """Close the windows that have ended by then; the first began at 0."""
        while now_ms // self.window_ms > self.windows:
            self.close_window()

    def process(self, frame: bytes, direction: int = FORWARD) -> Verdict:
        headers = parse(frame)
        if not headers.is_ipv4:
            return Verdict(frame=frame)
        normal = Verdict(frame=frame, frame_class=NORMAL)
        flags = headers.tcp_flags & (SYN | ACK)
        if not (headers.transport and headers.protocol == TCP and flags in (SYN, ACK)):
            return normal
        counter = self.counters[index_of(headers.dst_ip)]
        if flags == ACK:
            counter.count = max(counter.count - 1, 0)
            return normal
        counter.count = min(counter.count + 1, COUNT_MAX)
        counter.address = headers.dst_ip
        if counter.flagged_address != headers.dst_ip:
            return normal
        return drop("attack") if self.drop_attacks else Verdict(frame=frame, frame_class=ATTACK)

    def close_window(self) -> Sums:
        sums = self.end_window()
        self.judge(sums)
        return sums

    def end_window(self) -> Sums:
        """From here on, frames count for the next window but are still judged by the old flags until `judge`."""
        for counter in self.counters:
            counter.end = counter.address, counter.count
            counter.count //= 2
        return sums_of([counter.end[1] for counter in self.counters])

    def judge(self, sums: Sums) -> None:
        for counter in self.counters:
            address, count = counter.end
            high = count >= max(self.minimum, 1) and sums.stands_out(count, self.quarters)
            was = counter.flagged_address
            now = address if high else None
            if was is not None and was != now:
                self.events.append([EVENT_CLEARED, was, count, sums.mean, 0, 0, 0, 0])
            if now is not None and was != now:
                self.events.append([EVENT_FLAGGED, now, count, sums.mean, 0, 0, 0, 0])
            counter.flagged_address = now
        self.windows += 1
