# SPDX-License-Identifier: Apache-2.0
"""SYN flood detector against its golden model."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from model.ddos_detector import ENTRIES, DdosDetector, index_of
from model.packet import FRAME_BYTES_MAX
from tb.common.axis import Sent, seldom
from tb.common.frames import ACK, FIN, OVERSIZE_BYTES, SYN, RandomFrames, overlong, tcp, udp
from tb.common.slot import Slot
from tb.common.slot_host import CLEAR, DELETE, ENABLE, FIND, READ, VALID
from tb.ddos_detector.detector import CLIENT, HOSTS, VICTIM, colliding_with, detector


@cocotb.test()
async def registers_and_disabled(dut: Any) -> None:
    slot = Slot(dut)
    await slot.start()
    assert await slot.read("ID") == int.from_bytes(b"DDS1", "big")
    defaults = {"WINDOW_MS": 1000, "MINIMUM": 32, "DEVIATIONS": 12, "OPTIONS": 0}
    assert {name: await slot.read(name) for name in defaults} == defaults
    frames = [tcp(CLIENT, VICTIM, 1, 80, SYN), b"\x01" * 9, b"\x02" * 2048, b"\x03" * 2049, bytes(14)]
    for frame in frames:
        slot.source.send(frame, 3)
    await slot.settle()
    assert slot.sink.frames == [Sent(frame, 3) for frame in frames if len(frame) <= FRAME_BYTES_MAX]
    await slot.check_counters(5, 4, {}, 1)
    assert (await slot.table(FIND, entry=[VICTIM]))[0] & VALID == 0


@cocotb.test()
async def a_flood(dut: Any) -> None:
    d = await detector(dut, DdosDetector(minimum=20, drop_attacks=True))
    for host in HOSTS:
        for _ in range(3):
            assert d.syn(host) == 1
    for _ in range(60):
        assert d.syn(VICTIM) == 1  # no destination is flagged within a window
    assert d.syn(HOSTS[0], ACK) == 1
    assert d.syn(HOSTS[0], SYN | ACK) == 1
    assert d.syn(HOSTS[0], SYN | FIN) == 1  # counts
    assert d.send(udp(CLIENT, VICTIM, 1, 80)) == 1
    await d.check_window(await d.end_window())
    assert await d.check_events() == [[1, VICTIM, 60, 7, 0, 0, 0, 0]]
    assert d.syn(VICTIM) is None
    assert d.syn(VICTIM, ACK) == 1
    assert d.syn(HOSTS[1]) == 1
    assert d.syn(colliding_with(VICTIM)) == 1  # same counter, another destination
    await d.check_window(await d.end_window())
    cleared, flagged = await d.check_events()
    assert cleared[:3] == [2, VICTIM, 31] and flagged[:3] == [1, colliding_with(VICTIM), 31]
    await d.check_window(await d.end_window())
    assert [event[0] for event in await d.check_events()] == [2]
    assert d.syn(VICTIM) == 1
    await d.check()


@cocotb.test()
async def frames_go_on_during_a_walk(dut: Any) -> None:
    """Only the value at the end of the window is judged, the walk takes no cycle from the frames, and no counter update
    is lost when frames and the walk meet at it.
    """
    d = await detector(dut, DdosDetector(minimum=60000, quarters=4))
    source = random.Random(4)
    by_index = {index_of(address): address for address in range(0x0B000000, 0x0B000000 + 6000)}
    # The walk takes two of seven cycles, and one more if it is wrong: many of these frames come close to it.
    paces = [source.randint(2, 7) * n + source.randint(0, 14) for n in range(400)]
    destinations = [by_index.get(index % ENTRIES, VICTIM) for index in paces]
    for destination in destinations * 2:
        d.syn(destination)
    first = await d.end_window()
    d.slot.sink.frames.clear()
    d.expected.clear()
    frames = [tcp(CLIENT, destination, 1, 80, source.choice([SYN, SYN, ACK])) for destination in destinations]
    already = d.slot.source.sent
    for frame in frames:
        d.send(frame)
    refused = 0
    while d.slot.source.sent < already + len(frames):
        await FallingEdge(dut.clk)
        refused += dut.s_axis_tvalid.value == 1 and dut.s_axis_tready.value == 0
    assert refused == 0
    await d.check_window(first)
    d.model.minimum = 2
    await d.slot.write("MINIMUM", 2)
    await d.check_window(await d.end_window())
    assert len(d.model.events) > 0
    assert await d.slot.events() == d.model.events[:16]
    assert await d.slot.read("EVENT_LOST") == max(len(d.model.events) - 16, 0)
    assert d.slot.sink.frames == d.expected


@cocotb.test()
async def entries(dut: Any) -> None:
    """Counters can be read, written and deleted, saturate, and are cleared."""
    d = await detector(dut, DdosDetector(minimum=1))
    await d.put(VICTIM, 65534, flagged=VICTIM)
    for flags in (SYN, SYN, SYN, ACK):
        d.syn(VICTIM, flags)
    d.syn(HOSTS[0], ACK)
    await d.check()
    status, entry = await d.slot.table(READ, index_of(VICTIM))
    assert status & VALID and entry[:4] == [VICTIM, 65534, 1, VICTIM]
    status, entry = await d.slot.table(FIND, entry=[VICTIM, 0, 0, 0])
    assert status & VALID and entry[:4] == [VICTIM, 65534, 1, VICTIM]
    assert not (await d.slot.table(FIND, entry=[HOSTS[0], 0, 0, 0]))[0] & VALID
    assert await d.slot.read("FLAGGED") == 1
    assert (await d.slot.table(DELETE, entry=[VICTIM, 0, 0, 0]))[0] & VALID
    assert not (await d.slot.table(DELETE, entry=[VICTIM, 0, 0, 0]))[0] & VALID
    assert await d.slot.read("FLAGGED") == 0
    await d.put(HOSTS[1], 5, flagged=HOSTS[1])
    await d.slot.write("CONTROL", ENABLE | CLEAR)
    d.slot.source.send(tcp(CLIENT, HOSTS[1], 1, 2, SYN))  # waits for the clear
    await d.slot.settle()
    assert d.slot.sink.frames[-1].user == 1 << 4
    status, entry = await d.slot.table(FIND, entry=[HOSTS[1], 0, 0, 0])
    assert status & VALID and entry[1:3] == [1, 0]


@cocotb.test()
@cocotb.parametrize((("seed", "idle", "stall"), [(1, 0.0, 0.0), (2, 0.4, 0.5)]))
async def random_frames(dut: Any, seed: int, idle: float, stall: float) -> None:
    d = await detector(
        dut,
        DdosDetector(minimum=3, quarters=2, drop_attacks=seed == 2),
        idle=seldom(seed, idle),
        stall=seldom(seed + 9, stall),
    )
    frames = RandomFrames(seed, hosts=6)
    for _ in range(3):
        for _ in range(110):
            d.send(frames.next(), frames.random.randrange(4))
        await d.check_window(await d.end_window())
        await d.check_events()
    await d.check()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def overlong_frames_leave_no_verdict(dut: Any) -> None:
    """Each frame has its own class, whatever was discarded before it."""
    d = await detector(dut, DdosDetector(drop_attacks=True))
    await d.put(VICTIM, 5, flagged=VICTIM)
    for size in OVERSIZE_BYTES:
        attack, normal = tcp(CLIENT, VICTIM, 1, 80, SYN), tcp(CLIENT, HOSTS[0], 1, 80, SYN)
        for ahead, frame, outcome in [(attack, normal, 1), (normal, attack, None)]:
            assert d.send(frame) == outcome
            d.send(overlong(ahead, size))
            assert d.send(frame) == outcome
    await d.check()
