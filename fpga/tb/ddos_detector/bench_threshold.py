# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of a window against Python's."""

from __future__ import annotations

from math import isqrt
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from model.ddos_detector import Sums, sums_of


async def check(dut: Any, sums: Sums, quarters: int) -> None:
    dut.counters.value, dut.sum.value, dut.squares.value = sums.counters, sums.sum, sums.squares
    dut.quarters.value = quarters
    await FallingEdge(dut.clk)  # the square of the quarters lags them
    dut.start.value = 1
    await FallingEdge(dut.clk)
    dut.start.value = 0
    for _ in range(300):
        if dut.done.value == 1:
            break
        await FallingEdge(dut.clk)
    assert dut.done.value == 1, "not done in 300 cycles"
    spread = quarters**2 * (sums.counters * sums.squares - sums.sum**2)
    expected = (sums.sum + isqrt(spread // 16)) // sums.counters if sums.counters > 1 else 0
    assert int(dut.threshold.value) == min(expected, 65535), sums
    assert int(dut.mean.value) == sums.mean, sums


@cocotb.test()
async def random_and_extreme_sums(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.rst.value = 1
    dut.start.value = 0
    await ClockCycles(dut.clk, 3)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    source = Random(2)
    extremes = [[], [1], [65535], [65535] * 1024, [65535] * 512 + [1] * 512, [1] * 1023 + [65535], [1, 2], [7, 7, 7]]
    for counts in extremes:
        for quarters in (0, 12, 255):
            await check(dut, sums_of(counts), quarters)
    for _ in range(40):
        top = source.choice([2, 9, 300, 65535])
        counts = [source.randint(1, top) for _ in range(source.randint(1, 1024))]
        await check(dut, sums_of(counts), source.randrange(256))
