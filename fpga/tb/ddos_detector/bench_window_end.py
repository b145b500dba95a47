# SPDX-License-Identifier: Apache-2.0
"""The counter at the end of the window is judged, whatever reaches it before the walks do."""

from __future__ import annotations

from collections.abc import Awaitable
from copy import deepcopy
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from model.ddos_detector import NORMAL, DdosDetector, index_of
from tb.common.slot_host import CLEAR, ENABLE, PUT, VALID
from tb.ddos_detector.detector import MS_US, VICTIM, colliding_with, detector, sharing_addresses


async def later(dut: Any, cycles: int, action: Awaitable[None]) -> None:
    await ClockCycles(dut.clk, max(cycles, 0) + 1)
    await action


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_neighbour_does_not_take_the_blame(dut: Any) -> None:
    d = await detector(dut, DdosDetector(minimum=20, drop_attacks=True))
    neighbour = colliding_with(VICTIM)
    assert index_of(VICTIM) > 100  # the walks reach it after the neighbour's frame
    for _ in range(60):
        d.syn(VICTIM)
    sums = await d.end_window()
    assert d.syn(neighbour) == NORMAL
    await d.check_window(sums)
    assert await d.check_events() == [[1, VICTIM, 60, 60, 0, 0, 0, 0]]
    assert d.syn(neighbour) == NORMAL
    assert d.syn(VICTIM) is None
    await d.check()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def entries_put_as_a_window_ends(dut: Any) -> None:
    """Each is either judged completely in the window that ends, or arrives completely after it."""
    d = await detector(dut, DdosDetector(minimum=50, quarters=0))
    judged_put: set[bool] = set()
    for lead in range(-12, 13):
        flooded = VICTIM + lead
        await d.put(flooded, 60)
        count = 70
        for n, word in enumerate([colliding_with(flooded), count, 0, 0, 0, 0, 0, 0]):
            await d.slot.write("TABLE_DATA", word, n)
        command = cocotb.start_soon(later(dut, -lead, d.slot.write("TABLE_COMMAND", PUT << 28)))
        await later(dut, lead, d.slot.pass_us(MS_US))
        await command
        await d.slot.settle()
        while (status := await d.slot.read("TABLE_STATUS")) & 1:
            pass
        assert status & VALID

        before, after = deepcopy(d.model), d.model
        before.counters[index_of(flooded)].put(colliding_with(flooded), count, None)
        before.close_window()
        after.close_window()
        after.counters[index_of(flooded)].put(colliding_with(flooded), count, None)
        events = await d.slot.events()
        assert events in (before.events, after.events) and before.events != after.events
        d.model = before if events == before.events else after
        d.model.events = []
        judged_put.add(d.model is before)
        await d.check_counter(index_of(flooded))
    assert judged_put == {False, True}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_clear_while_destinations_are_flagged(dut: Any) -> None:
    d = await detector(dut, DdosDetector(minimum=1, quarters=0))
    high = sharing_addresses(list(range(300, 316)), each=1)  # the walk flags one in two cycles
    low = sharing_addresses([1, 2, 3], each=1)
    for cycles in range(4):
        for addresses in [*high.values(), *low.values()]:
            await d.put(addresses[0], 9 if index_of(addresses[0]) in high else 1)
        await d.pass_window()
        while await d.slot.read("FLAGGED") == 0:
            pass
        await ClockCycles(dut.clk, cycles + 1)
        await d.slot.write("CONTROL", ENABLE | CLEAR)
        await d.slot.settle()
        assert await d.slot.read("WINDOWS") == 0  # it arrived before the end of the walk
        assert await d.slot.read("FLAGGED") == 0
