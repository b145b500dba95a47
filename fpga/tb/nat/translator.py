# SPDX-License-Identifier: Apache-2.0
"""NAT and its golden model side by side, for benches that play the host."""

from __future__ import annotations

from collections import Counter
from typing import Any

from model.nat import End, Nat
from model.packet import FRAME_BYTES_MAX
from model.verdict import Verdict
from tb.common.axis import Sent
from tb.common.slot import Slot
from tb.common.slot_host import DELETE, ENABLE, FULL, PUT, VALID, SlotHost
from tb.common.verilated_bench import BOARD_MS_PER_S, BOARD_US_PER_MS, VerilatedBench

US_PER_MS, MS_PER_S = 2, 5  # the bench's parameters
IN, OUT, PUBLIC = 0x0A000001, 0xC0000201, 0xC6120001


class Translator:
    """Module and model side by side, one step at a time."""

    us_per_ms, ms_per_s = US_PER_MS, MS_PER_S

    def __init__(self, slot: SlotHost) -> None:
        self.slot = slot
        self.model = Nat()
        self.now_ms = 0
        self.expected: list[Sent] = []
        self.drops: Counter[str] = Counter()
        self.sent = self.oversize = 0

    @property
    def now_s(self) -> int:
        return self.now_ms // self.ms_per_s

    def _take(self, verdict: Verdict, user: int) -> None:
        if verdict.drop_reason:
            self.drops[verdict.drop_reason] += 1
        elif not verdict.waits:
            self.expected.append(Sent(verdict.frame, user))

    def send(self, frame: bytes, direction: int = 0) -> Verdict:
        self.slot.source.send(frame, direction)
        self.sent += 1
        if len(frame) > FRAME_BYTES_MAX:
            self.oversize += 1
            return Verdict()
        verdict = self.model.process(frame, direction, self.now_s, self.now_ms)
        self._take(verdict, direction)
        return verdict

    async def put(self, protocol: int, inside: End, outside: End, idle_s: int = 0) -> int:
        await self.slot.settle()
        entry = [inside.address, outside.address, inside.port << 16 | outside.port, protocol, 0, 0, 0, idle_s]
        status, _ = await self.slot.table(PUT, entry=entry)
        if self.model.put(protocol, inside, outside, self.now_s, idle_s):
            assert status & VALID and not status & FULL
            for verdict in self.model.release(protocol, inside, self.now_s):
                self._take(verdict, 0)
        else:
            assert status & FULL and not status & VALID
        return status

    async def delete(self, protocol: int, inside: End) -> bool:
        """If there is nothing to delete, the waiting frames are refused."""
        await self.slot.settle()
        entry = [inside.address, 0, inside.port << 16, protocol, 0, 0, 0, 0]
        status, _ = await self.slot.table(DELETE, entry=entry)
        found = self.model.delete(protocol, inside, self.now_s)
        assert bool(status & VALID) == found
        if not found:
            for verdict in self.model.release(protocol, inside, self.now_s):
                self._take(verdict, 0)
        return found

    async def pass_ms(self, ms: int, timeout_ms: int = 1000) -> None:
        await self.slot.settle()
        await self.slot.pass_us(ms * self.us_per_ms)
        self.now_ms += ms
        for verdict in self.model.expire(self.now_ms, timeout_ms, self.now_s):
            self._take(verdict, 0)
        await self.slot.cycles(40)

    async def check(self) -> None:
        await self.slot.settle()
        assert self.slot.sink.frames == self.expected
        waiting = len(self.model.waiting)
        assert await self.slot.read("MISSES_WAITING") == waiting
        await self.slot.check_counters(self.sent - waiting, len(self.expected), self.drops, self.oversize, waiting)

    async def check_events(self) -> None:
        assert await self.slot.events() == [[1, *words, 0, 0, 0] for words in self.model.events]
        self.model.events.clear()


async def prepared(slot: SlotHost) -> Translator:
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    return Translator(slot)


async def on_a_board() -> Translator:
    found = await prepared(VerilatedBench("nf_nat"))
    found.us_per_ms, found.ms_per_s = BOARD_US_PER_MS, BOARD_MS_PER_S
    return found


async def translator(dut: Any, **ends: Any) -> Translator:
    return await prepared(Slot(dut, **ends))
