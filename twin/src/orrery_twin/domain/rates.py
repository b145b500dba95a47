# SPDX-License-Identifier: Apache-2.0
"""Bit rates of links, from byte counters of their switch-side interface."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    t_s: float
    received_bytes: int
    sent_bytes: int


def link_rates(before: Reading | None, now: Reading, near_is_a: bool) -> tuple[float, float]:
    """From `a` to `b` and from `b` to `a`, in bits per second; what the switch sends goes to the far end. 0 after a
    counter reset.
    """
    if before is None or now.t_s <= before.t_s:
        return 0.0, 0.0
    seconds = now.t_s - before.t_s
    outward = max(0, now.sent_bytes - before.sent_bytes) * 8 / seconds
    inward = max(0, now.received_bytes - before.received_bytes) * 8 / seconds
    return (outward, inward) if near_is_a else (inward, outward)
