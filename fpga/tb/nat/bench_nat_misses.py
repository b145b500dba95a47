# SPDX-License-Identifier: Apache-2.0
"""NAT's frames that wait for a translation, with a host that answers, refuses or ignores them."""

from __future__ import annotations

import random as stdlib_random
from typing import Any

import cocotb

from model.nat import End
from model.packet import ICMP, TCP, UDP, parse
from tb.common.frames import SYN, icmp, tcp, udp
from tb.common.slot_host import CLEAR, DELETE, ENABLE, PUT, VALID
from tb.nat.stale import clears_during_a_miss
from tb.nat.translator import IN, OUT, PUBLIC, translator


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def misses_wait(dut: Any) -> None:
    t = await translator(dut)
    await t.put(UDP, End(IN, 7), End(PUBLIC, 7))
    first = [tcp(IN, OUT, 1, 80, SYN, bytes([n] * (n * 240))) for n in range(3)]
    second = [tcp(IN, OUT, 2, 80, SYN, bytes([n])) for n in range(3)]
    for a, b in zip(first, second, strict=True):
        assert t.send(a).waits and t.send(b).waits
        assert not t.send(udp(IN, OUT, 7, 9)).waits  # other flows continue
    await t.check()
    assert len(t.model.events) == 2
    await t.check_events()
    await t.put(TCP, End(IN, 2), End(PUBLIC, 5002))
    await t.check()
    assert not t.send(second[0]).waits
    assert t.send(first[0]).waits
    for n in range(4):
        assert t.send(icmp(IN, OUT, 8, n)).waits
    assert t.send(icmp(IN, OUT, 8, 4)).drop_reason == "miss-buffer-full"
    assert t.send(first[0]).drop_reason == "miss-buffer-full"
    assert not t.send(udp(IN, OUT, 7, 9)).waits
    await t.check()
    await t.put(ICMP, End(IN, 3), End(PUBLIC, 9))
    await t.put(TCP, End(IN, 1), End(PUBLIC, 1))
    await t.put(ICMP, End(IN, 0), End(PUBLIC, 8))
    await t.check()
    await t.check_events()
    assert t.drops == {"miss-buffer-full": 2} and len(t.model.waiting) == 2


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def stale_misses(dut: Any) -> None:
    await clears_during_a_miss(await translator(dut), range(14, 19))


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def waiting_ends(dut: Any) -> None:
    """A host that never answers costs the frame, not the buffer place."""
    t = await translator(dut)
    await t.slot.write("MISS_TIMEOUT_MS", 10)
    for n in range(8):
        t.send(icmp(IN, OUT, 8, n))
        await t.pass_ms(2, timeout_ms=10)
    await t.pass_ms(6, timeout_ms=10)
    await t.check()
    assert 0 < t.drops["no-translation"] < 8
    await t.pass_ms(20, timeout_ms=10)
    await t.check()
    assert t.drops["no-translation"] == 8


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def asks_again(dut: Any) -> None:
    """A flow whose event is lost or never answered asks again once the asking frame is gone, even if others wait."""
    t = await translator(dut)
    await t.slot.write("MISS_TIMEOUT_MS", 10)
    flow = [udp(IN, OUT, 1, 53, bytes([n])) for n in range(20)]
    for n in range(16):  # four at a time, the oldest of which asks
        assert t.send(flow[n]).waits
        await t.check()
        await t.pass_ms(3, timeout_ms=10)
    assert t.drops == {"no-translation": 13}
    assert len(t.model.events) == 4
    await t.check_events()
    assert t.send(flow[16]).waits
    await t.put(UDP, End(IN, 1), End(PUBLIC, 1))
    assert not t.send(flow[17]).waits
    await t.check()
    assert [parse(out.frame).src_port for out in t.expected] == [1] * 5
    await t.check_events()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def host_refuses(dut: Any) -> None:
    """A delete that finds nothing ends the wait of one flow at once; the flow's next frame asks again."""
    t = await translator(dut)
    hot, other = [tcp(IN, OUT, 1, 80, SYN, bytes([n])) for n in range(6)], tcp(IN + 1, OUT, 1, 80, SYN)
    for frame in hot[:4]:
        assert t.send(frame).waits
    assert t.send(other).waits
    assert t.send(hot[4]).drop_reason == "miss-buffer-full"
    await t.check()
    assert not await t.delete(TCP, End(IN, 1))
    await t.check()
    assert t.drops == {"no-translation": 4, "miss-buffer-full": 1} and len(t.model.waiting) == 1
    assert t.send(hot[5]).waits
    await t.check()
    assert len(t.model.events) == 3
    await t.check_events()
    for n in range(2):
        await t.put(TCP, End(IN + n, 1), End(PUBLIC, 1 + n))
    await t.check()
    assert len(t.expected) == 2
    assert await t.delete(TCP, End(IN, 1))
    assert t.send(hot[0]).waits
    assert not await t.delete(TCP, End(IN, 1))
    await t.check()
    await t.check_events()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def clear_makes_ask_again(dut: Any) -> None:
    t = await translator(dut)
    assert t.send(udp(IN, OUT, 1, 53, b"a")).waits
    await t.slot.settle()
    await t.slot.write("CONTROL", ENABLE | CLEAR)
    t.model.clear()
    while await t.slot.read("STATUS") & 2:
        pass
    await t.check_events()
    assert t.send(udp(IN, OUT, 1, 53, b"b")).waits
    await t.slot.settle()
    await t.check_events()
    await t.put(UDP, End(IN, 1), End(PUBLIC, 1))
    await t.slot.settle()
    assert [out.frame[42:] for out in t.slot.sink.frames] == [b"a", b"b"]


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def answers_in_a_row(dut: Any) -> None:
    """An answer applies to the flow that it names, even if the host writes the next key as fast as it can."""
    t = await translator(dut)
    for turn in range(12):
        ends = [End(IN + 8 * turn + n, 7) for n in range(8)]
        for end in ends:
            assert t.send(udp(end.address, OUT, 7, 53)).waits
        await t.slot.settle()
        refused = {ends[1], ends[4]}
        for n, end in enumerate(ends):
            outside = End(PUBLIC, 1000 + 8 * turn + n)
            operation = DELETE if end in refused else PUT
            entry = [end.address, outside.address, end.port << 16 | outside.port, UDP, 0, 0, 0, 0]
            assert bool((await t.slot.table(operation, entry=entry))[0] & VALID) == (operation == PUT)
            assert end in refused or t.model.put(UDP, end, outside)
            for verdict in t.model.release(UDP, end):
                t._take(verdict, 0)
        await t.check()
        await t.check_events()
    assert t.drops == {"no-translation": 24}


@cocotb.test(timeout_time=8, timeout_unit="ms")
async def others_go_on(dut: Any) -> None:
    """Beside a flow that sends all the time and is never answered, each of 90 one-packet flows gets through."""
    t = await translator(dut)
    await t.slot.write("MISS_TIMEOUT_MS", 10)
    chance = stdlib_random.Random(5)
    hot = End(IN, 1)
    for first in range(0, 90, 3):
        flows = [End(IN + 1 + n, 7) for n in range(first, first + 3)]
        frames = [udp(end.address, OUT, end.port, 53) for end in flows]
        frames += [udp(hot.address, OUT, hot.port, 53, bytes([first, n])) for n in range(5)]
        for frame in chance.sample(frames, len(frames)):
            t.send(frame)
        await t.slot.settle()
        asked = [End(address, ports >> 16) for address, _, ports, _ in t.model.events]
        await t.check_events()
        for end in asked:
            if end != hot:
                await t.put(UDP, end, End(PUBLIC, 2000 + end.address - IN))
        await t.pass_ms(chance.randrange(4), timeout_ms=10)
    await t.check()
    assert len(t.expected) == 90
    assert t.drops["miss-buffer-full"] > 90 and t.drops["no-translation"] > 8
