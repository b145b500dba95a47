# SPDX-License-Identifier: Apache-2.0
"""Golden model of rtl/nf_sqli_detector; the search uses Python's re."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from model.packet import TCP, parse
from model.verdict import FORWARD, Verdict, drop
from rtl.nf_sqli_detector.generator.patterns import read_patterns

PATTERNS = read_patterns()
CLEAN, ATTACK = 1, 2
EVENT_ATTACK = 1

_SEARCHES = [re.compile(pattern.expression.encode("ascii"), re.IGNORECASE | re.DOTALL) for pattern in PATTERNS]


def search(text: bytes) -> int:
    """Bit n: pattern n occurs."""
    return sum(1 << n for n, expression in enumerate(_SEARCHES) if expression.search(text))


@dataclass
class SqliDetector:
    ports: tuple[int, ...] = (80,)
    drop_attacks: bool = False
    pattern_packets: list[int] = field(default_factory=lambda: [0] * len(PATTERNS))
    events: list[list[int]] = field(default_factory=list)

    def process(self, frame: bytes, direction: int = FORWARD) -> Verdict:
        headers = parse(frame)
        if not headers.is_ipv4:
            return Verdict(frame=frame)
        watched = headers.transport and headers.protocol == TCP and headers.dst_port in self.ports and headers.dst_port
        end = headers.payload_offset + headers.payload_bytes
        hits = search(frame[headers.payload_offset : end]) if watched else 0
        if hits == 0:
            return Verdict(frame=frame, frame_class=CLEAN)
        for n in range(len(PATTERNS)):
            self.pattern_packets[n] += hits >> n & 1
        ports = headers.src_port << 16 | headers.dst_port
        self.events.append([EVENT_ATTACK, headers.src_ip, headers.dst_ip, ports, hits, headers.payload_bytes, 0, 0])
        return drop("attack") if self.drop_attacks else Verdict(frame=frame, frame_class=ATTACK)
