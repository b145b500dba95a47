# SPDX-License-Identifier: Apache-2.0
"""Receives iperf3 streams."""

from orrery_twin.applications.kind import Meter, Place
from orrery_twin.contract.models import Iperf3ServerConfig
from orrery_twin.domain.iperf import read_interval

STALLED_MS = 10_000
"""A stream that receives nothing for this long is ended, so that the next client finds the server free."""
IDLE_S = 2.5
"""During a stream there is a line per second."""
TCP_SEGMENT_BYTES = 1448


class ReceivedMeter(Meter):
    def take(self, line: str) -> None:
        interval = read_interval(line)
        if interval is None or interval.is_sum:
            return
        arrived = interval.total - interval.lost if interval.total else round(interval.octets / TCP_SEGMENT_BYTES)
        self.metrics = {
            "received": self.metrics.get("received", 0) + arrived,
            "lost": self.metrics.get("lost", 0) + interval.lost,
            "bits_per_second": interval.bits_per_second,
        }

    def silent(self, seconds: float) -> None:
        if seconds > IDLE_S and self.metrics:
            self.metrics = {**self.metrics, "bits_per_second": 0}


class Iperf3Server:
    name = "iperf3-server"
    ends = False
    reports = False

    def command(self, config: Iperf3ServerConfig, place: Place) -> list[str]:
        command = ["iperf3", "-s", "-p", str(config.port), "-f", "k", "-i", "1", "--forceflush"]
        return [*command, "--rcv-timeout", str(STALLED_MS)]

    def listens(self, config: Iperf3ServerConfig) -> int | None:
        return config.port

    def meter(self, config: Iperf3ServerConfig) -> Meter:
        return ReceivedMeter()
