# SPDX-License-Identifier: Apache-2.0
"""A bench around one slot module."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, First, RisingEdge, Timer
from cocotb.utils import get_sim_time

from regs.description import read_common, read_description
from tb.common.axis import Chance, Csr, Sink, Source, never
from tb.common.simulate import FPGA
from tb.common.slot_host import QUIET_CYCLES, SlotHost

CLOCK_NS = 10


class Slot(SlotHost):
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
        await super().start()

    async def cycles(self, count: int) -> None:
        await ClockCycles(self.clk, count)

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
        signs = (self.dut.s_axis_tvalid, self.dut.busy, self.dut.m_axis_tvalid)
        quiet = False
        while not quiet:
            moving = next((sign for sign in signs if sign.value == 1), None)
            if moving is not None:
                await FallingEdge(moving)
            elif self.source.waiting or self.source.sending:
                await RisingEdge(self.dut.s_axis_tvalid)
            else:
                pause = Timer((QUIET_CYCLES - 1) * CLOCK_NS, "ns")
                quiet = await First(pause, *(RisingEdge(sign) for sign in signs)) is pause
        await RisingEdge(self.clk)

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
