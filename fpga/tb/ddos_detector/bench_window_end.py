# SPDX-License-Identifier: Apache-2.0
"""The counter at the end of the window is judged, whatever reaches it before the walks do."""

from __future__ import annotations

from collections.abc import Awaitable
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from model.ddos_detector import ATTACK, ENTRIES, NORMAL, DdosDetector, index_of
from tb.common.frames import ACK, SYN, tcp
from tb.common.slot import CLEAR, ENABLE, PUT, VALID, Slot
from tb.ddos_detector.detector import CLIENT, MS_US, VICTIM, Detector, colliding_with, detector

Fate = int | None  # the class; None if the frame is dropped


def sharing_addresses(indices: list[int], each: int) -> dict[int, list[int]]:
    """For each counter, this many addresses that share it."""
    found: dict[int, list[int]] = {index: [] for index in indices}
    for address in range(0x0B000000, 0x0B000000 + 12_000):
        found.get(index_of(address), []).append(address)
    return {index: addresses[:each] for index, addresses in found.items()}


@dataclass
class Judged:
    frame: bytes  # no two are equal
    destination: int
    is_syn: bool
    old: Fate  # by the flags before a judging walk
    new: Fate  # by the flags after it


class Trace:
    """All frames that were sent; each counter switches from its old flag to the new one once per window."""

    def __init__(self, d: Detector) -> None:
        self.d = d
        self.frames: list[Judged] = []

    def fate(self, destination: int, is_syn: bool) -> Fate:
        if not is_syn or self.d.model.counters[index_of(destination)].flagged_address != destination:
            return NORMAL
        return None if self.d.model.drop_attacks else ATTACK

    def send(self, destination: int, flags: int) -> None:
        frame = tcp(CLIENT + len(self.frames), destination, 5000, 80, flags)
        fate = self.fate(destination, flags == SYN)
        self.frames.append(Judged(frame, destination, flags == SYN, fate, fate))
        self.d.model.process(frame)
        self.d.slot.source.send(frame)

    def turn(self, first: int) -> None:
        """The model's flags are new; frames from `first` on may have seen either."""
        for judged in self.frames[first:]:
            judged.new = self.fate(judged.destination, judged.is_syn)

    async def check(self, first: int) -> set[bool]:
        """Return whether frames from `first` on, whose fate the window changed, were seen with the new fate."""
        seen = {sent.frame: sent.user >> 4 for sent in self.d.slot.sink.frames}
        assert list(seen) == [judged.frame for judged in self.frames if judged.frame in seen]
        turned: dict[int, bool] = {}
        for judged in self.frames[first:]:
            fate: Fate = seen.get(judged.frame)
            assert fate in (judged.old, judged.new), judged
            if judged.old != judged.new:
                index = index_of(judged.destination)
                assert fate == judged.new or not turned.get(index, False), "a counter turned back"
                turned[index] = fate == judged.new
        await self.d.slot.check_counters(
            len(self.frames), len(seen), {"attack": len(self.frames) - len(seen)}, oversize=0
        )
        return set(turned.values())


async def events_until(slot: Slot, windows: int) -> list[list[int]]:
    """Drain events while the walk finds them: there are more than the FIFO holds."""
    events: list[list[int]] = []
    while await slot.read("WINDOWS") != windows:
        events += await slot.events()
    events += await slot.events()
    assert await slot.read("EVENT_LOST") == 0
    return events


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
@cocotb.parametrize((("seed", "drop_attacks"), [(1, False), (2, True)]))
async def shared_counters(dut: Any, seed: int, drop_attacks: bool) -> None:
    """Every verdict, flag, event and counter, with three addresses sharing each counter and frames to all of them
    during both walks.
    """
    d = await detector(dut, DdosDetector(minimum=5, quarters=2, drop_attacks=drop_attacks))
    source = Random(seed)
    sharing = sharing_addresses(source.sample(range(ENTRIES), 90), each=3)
    trace = Trace(d)
    turned: set[bool] = set()

    def send(count: int) -> None:
        for _ in range(count):
            addresses = sharing[source.choice(busy if source.random() < 0.7 else quiet)]
            trace.send(source.choice(addresses), ACK if source.random() < 0.15 else SYN)

    for _ in range(4):
        busy = source.sample(list(sharing), 40)
        quiet = [index for index in sharing if index not in busy]
        send(300)
        await d.pass_window()
        sums = d.model.end_window()
        first = len(trace.frames)
        send(950)  # the walks take about 900
        d.model.judge(sums)
        trace.turn(first)
        events, d.model.events = d.model.events, []
        assert events and await events_until(d.slot, d.model.windows) == events
        await d.check_window(sums)
        turned |= await trace.check(first)
        for index in sharing:
            await d.check_counter(index)
    assert turned == {False, True}


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def entries_put_while_a_window_is_judged(dut: Any) -> None:
    """They wait until judging is over."""
    d = await detector(dut, DdosDetector(minimum=50, quarters=0))
    for n, cycles in enumerate([20, 900, 1000, 1050, 1100, 1150, 1200, 1250, 2000, 3200]):
        flooded = VICTIM + n
        await d.put(flooded, 60)
        sums = await d.end_window()
        await ClockCycles(dut.clk, cycles)
        await d.put(colliding_with(flooded), 45 if n % 2 else 3, flagged=VICTIM if n % 3 else None)
        await d.check_window(sums)
        events = await d.check_events()
        assert [1, flooded, 60] in [event[:3] for event in events]
        await d.check_counter(index_of(flooded))


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
