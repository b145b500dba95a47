# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines that give one direction of a link its bandwidth and delay."""

QUEUE_MS = 25
QUEUE_MIN_BYTES = 200_000
"""Room for three segmentation-offload frames of 64 KiB, without which TCP cannot keep a slow link busy."""
BURST_MIN_BYTES = 15_000
BURST_MS = 1


def queue_bytes(bandwidth_bps: float) -> int:
    return max(QUEUE_MIN_BYTES, int(bandwidth_bps / 8 * QUEUE_MS / 1000))


def shape_script(interface: str, bandwidth_bps: float, delay_us: float) -> str:
    """Shell commands that replace what the interface had. A delay needs the kernel's netem."""
    burst = max(BURST_MIN_BYTES, int(bandwidth_bps / 8 * BURST_MS / 1000))
    rate = f"{int(bandwidth_bps)}bit"
    limit = queue_bytes(bandwidth_bps)
    leaf = f"bfifo limit {limit}"
    if delay_us > 0:
        packets = max(100, int(limit / 1000 + bandwidth_bps / 8 * delay_us / 1e6 / 1000))
        leaf = f"netem delay {int(delay_us)}us limit {packets}"
    return "\n".join(
        [
            f"tc qdisc replace dev {interface} root handle 1: htb default 1",
            f"tc class replace dev {interface} parent 1: classid 1:1 htb rate {rate} burst {burst} quantum 1514",
            f"tc qdisc replace dev {interface} parent 1:1 handle 10: {leaf}",
        ]
    )
