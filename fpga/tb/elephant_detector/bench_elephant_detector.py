# SPDX-License-Identifier: Apache-2.0
"""Elephant detector against its golden model."""

from __future__ import annotations

from typing import Any

import cocotb

from model.elephant_detector import ELEPHANT, MOUSE, UNKNOWN, ElephantDetector
from model.flow_table import crc32c
from model.packet import FRAME_BYTES_MAX
from tb.common.axis import Sent, seldom
from tb.common.frames import ACK, RandomFrames, tcp, udp
from tb.common.slot import Slot
from tb.common.slot_host import CLEAR, ENABLE, FIND, PUT, READ, VALID

US_PER_MS, MS_PER_S = 2, 5  # the bench's parameters
A, B = 0x0A000001, 0x0A000002


def words_of(key: bytes) -> list[int]:
    return [int.from_bytes(key[a:b], "big") for a, b in [(0, 4), (4, 8), (8, 12), (12, 13)]]


class Detector:
    """Module and model side by side."""

    def __init__(self, slot: Slot, model: ElephantDetector) -> None:
        self.slot, self.model = slot, model
        self.now_ms = 0
        self.expected: list[Sent] = []
        self.sent = self.oversize = 0

    def send(self, frame: bytes, direction: int = 0) -> int:
        self.slot.source.send(frame, direction)
        self.sent += 1
        if len(frame) > FRAME_BYTES_MAX:
            self.oversize += 1
            return UNKNOWN
        verdict = self.model.process(frame, direction, self.now_ms, self.now_ms // MS_PER_S)
        self.expected.append(Sent(frame, verdict.frame_class << 4 | direction))
        return verdict.frame_class

    async def pass_ms(self, ms: int) -> None:
        await self.slot.settle()
        await self.slot.pass_us(ms * US_PER_MS)
        self.now_ms += ms

    async def check(self) -> None:
        await self.slot.settle()
        assert self.slot.sink.frames == self.expected
        await self.slot.check_counters(self.sent, len(self.expected), {}, self.oversize)
        assert await self.slot.read("ELEPHANTS") == len(self.model.events)
        kept = [[1, *words_of(e.key), e.bytes, e.age_ms, 0] for e in self.model.events]
        assert await self.slot.events() == kept[:16]
        assert await self.slot.read("EVENT_LOST") == max(0, len(kept) - 16)


async def detector(dut: Any, model: ElephantDetector, **ends: Any) -> Detector:
    slot = Slot(dut, **ends)
    await slot.start()
    await slot.write("THRESHOLD_BYTES", model.threshold_bytes)
    await slot.write("WINDOW_MS", model.window_ms)
    await slot.write("IDLE_TIMEOUT_S", model.idle_timeout_s)
    await slot.write("CONTROL", ENABLE)
    return Detector(slot, model)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_and_disabled(dut: Any) -> None:
    slot = Slot(dut)
    await slot.start()
    assert await slot.read("ID") == int.from_bytes(b"ELE1", "big")
    assert await slot.read("THRESHOLD_BYTES") == 1 << 20
    assert await slot.read("WINDOW_MS") == 1000
    frame = udp(A, B, 1, 2)
    slot.source.send(frame, 3)
    await slot.settle()
    assert slot.sink.frames == [Sent(frame, 3)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def threshold_and_window(dut: Any) -> None:
    d = await detector(dut, ElephantDetector(threshold_bytes=300, window_ms=10, idle_timeout_s=4))
    big, ack = tcp(A, B, 5, 80, ACK, bytes(60)), tcp(B, A, 80, 5, ACK, bytes(60))  # 100 bytes each
    assert [d.send(big), d.send(big)] == [MOUSE, MOUSE]
    await d.pass_ms(10)
    assert [d.send(big), d.send(ack, 1), d.send(ack)] == [MOUSE, MOUSE, MOUSE]  # a new window; another flow
    await d.pass_ms(9)
    assert d.send(big) == ELEPHANT
    await d.pass_ms(20)
    assert d.send(big) == ELEPHANT  # it remains an elephant
    await d.pass_ms(4 * MS_PER_S)
    assert d.send(ack, 1) == ELEPHANT
    await d.pass_ms(5 * MS_PER_S)
    assert d.send(big) == MOUSE
    assert d.send(big[:40]) == UNKNOWN
    assert len(d.model.events) == 1
    await d.check()


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize((("idle", "stall"), [(0.0, 0.0), (0.4, 0.0), (0.0, 0.6)]))
async def random_frames(dut: Any, idle: float, stall: float) -> None:
    d = await detector(
        dut, ElephantDetector(90, window_ms=12, idle_timeout_s=1), idle=seldom(1, idle), stall=seldom(2, stall)
    )
    random = RandomFrames(int(10 * idle + 100 * stall), hosts=3, ports=2)
    for n in range(250):
        d.send(random.next(), random.random.randrange(2))
        if n % 25 == 24:
            await d.pass_ms(random.random.randint(1, 20))
    await d.check()
    assert len(d.model.events) > 16


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def pace(dut: Any) -> None:
    """At 100 MHz: 60-byte frames at the rate of four 1 Gb/s ports (1.49 Mpps each)."""
    d = await detector(dut, ElephantDetector())
    latency, gap = await d.slot.pace(udp(A, B, 1, 2, bytes(18)))
    assert latency < 60 and gap < 100 / (4 * 1.49)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def full_set_replaces_idlest(dut: Any) -> None:
    d = await detector(dut, ElephantDetector(threshold_bytes=1, window_ms=1, idle_timeout_s=100))
    by_set: dict[int, list[int]] = {}
    ports: list[int] = []
    for port in range(1, 65536):
        key = A.to_bytes(4, "big") + B.to_bytes(4, "big") + port.to_bytes(2, "big") + b"\0\x50\x06"
        ports = by_set.setdefault(crc32c(key) % 1024, [])
        ports.append(port)
        if len(ports) == 6:
            break
    for port in ports[:4]:
        d.send(tcp(A, B, port, 80, ACK))
        await d.pass_ms(MS_PER_S)
    d.send(tcp(A, B, ports[0], 80, ACK))
    await d.pass_ms(MS_PER_S)
    for port in ports[4:]:
        d.send(tcp(A, B, port, 80, ACK))  # replaces 1 and 2
    for port in (0, 3, 4, 5):
        d.send(tcp(A, B, ports[port], 80, ACK))
    assert len(d.model.events) == 6
    await d.check()
    present = [
        bool((await d.slot.table(FIND, entry=[A, B, port << 16 | 80, 6, 0, 0, 0, 0]))[0] & VALID) for port in ports
    ]
    assert present == [True, False, False, True, True, True]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def state_moves(dut: Any) -> None:
    d = await detector(dut, ElephantDetector(threshold_bytes=200, window_ms=100, idle_timeout_s=9))
    for port in range(8):
        for _ in range(1 + port % 3):
            d.send(tcp(A, B, port, 80, ACK, bytes(60)))
    await d.pass_ms(7)
    entries = []
    for index, way in enumerate(d.model.flows.ways):
        if way is not None:
            status, entry = await d.slot.table(READ, index)
            assert status & VALID
            assert entry == [*words_of(way.key), way.value.bytes, 7, int(way.value.elephant), 1]
            entries.append(entry)
    assert len(entries) == 8
    await d.check()
    await d.slot.write("CONTROL", ENABLE | CLEAR)
    while await d.slot.read("STATUS") & 2:
        pass
    for entry in entries:
        assert (await d.slot.table(PUT, entry=entry))[0] & VALID
    await d.pass_ms(3)
    status, entry = await d.slot.table(FIND, entry=entries[2])
    assert entry == [*entries[2][:5], 10, *entries[2][6:7], 2]
    d.slot.sink.frames.clear()
    d.expected.clear()
    d.sent = 0
    before = len(d.model.events)
    for port in range(8):
        d.send(tcp(A, B, port, 80, ACK, bytes(60)))
    del d.model.events[:before]
    assert len(d.model.events) == 3
    await d.check()
    for index, way in enumerate(d.model.flows.ways):
        if way is not None:
            _, entry = await d.slot.table(READ, index)
            assert entry == [*words_of(way.key), way.value.bytes, 10, int(way.value.elephant), 0]
