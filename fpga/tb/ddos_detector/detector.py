# SPDX-License-Identifier: Apache-2.0
"""SYN flood detector and golden model for the benches."""

from __future__ import annotations

from typing import Any

from model.ddos_detector import DdosDetector, Sums, index_of
from tb.common.classifier import Classifier
from tb.common.frames import SYN, tcp
from tb.common.slot import Slot
from tb.common.slot_host import ENABLE, PUT, READ, VALID, SlotHost
from tb.common.verilated_bench import BOARD_US_PER_MS, VerilatedBench

MS_US = 4  # of the bench's parameters
CLIENT, VICTIM = 0x0A000001, 0xC0000201
HOSTS = [0xC0000210 + n for n in range(12)]


class Detector(Classifier[DdosDetector]):
    ms_us = MS_US

    def syn(self, destination: int, flags: int = SYN) -> int | None:
        return self.send(tcp(CLIENT, destination, 5000, 80, flags))

    async def end_window(self) -> Sums:
        """Does not wait for the walks."""
        await self.pass_window()
        return self.model.close_window()

    async def pass_window(self) -> None:
        """Leaves the model in the old window."""
        await self.slot.settle()
        await self.slot.pass_us(self.ms_us)

    async def check_window(self, sums: Sums) -> None:
        await self.slot.settle()
        assert await self.slot.read("WINDOWS") == self.model.windows
        assert await self.slot.read("COUNTERS") == sums.counters
        assert await self.slot.read("SUM") == sums.sum
        flagged = sum(counter.flagged_address is not None for counter in self.model.counters)
        assert await self.slot.read("FLAGGED") == flagged

    async def check_events(self) -> list[list[int]]:
        """By index, in the order of a walk."""
        events, self.model.events = self.model.events, []
        assert await self.slot.read("EVENT_LOST") == 0
        assert await self.slot.events() == events
        return events

    async def put(self, address: int, count: int, flagged: int | None = None) -> None:
        entry = [address, count, int(flagged is not None), flagged or 0, 0, 0, 0, 0]
        assert (await self.slot.table(PUT, entry=entry))[0] & VALID
        self.model.counters[index_of(address)].put(address, count, flagged)

    async def check_counter(self, index: int) -> None:
        status, entry = await self.slot.table(READ, index)
        counter = self.model.counters[index]
        flagged = counter.flagged_address
        assert bool(status & VALID) == (counter.count > 0 or flagged is not None), index
        if status & VALID:
            assert entry[:4] == [counter.address, counter.count, int(flagged is not None), flagged or 0], index


async def prepared(slot: SlotHost, model: DdosDetector) -> Detector:
    """Enabled, with the model's settings and windows of 1 ms."""
    await slot.start()
    await slot.write("WINDOW_MS", 1)
    await slot.write("MINIMUM", model.minimum)
    await slot.write("DEVIATIONS", model.quarters)
    await slot.write("OPTIONS", int(model.drop_attacks))
    await slot.write("CONTROL", ENABLE)
    return Detector(slot, model)


async def detector(dut: Any, model: DdosDetector, **ends: Any) -> Detector:
    return await prepared(Slot(dut, **ends), model)


async def on_a_board(model: DdosDetector) -> Detector:
    found = await prepared(VerilatedBench("nf_ddos_detector"), model)
    found.ms_us = BOARD_US_PER_MS
    return found


def colliding_with(address: int) -> int:
    """Another address that shares the counter."""
    return next(other for other in range(address + 1, address + 100_000) if index_of(other) == index_of(address))


def sharing_addresses(indices: list[int], each: int) -> dict[int, list[int]]:
    """For each counter, this many addresses that share it."""
    found: dict[int, list[int]] = {index: [] for index in indices}
    for address in range(0x0B000000, 0x0B000000 + 12_000):
        found.get(index_of(address), []).append(address)
    return {index: addresses[:each] for index, addresses in found.items()}
