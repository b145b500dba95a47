# SPDX-License-Identifier: Apache-2.0
"""What a generator tells twind: one JSON object a line on standard output, each replacing the one before."""

import json
import sys
from collections import deque

LATENCY_SAMPLES = 1000
"""Percentiles are of the latest samples, so that they follow a change of load."""


class Counters:
    def __init__(self) -> None:
        self.sent = 0
        self.received = 0
        self.errors = 0
        self.octets = 0
        self.detail: str | None = None
        self._latencies_us: deque[float] = deque(maxlen=LATENCY_SAMPLES)
        self._octets_before = 0

    def latency(self, microseconds: float) -> None:
        self._latencies_us.append(microseconds)

    def print(self, interval_s: float) -> None:
        octets = self.octets - self._octets_before
        self._octets_before = self.octets
        line = {
            "sent": self.sent,
            "received": self.received,
            "errors": self.errors,
            "bits_per_second": octets * 8 / interval_s if interval_s > 0 else 0.0,
            "latency_us": self._percentiles(),
            "detail": self.detail,
        }
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    def _percentiles(self) -> dict[str, float] | None:
        if not self._latencies_us:
            return None
        ordered = sorted(self._latencies_us)
        last = len(ordered) - 1
        return {"p50": ordered[round(last * 0.50)], "p99": ordered[round(last * 0.99)]}
