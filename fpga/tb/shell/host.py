# SPDX-License-Identifier: Apache-2.0
"""A board with one slot as its host and its ports see it."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from regs.description import read_common, read_description
from tb.common.axis import Chance, Csr, Sink, Source, never
from tb.common.simulate import FPGA

HOLD, DECOUPLE, CSR_DECOUPLE, RESET = 1, 2, 4, 8
WAIT, DROP, BYPASS = 0, 16, 32
HELD, DRAINED, TIMED_OUT, BUSY, CSR_TIMEOUT = 1, 2, 4, 8, 16
DEAD = 0xDEADDEAD
SLOT = 0x10000


def numbered(n: int, size: int) -> bytes:
    """A unique frame."""
    return bytes(12) + b"\x88\xb5" + n.to_bytes(4, "big") + random.Random(n).randbytes(size - 18)


class Board:
    def __init__(self, dut: Any, *, stall: Chance = never) -> None:
        self.dut, self.clk = dut, dut.clk
        common = read_common(FPGA / "regs" / "common.yaml")
        registers = read_description(FPGA / "regs" / "nf_shell.yaml", common).registers
        self.addresses = {register.name: register.address for register in registers}
        cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
        dut.rst.value = 1
        for name in ("stuck", "absent", "garbage", "noise", "frame_class", "class_in_frame"):
            getattr(dut, name).value = 0
        self.near, self.far, self.host = (Source(dut, f"{port}_rx", dut.clk) for port in ("near", "far", "host"))
        self.to_near, self.to_far, self.to_host = (
            Sink(dut, f"{port}_tx", dut.clk, stall) for port in ("near", "far", "host")
        )
        for sink in (self.to_near, self.to_far):
            sink.user_is_constant = False  # the error mark comes with the last beat
        self.csr = Csr(dut, dut.clk, "host_", cycles_max=80)

    @property
    def lane(self) -> Any:
        """The shell's part for the slot, to look inside."""
        return self.dut.u_shell.g_slot[0].u_lane

    async def reset(self) -> None:
        self.dut.rst.value = 1
        await ClockCycles(self.clk, 4)
        await FallingEdge(self.clk)
        self.dut.rst.value = 0

    async def couple(self) -> None:
        """The agent's steps after a load."""
        await self.write("SLOT_CONTROL", HOLD | DECOUPLE | CSR_DECOUPLE)
        await self.write("SLOT_CONTROL", HOLD | DECOUPLE)
        assert await self.csr.read(SLOT) == int.from_bytes(b"STO1", "big")
        await self.write("SLOT_CONTROL", 0)

    async def read(self, name: str) -> int:
        return await self.csr.read(self.addresses[name])

    async def write(self, name: str, value: int) -> None:
        await self.csr.write(self.addresses[name], value)

    async def until(self, status: int) -> None:
        for _ in range(500):
            if await self.read("SLOT_STATUS") & status:
                return
        raise AssertionError(f"SLOT_STATUS never had {status:#x}")

    async def settle(self) -> None:
        """Wait until no beat has moved for a while."""
        sinks, sources = (self.to_near, self.to_far, self.to_host), (self.near, self.far, self.host)
        quiet, before = 0, -1
        while quiet < 5:
            await ClockCycles(self.clk, 20)
            now = sum(len(sink.frames) for sink in sinks)
            moving = any(source.waiting or source.sending for source in sources) or any(sink.in_frame for sink in sinks)
            # A frame without a next hop moves, too, and no sink sees it.
            quiet = 0 if moving or now != before or self.lane.tx_valid.value == 1 else quiet + 1
            before = now


class Pausing:
    """A source's idle cycles: none until it is told to pause, then all."""

    def __init__(self, clk: Any) -> None:
        self.clk = clk
        self.pauses = False
        self._beats = 0

    def __call__(self) -> bool:
        self._beats += not self.pauses
        return self.pauses

    async def after(self, beats: int) -> None:
        self._beats = 0
        while self._beats < beats:
            await FallingEdge(self.clk)
        self.pauses = True


async def board(dut: Any, **ends: Any) -> Board:
    result = Board(dut, **ends)
    await result.reset()
    return result
