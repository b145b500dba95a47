# SPDX-License-Identifier: Apache-2.0
"""What a frame or a clear must not leave behind: in short on Icarus, which knows undefined values, else on a board."""

from __future__ import annotations

from collections.abc import Sequence

from model.nat import End
from model.packet import TCP, UDP
from tb.common.frames import ACK, icmp, overlong, tcp, udp
from tb.common.slot_host import CLEAR, ENABLE
from tb.nat.translator import IN, OUT, PUBLIC, Translator


async def overlong_frames_leave_no_verdict(t: Translator, sizes: Sequence[int]) -> None:
    """Each frame is treated by its own headers, whatever was discarded before it."""
    await t.put(UDP, End(IN, 7), End(PUBLIC, 1007))
    await t.put(TCP, End(IN, 7), End(PUBLIC, 2007))
    for n, size in enumerate(sizes):
        frames = [udp(IN, OUT, 7, 53, b"x" * n), tcp(IN, OUT, 7, 80, ACK, b"y" * n), icmp(IN, OUT, 0, 7, b"z" * n)]
        for ahead, frame in zip(frames, [frames[-1], *frames], strict=False):
            t.send(frame)
            t.send(overlong(ahead, size))
            t.send(frame)
    await t.check()
    assert t.drops == {"unsupported": 2 * len(sizes)} and not t.model.waiting


async def clears_during_a_miss(t: Translator, delays: Sequence[int]) -> None:
    """A clear so many cycles after a frame without a translation leaves a working module."""
    await t.slot.write("MISS_TIMEOUT_MS", 3)
    for delay in delays:
        t.slot.source.send(udp(IN, OUT, delay, 53))
        await t.slot.cycles(delay)
        await t.slot.write("CONTROL", ENABLE | CLEAR)
        await t.slot.settle()
        await t.slot.pass_us(5 * t.us_per_ms)
        await t.slot.cycles(60)
        assert await t.slot.read("MISSES_WAITING") == 0
    await t.slot.write("CONTROL", ENABLE | CLEAR)
    await t.put(UDP, End(IN, 1), End(PUBLIC, 1))
    t.send(udp(IN, OUT, 1, 53))
    await t.check()
