# SPDX-License-Identifier: Apache-2.0
"""Reports of a program to twind: JSON objects on standard output, one per line, each replacing the previous one."""

import json
import sys
from collections import deque

REPORT_INTERVAL_S = 1.0
LATENCY_SAMPLES = 1000
"""Percentiles of the latest samples only, so that they follow changes of load."""


class Latencies:
    def __init__(self) -> None:
        self._samples_us: deque[float] = deque(maxlen=LATENCY_SAMPLES)

    def add(self, microseconds: float) -> None:
        self._samples_us.append(microseconds)

    def metrics(self) -> dict[str, float]:
        """Empty before the first sample."""
        if not self._samples_us:
            return {}
        ordered = sorted(self._samples_us)
        last = len(ordered) - 1
        return {"latency_p50_us": ordered[round(last * 0.50)], "latency_p99_us": ordered[round(last * 0.99)]}


class Rate:
    """Bits per second between two readings of a byte counter."""

    def __init__(self) -> None:
        self._octets_before = 0

    def bits_per_second(self, octets: int, interval_s: float) -> float:
        bits = (octets - self._octets_before) * 8
        self._octets_before = octets
        return bits / interval_s if interval_s > 0 else 0.0


class LatestError:
    """The error to report while a program works: the latest one, until an interval has successes and no error."""

    def __init__(self) -> None:
        self.latest: str | None = None
        """Of the whole run; for the last report."""
        self._current: str | None = None
        self._has_failed = False
        self._has_succeeded = False

    def failed(self, error: str) -> None:
        self.latest = self._current = error
        self._has_failed = True

    def succeeded(self) -> None:
        self._has_succeeded = True

    def end_interval(self) -> str | None:
        """Called once per report. None: no error, or the interval had only successes. An idle one keeps the error."""
        if self._has_succeeded and not self._has_failed:
            self._current = None
        self._has_failed = self._has_succeeded = False
        return self._current


def report(metrics: dict[str, float], detail: str | None = None) -> None:
    sys.stdout.write(json.dumps({"metrics": metrics, "detail": detail}) + "\n")
    sys.stdout.flush()
