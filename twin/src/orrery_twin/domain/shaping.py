# SPDX-License-Identifier: Apache-2.0
"""What each direction of a link does to frames, and the queueing disciplines that limit its bandwidth."""

from dataclasses import dataclass

from orrery_twin.contract.models import Link

QUEUE_MS = 25
QUEUE_MIN_BYTES = 200_000
"""Room for three segmentation-offload frames of 64 KiB, without which TCP cannot keep a slow link busy."""
BURST_MIN_BYTES = 15_000
BURST_MS = 1


@dataclass(frozen=True)
class LinkShape:
    """`queue_bytes`: limit of the queue for the bandwidth."""

    bandwidth_bps: float
    delay_us: float
    jitter_us: float
    loss: float
    queue_bytes: int

    @property
    def needs_line(self) -> bool:
        """Queueing disciplines of every kernel can limit bandwidth, but nothing more."""
        return self.delay_us > 0 or self.jitter_us > 0 or self.loss > 0

    @property
    def held_bytes(self) -> float:
        """Upper bound of the bytes in transit in one direction, including those queued."""
        return self.queue_bytes + self.bandwidth_bps / 8 * (self.delay_us + self.jitter_us) / 1e6


def shape_of(link: Link) -> LinkShape:
    by_bandwidth = max(QUEUE_MIN_BYTES, int(link.bandwidth_bps / 8 * QUEUE_MS / 1000))
    return LinkShape(link.bandwidth_bps, link.delay_us, link.jitter_us, link.loss, link.queue_bytes or by_bandwidth)


def shape_script(interface: str, shape: LinkShape) -> str:
    """Shell commands for an interface that is not shaped yet."""
    return f"tc qdisc replace dev {interface} root handle 1: htb default 1\n" + reshape_script(interface, shape)


def reshape_script(interface: str, shape: LinkShape) -> str:
    """Like `shape_script`, for an interface that is already shaped: queued packets stay queued."""
    burst = max(BURST_MIN_BYTES, int(shape.bandwidth_bps / 8 * BURST_MS / 1000))
    rate = f"{int(shape.bandwidth_bps)}bit"
    return "\n".join(
        [
            f"tc class replace dev {interface} parent 1: classid 1:1 htb rate {rate} burst {burst} quantum 1514",
            f"tc qdisc replace dev {interface} parent 1:1 handle 10: bfifo limit {shape.queue_bytes}",
        ]
    )
