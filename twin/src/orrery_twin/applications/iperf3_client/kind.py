# SPDX-License-Identifier: Apache-2.0
"""Sends an iperf3 stream."""

from orrery_twin.applications.kind import Meter, Place, destination
from orrery_twin.contract.models import Iperf3ClientConfig
from orrery_twin.domain.iperf import read_interval

TCP_MSS_MIN = 88
CONNECT_TIMEOUT_MS = 5000


class SentMeter(Meter):
    """Counts packets while the stream runs; the final report says what the receiver got."""

    def __init__(self, packet_bytes: int) -> None:
        super().__init__()
        self._packet_bytes = packet_bytes

    def take(self, line: str) -> None:
        if "error" in line.lower():
            self.detail = line.strip().removeprefix("iperf3: ")[:300]
        interval = read_interval(line)
        if interval is None:
            return
        packets = round(interval.octets / self._packet_bytes)
        if not interval.is_sum:
            if packets > 0:
                self.detail = None
            self.metrics["sent"] = self.metrics.get("sent", 0) + packets
            self.metrics["bits_per_second"] = interval.bits_per_second
            return
        # The receiver's line is the last one.
        self.metrics["bits_per_second"] = interval.bits_per_second
        if interval.total:
            self.metrics |= {"sent": interval.total, "lost": interval.lost, "received": interval.total - interval.lost}
        else:
            self.metrics["received"] = packets


class Iperf3Client:
    name = "iperf3-client"
    ends = True
    reports = True

    def command(self, config: Iperf3ClientConfig, place: Place) -> list[str]:
        command = ["iperf3", "-c", destination(place), "-p", str(config.port), "-f", "k", "--forceflush", "-i", "1"]
        command += ["--connect-timeout", str(CONNECT_TIMEOUT_MS), "-b", str(int(config.rate_bps))]
        # For iperf3, 0 means no limit, so a positive duration is at least 1 s.
        command += ["-t", str(max(1, round(config.duration_s)) if config.duration_s else 0)]
        if config.protocol == "udp":
            return [*command, "-u", "-l", str(config.packet_bytes)]
        return [*command, "-M", str(max(TCP_MSS_MIN, config.packet_bytes))]

    def listens(self, config: Iperf3ClientConfig) -> int | None:
        return None

    def meter(self, config: Iperf3ClientConfig) -> Meter:
        return SentMeter(config.packet_bytes)
