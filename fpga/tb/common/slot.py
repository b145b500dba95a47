# SPDX-License-Identifier: Apache-2.0
"""A bench around one slot module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer
from cocotb.utils import get_sim_time

from regs.description import read_common, read_description
from tb.common.axis import Chance, Csr, Sink, Source, never
from tb.common.simulate import FPGA

ENABLE, CLEAR = 1, 2
READ, PUT, DELETE, FIND = 1, 2, 3, 4
VALID, FULL = 2, 4
CLOCK_NS = 10


class Slot:
    """Clock, reset, streams and registers of a slot module; registers go by the names of its YAML."""

    def __init__(self, dut: Any, *, idle: Chance = never, stall: Chance = never) -> None:
        self.dut = dut
        self.clk = dut.clk
        common = read_common(FPGA / "regs" / "common.yaml")
        self.description = read_description(FPGA / "regs" / f"{dut._name}.yaml", common)
        self.addresses = {register.name: register for register in common + self.description.registers}
        cocotb.start_soon(Clock(dut.clk, CLOCK_NS, "ns").start())
        dut.rst.value = 1
        dut.tick_us.value = 0
        self.source = Source(dut, "s_axis", dut.clk, idle)
        self.sink = Sink(dut, "m_axis", dut.clk, stall)
        self.csr = Csr(dut, dut.clk)

    async def start(self) -> None:
        """Release reset and wait until the clear that follows it is done."""
        await ClockCycles(self.clk, 4)
        await FallingEdge(self.clk)
        self.dut.rst.value = 0
        while await self.read("STATUS") & 2:
            await ClockCycles(self.clk, 200)

    def _address(self, name: str, index: int) -> int:
        register = self.addresses[name]
        assert index < register.count
        return register.address + index * register.stride

    async def read(self, name: str, index: int = 0) -> int:
        return await self.csr.read(self._address(name, index))

    async def write(self, name: str, value: int, index: int = 0) -> None:
        await self.csr.write(self._address(name, index), value)

    async def pass_us(self, ticks: int) -> None:
        """Let board time pass."""
        if ticks == 0:
            return
        await FallingEdge(self.clk)
        self.dut.tick_us.value = 1
        await Timer(ticks * CLOCK_NS - CLOCK_NS // 2, "ns")
        await FallingEdge(self.clk)
        self.dut.tick_us.value = 0

    async def settle(self) -> None:
        """Wait until every frame that was sent has left or was dropped."""
        quiet = 0
        while quiet < 24:
            await RisingEdge(self.clk)
            quiet = (
                0 if self.source.waiting or self.dut.busy.value == 1 or self.dut.s_axis_tvalid.value == 1 else quiet + 1
            )
            if self.dut.m_axis_tvalid.value == 1:
                quiet = 0

    async def pace(self, frame: bytes, count: int = 60) -> tuple[int, float]:
        """Cycles from a lone frame's first beat in to its first beat out, and cycles per frame at full load."""
        await self.settle()
        self.source.send(frame)
        while self.dut.s_axis_tvalid.value != 1:
            await FallingEdge(self.clk)
        start = get_sim_time("ns")
        while self.dut.m_axis_tvalid.value != 1:
            await FallingEdge(self.clk)
        latency = int(get_sim_time("ns") - start) // CLOCK_NS
        await self.settle()
        arrived = len(self.sink.frames)
        for _ in range(count):
            self.source.send(frame)
        while len(self.sink.frames) < arrived + 10:
            await FallingEdge(self.clk)
        start, first = get_sim_time("ns"), len(self.sink.frames)
        while len(self.sink.frames) < arrived + count:
            await FallingEdge(self.clk)
        gap = (get_sim_time("ns") - start) / CLOCK_NS / (arrived + count - first)
        self.dut._log.warning("%d bytes: %d cycles through, %.1f cycles a frame", len(frame), latency, gap)
        return latency, gap

    async def table(self, operation: int, index: int = 0, entry: list[int] | None = None) -> tuple[int, list[int]]:
        """Execute a table command; return TABLE_STATUS and TABLE_DATA."""
        for n, word in enumerate(entry or []):
            await self.write("TABLE_DATA", word, n)
        await self.write("TABLE_COMMAND", operation << 28 | index)
        while (status := await self.read("TABLE_STATUS")) & 1:
            pass
        if operation == PUT or not status & VALID:
            return status, []
        return status, [await self.read("TABLE_DATA", n) for n in range(8)]

    async def events(self) -> list[list[int]]:
        count = await self.read("EVENT_COUNT")
        return [[await self.read("EVENT_DATA") for _ in range(8)] for _ in range(count)]

    async def check_counters(
        self, sent: int, forwarded: int, drops: Mapping[str, int], oversize: int, waiting: int = 0
    ) -> None:
        """Check that all `sent` frames are accounted for, `waiting` of them still inside."""
        assert await self.read("FRAMES_IN") == sent + waiting
        assert await self.read("FRAMES_OUT") == forwarded
        for n, reason in enumerate(self.description.drops):
            assert await self.read("DROPS", n) == drops.get(reason, 0), reason
        assert await self.read("OVERSIZE") == oversize
        assert sent == forwarded + sum(drops.values()) + oversize
