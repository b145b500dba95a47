# SPDX-License-Identifier: Apache-2.0
"""Registers of a shell with several slots: each slot has its own."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from tb.common.axis import Csr


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def slots_are_apart(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.rst.value = 1
    for port in ("near", "far", "host"):
        getattr(dut, f"{port}_rx_tvalid").value = 0
    for name in ("slot_m_axis_tvalid", "slot_csr_ack", "slot_busy"):
        getattr(dut, name).value = 0
    csr = Csr(dut, dut.clk, "host_", cycles_max=80)
    await ClockCycles(dut.clk, 4)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    assert await csr.read(0x00C) == 3
    for slot in range(3):
        await csr.write(0x100 * (slot + 1) + 0x08, 0x100 + slot)  # METADATA_MASK
    assert [await csr.read(0x100 * (slot + 1) + 0x08) for slot in range(3)] == [0x100, 0x101, 0x102]
    assert await csr.read(0x408) == 0
    await csr.write(0x200, 0x3)  # SLOT_CONTROL of slot 1: out of reset, registers coupled
    await ClockCycles(dut.clk, 2)
    assert int(dut.slot_rst.value) == 0b101

    async def answer() -> None:
        while True:
            await FallingEdge(dut.clk)
            asked = int(dut.slot_csr_read.value)
            assert asked in (0, 0b010)
            dut.slot_csr_ack.value = 0b111 if asked else 0
            dut.slot_csr_rdata.value = 0x1111_1111 | 0x2222_2222 << 32 | 0x3333_3333 << 64

    cocotb.start_soon(answer())
    assert await csr.read(0x2_0010) == 0x2222_2222
    assert await csr.read(0x1_0010) == await csr.read(0x3_0010) == 0xDEAD_DEAD
