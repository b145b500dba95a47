# SPDX-License-Identifier: Apache-2.0
"""NAT against its golden model. The bench plays the host: it answers misses with translations."""

from __future__ import annotations

import itertools
from typing import Any

import cocotb

from model.nat import End
from model.packet import TCP, UDP
from tb.common.axis import Sent, seldom
from tb.common.frames import ACK, OVERSIZE_BYTES, SYN, RandomFrames, icmp, tcp, udp
from tb.common.slot import Slot
from tb.common.slot_host import CLEAR, DELETE, ENABLE, FIND, FULL, PUT, READ, VALID
from tb.nat.late_host import answered_late
from tb.nat.stale import overlong_frames_leave_no_verdict
from tb.nat.translator import IN, MS_PER_S, OUT, PUBLIC, Translator, translator


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def disabled_and_refused(dut: Any) -> None:
    slot = Slot(dut)
    await slot.start()
    assert await slot.read("ID") == int.from_bytes(b"NAT1", "big")
    slot.source.send(tcp(IN, OUT, 1, 2, SYN), 2)
    await slot.settle()
    assert slot.sink.frames == [Sent(tcp(IN, OUT, 1, 2, SYN), 2)]
    await slot.write("CONTROL", ENABLE | CLEAR)
    slot.sink.frames.clear()
    t = Translator(slot)
    for frame, direction, reason in [
        (tcp(IN, OUT, 1, 2, SYN)[:50], 0, "malformed"),
        (tcp(OUT, PUBLIC, 2, 1, SYN), 1, "no-translation"),
        (udp(IN, OUT, 1, 2, b"x" * 16, fragment=0x0002), 0, "unsupported"),
        (icmp(IN, OUT, 3, 0, bytes(28)), 0, "unsupported"),
        (icmp(IN, OUT, 0, 7), 0, "unsupported"),
        (icmp(OUT, PUBLIC, 8, 7), 1, "unsupported"),
        (b"\x02" * 60, 0, None),
    ]:
        assert t.send(frame, direction).drop_reason == reason
    await t.check()


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize((("idle", "stall"), [(0.0, 0.0), (0.3, 0.5)]))
async def random_frames(dut: Any, idle: float, stall: float) -> None:
    frames = RandomFrames(int(100 * stall), hosts=3, ports=3)
    sent = [(frames.next(), frames.random.randrange(4) == 0) for _ in range(300)]
    await answered_late(Slot(dut, idle=seldom(1, idle), stall=seldom(2, stall)), sent)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def settles_behind_a_pause(dut: Any) -> None:
    """A frame, and each of its words, may come after a long pause in which nothing moves."""
    cycles = itertools.count(1)
    t = await translator(dut, idle=lambda: next(cycles) % 200 != 0)
    for n in range(2):
        t.send(bytes([n]) * 20)
    await t.check()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def stale_verdicts(dut: Any) -> None:
    await overlong_frames_leave_no_verdict(await translator(dut), OVERSIZE_BYTES[:2])


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def pace(dut: Any) -> None:
    """At 100 MHz: 60-byte frames at the rate of two 1 Gb/s ports (1.49 Mpps each)."""
    t = await translator(dut)
    await t.put(UDP, End(IN, 1), End(PUBLIC, 2))
    latency, gap = await t.slot.pace(udp(IN, OUT, 1, 2, bytes(18)))
    assert latency < 60 and gap < 100 / (2 * 1.49)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def translations_move(dut: Any) -> None:
    t = await translator(dut)
    for n in range(12):
        await t.put(TCP, End(IN, n), End(PUBLIC, 2000 + n), idle_s=n)
    assert (await t.put(TCP, End(IN, 3), End(PUBLIC, 9))) & FULL  # has another partner
    assert (await t.put(TCP, End(IN, 99), End(PUBLIC, 2003))) & FULL
    await t.put(TCP, End(IN, 3), End(PUBLIC, 2003), idle_s=3)  # the same again
    await t.pass_ms(2 * MS_PER_S)
    t.send(tcp(OUT, PUBLIC, 80, 2005, ACK), 1)
    await t.slot.settle()
    await t.pass_ms(MS_PER_S)
    entries = []
    for index, way in enumerate(t.model.inside.ways):
        if way is not None:
            status, entry = await t.slot.table(READ, index)
            port = int.from_bytes(way.key[4:6], "big")
            idle_s = 1 if port == 5 else port + 3
            assert status & VALID and status >> 16 == 12
            assert entry == [IN, PUBLIC, port << 16 | (2000 + port), TCP, 0, 0, 0, idle_s]
            entries.append(entry)
    assert len(entries) == 12
    await t.slot.write("CONTROL", ENABLE | CLEAR)
    while await t.slot.read("STATUS") & 2:
        pass
    assert (await t.slot.table(FIND, entry=entries[0]))[0] == 0
    for entry in entries:
        assert (await t.slot.table(PUT, entry=entry))[0] & VALID
    assert (await t.slot.table(FIND, entry=[*entries[4][:1], 0, entries[4][2], TCP, 0, 0, 0, 0]))[1] == entries[4]
    port = entries[6][2] >> 16
    assert (await t.slot.table(DELETE, entry=entries[6]))[0] & VALID
    assert t.model.delete(TCP, End(IN, port))
    assert not (await t.slot.table(DELETE, entry=entries[6]))[0] & VALID
    t.sent = 0
    t.slot.sink.frames.clear()
    t.expected.clear()
    for n in range(12):
        t.send(tcp(IN, OUT, n, 80, ACK))
        t.send(tcp(OUT, PUBLIC, 80, 2000 + n, ACK), 1)
    assert t.drops == {"no-translation": 1} and len(t.model.waiting) == 1
    await t.check()
