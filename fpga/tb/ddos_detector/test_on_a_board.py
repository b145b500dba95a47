# SPDX-License-Identifier: Apache-2.0
"""The SYN flood detector as boards run it against its golden model, where that takes too many cycles for Icarus."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest

from model import compared
from model.ddos_detector import ATTACK, ENTRIES, NORMAL, DdosDetector, index_of
from tb.common.frames import ACK, SYN, tcp
from tb.common.slot_host import SlotHost
from tb.common.verilated_bench import as_boards_run_it
from tb.ddos_detector.detector import CLIENT, VICTIM, Detector, colliding_with, on_a_board, sharing_addresses

Fate = int | None  # the class; None if the frame is dropped


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


async def events_until(slot: SlotHost, windows: int) -> list[list[int]]:
    """Drain events while the walk finds them: there are more than the FIFO holds."""
    events: list[list[int]] = []
    while await slot.read("WINDOWS") != windows:
        events += await slot.events()
    events += await slot.events()
    assert await slot.read("EVENT_LOST") == 0
    return events


@pytest.mark.parametrize(("seed", "drop_attacks"), [(1, False), (2, True)])
@as_boards_run_it
async def test_shared_counters(seed: int, drop_attacks: bool) -> None:
    """Every verdict, flag, event and counter, with three addresses sharing each counter and frames to all of them
    during both walks.
    """
    d = await on_a_board(DdosDetector(minimum=5, quarters=2, drop_attacks=drop_attacks))
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


@as_boards_run_it
async def test_entries_put_while_a_window_is_judged() -> None:
    """They wait until judging is over."""
    d = await on_a_board(DdosDetector(minimum=50, quarters=0))
    for n, cycles in enumerate([20, 900, 1000, 1050, 1100, 1150, 1200, 1250, 2000, 3200]):
        flooded = VICTIM + n
        await d.put(flooded, 60)
        sums = await d.end_window()
        await d.slot.cycles(cycles)
        await d.put(colliding_with(flooded), 45 if n % 2 else 3, flagged=VICTIM if n % 3 else None)
        await d.check_window(sums)
        events = await d.check_events()
        assert [1, flooded, 60] in [event[:3] for event in events]
        await d.check_counter(index_of(flooded))


@pytest.mark.parametrize("seed", compared.SEEDS)
@as_boards_run_it
async def test_what_software_was_compared_on(seed: int) -> None:
    """Windows in which nothing is counted or flagged are skipped."""
    d = await on_a_board(compared.ddos_detector(drops=True))
    records = compared.traffic(seed)[: compared.RTL_FRAMES]
    window = 0
    for ms, back, frame in records:
        ended = (ms - records[0][0]) // compared.WINDOW_MS - window
        window += ended
        for _ in range(ended):
            if not any(counter.count or counter.flagged_address for counter in d.model.counters):
                break
            await d.check_window(await d.end_window())
        d.send(frame, back)
    await d.check()
    assert d.drops["attack"] > 10
