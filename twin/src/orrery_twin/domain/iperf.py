# SPDX-License-Identifier: Apache-2.0
"""Parse the output of `iperf3 --forceflush -f k` while it runs (3.12; JSON comes only at the end)."""

import re
from dataclasses import dataclass

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
    """The line summarizes the whole test, at its end."""


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
