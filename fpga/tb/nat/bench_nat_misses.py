# SPDX-License-Identifier: Apache-2.0
"""NAT's frames that wait for a translation, with a host that answers, refuses or ignores them."""

from __future__ import annotations

import random as stdlib_random
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from model.nat import End
from model.packet import ICMP, TCP, UDP, parse
from tb.common.frames import SYN, icmp, tcp, udp
from tb.common.slot import CLEAR, DELETE, ENABLE, PUT, VALID, Slot
from tb.nat.translator import IN, OUT, PUBLIC, US_PER_MS, translator


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


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def clear_at_any_time(dut: Any) -> None:
    """A clear during a miss, in any cycle, leaves a working module."""
    t = await translator(dut)
    await t.slot.write("MISS_TIMEOUT_MS", 3)
    for delay in range(12, 22):
        t.slot.source.send(udp(IN, OUT, delay, 53))
        await ClockCycles(dut.clk, delay)
        await t.slot.write("CONTROL", ENABLE | CLEAR)
        await t.slot.settle()
        await t.slot.pass_us(5 * US_PER_MS)
        await ClockCycles(dut.clk, 60)
        assert await t.slot.read("MISSES_WAITING") == 0
    await t.slot.write("CONTROL", ENABLE | CLEAR)
    await t.put(UDP, End(IN, 1), End(PUBLIC, 1))
    t.send(udp(IN, OUT, 1, 53))
    await t.check()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def order_of_a_flow(dut: Any) -> None:
    """Frames of a flow that arrive while its first ones are being released stay behind them, and none is lost."""
    chance = stdlib_random.Random(8)
    idle_share = 0.0
    slot = Slot(dut, idle=lambda: chance.random() < idle_share)
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    for port in range(30):
        idle_share = 0.7 + 0.2 * (port % 3) / 2
        slot.sink.frames.clear()
        payloads = [bytes([n]) * 40 for n in range(24)]
        before = await slot.read("DROPS", 0)
        for payload in payloads:
            slot.source.send(udp(IN, OUT, port, 53, payload))
        while await slot.read("EVENT_COUNT") == 0:
            pass
        await ClockCycles(dut.clk, chance.randrange(60))
        entry = [IN, PUBLIC, port << 16 | port, UDP, 0, 0, 0, 0]
        assert (await slot.table(PUT, entry=entry))[0] & VALID
        assert len(await slot.events()) == 1
        await slot.settle()
        lost = await slot.read("DROPS", 0) - before
        seen = [out.frame[42:] for out in slot.sink.frames]
        assert seen == sorted(seen) and len(seen) == len(payloads) - lost
        assert lost <= len(payloads) - 9


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


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def delete_is_no_refusal(dut: Any) -> None:
    """A delete that finds a translation drops no frame, in whichever cycle the frame arrives."""
    slot = Slot(dut)
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    entry = [IN, PUBLIC, 1 << 16 | 1, UDP, 0, 0, 0, 0]
    waited = 0
    for delay in range(80):
        assert (await slot.table(PUT, entry=entry))[0] & VALID
        deleting = cocotb.start_soon(slot.table(DELETE, entry=entry))
        await ClockCycles(dut.clk, 40 + delay)
        slot.source.send(udp(IN, OUT, 1, 53, bytes([delay])))
        assert (await deleting)[0] & VALID
        await slot.settle()
        waited += await slot.read("MISSES_WAITING")
        assert (await slot.table(PUT, entry=entry))[0] & VALID
        await slot.settle()
        assert await slot.read("FRAMES_OUT") == delay + 1
    assert 8 < waited < 72, "frames came before the delete and after it"
    assert len(await slot.events()) + await slot.read("EVENT_LOST") == waited


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def timeout_is_no_answer(dut: Any) -> None:
    """A frame that arrives while an older one of its flow is leaving for lack of an answer waits for its own."""
    slot = Slot(dut)
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    await slot.write("MISS_TIMEOUT_MS", 2)
    asked = []
    for delay in range(60):
        flow = [udp(IN, OUT, delay, 53, bytes([n])) for n in range(3)]
        slot.source.send(flow[0])
        await slot.settle()
        await slot.pass_us(2 * US_PER_MS)
        slot.source.send(flow[1])
        await slot.settle()
        slot.source.send(flow[2])
        await ClockCycles(dut.clk, delay)
        await slot.pass_us(US_PER_MS)
        await ClockCycles(dut.clk, 120)
        await slot.settle()
        assert await slot.read("MISSES_WAITING") == 2
        assert (await slot.table(PUT, entry=[IN, PUBLIC, delay << 16 | delay, UDP, 0, 0, 0, 0]))[0] & VALID
        await slot.settle()
        assert [out.frame[42:43] for out in slot.sink.frames[2 * delay :]] == [b"\1", b"\2"]
        assert await slot.read("DROPS", 1) == delay + 1
        asked.append(len(await slot.events()))
    assert asked[0] == 2 and asked[-1] == 1, "the frame asks if the one that asked has almost left"


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def answer_is_for_the_flow(dut: Any) -> None:
    """A frame that arrives exactly when its flow is answered asks, or finds no place, only if a frame on its own would
    also have been too early for the translation. The flow's question is forgotten, or it uses all its places.
    """
    slot = Slot(dut)
    await slot.start()
    await slot.write("CONTROL", ENABLE)

    async def fate(port: int, delay: int) -> tuple[int, int]:
        """Events and drops for a frame that arrives this many cycles after the put begins."""
        await slot.settle()
        await slot.events()
        before = await slot.read("DROPS", 0)
        putting = cocotb.start_soon(slot.table(PUT, entry=[IN, PUBLIC, port << 16 | port, UDP, 0, 0, 0, 0]))
        await ClockCycles(dut.clk, delay)
        slot.source.send(udp(IN, OUT, port, 53))
        assert (await putting)[0] & VALID
        await slot.settle()
        return len(await slot.events()), await slot.read("DROPS", 0) - before

    fates = set()
    for first in range(20, 104, 7):
        delays = range(first, first + 7)
        for delay in delays:
            slot.source.send(udp(IN, OUT, delay, 53))
        await slot.settle()
        await slot.write("CONTROL", ENABLE | CLEAR)
        while await slot.read("STATUS") & 2:
            pass
        forgotten = [await fate(delay, delay) for delay in delays]
        alone = [await fate(1000 + delay, delay) for delay in delays]
        crowded = []
        for delay in delays:
            for _ in range(4):
                slot.source.send(udp(IN, OUT, 2000 + delay, 53))
            crowded.append(await fate(2000 + delay, delay))
        assert forgotten == alone
        assert crowded == [(0, asks) for asks, _ in alone]
        fates |= set(alone)
    assert fates == {(0, 0), (1, 0)}


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
