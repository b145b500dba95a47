# SPDX-License-Identifier: Apache-2.0
"""A slot module as boards run it, for benches that are too long for Icarus. It stands still while nobody waits."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import ParamSpec

from tb.common.axis import Chance, Sent, never
from tb.common.slot_host import QUIET_CYCLES, SlotHost
from tb.common.verilated import VerilatedSlot

BOARD_US_PER_MS, BOARD_MS_PER_S = 1000, 1000

Arguments = ParamSpec("Arguments")


def as_boards_run_it(test: Callable[Arguments, Awaitable[None]]) -> Callable[Arguments, None]:
    """A test of pytest from a bench, which never waits for anything but cycles of its own module."""

    @functools.wraps(test)
    def run(*arguments: Arguments.args, **named: Arguments.kwargs) -> None:
        bench = test(*arguments, **named)
        assert isinstance(bench, Coroutine)
        try:
            bench.send(None)
        except StopIteration:
            return
        raise AssertionError("the bench waits for something else")

    return run


class Source:
    def __init__(self) -> None:
        self.waiting: deque[tuple[int, Sent]] = deque()
        self.sent = 0
        self.module: VerilatedSlot | None = None

    def send(self, frame: bytes, user: int = 0, after: int = 0) -> None:
        """Its first beat comes no sooner than so many cycles from now."""
        now = 0 if self.module is None else self.module.cycles
        self.waiting.append((now + after, Sent(frame, user)))


class Sink:
    def __init__(self) -> None:
        self.frames: list[Sent] = []


class _Streaming(VerilatedSlot):
    """Frames go in and out in every cycle, whoever lets it pass."""

    def __init__(self, module: str, source: Source, sink: Sink, idle: Chance, stall: Chance) -> None:
        self.source, self.sink = source, sink
        self.idle, self.stall = idle, stall
        self._beats: deque[tuple[int, int, int, int]] = deque()
        self._frame = bytearray()
        self._standing: tuple[int, ...] | None = None
        super().__init__(module)
        source.module = self

    @property
    def moving(self) -> bool:
        return bool(self.source.waiting or self.into.s_tvalid or self._beats or self.out.busy or self.out.m_tvalid)

    def _next_frame(self) -> None:
        not_before, item = self.source.waiting[0]
        if not_before > self.cycles:
            return
        self.source.waiting.popleft()
        for at in range(0, len(item.frame), 8):
            part = item.frame[at : at + 8]
            last = at + 8 >= len(item.frame)
            self._beats.append((int.from_bytes(part, "little"), (1 << len(part)) - 1, int(last), item.user))

    def cycle(self) -> None:
        into, out = self.into, self.out
        if not into.s_tvalid and not into.rst:
            if not self._beats and self.source.waiting:
                self._next_frame()
            if self._beats and not self.idle():
                into.s_tdata, into.s_tkeep, into.s_tlast, into.s_tuser = self._beats.popleft()
                into.s_tvalid = 1
        into.m_tready = 0 if self.stall() else 1
        super().cycle()
        if into.s_tvalid and out.s_tready:
            into.s_tvalid = 0
            self.source.sent += into.s_tlast
        beat = (out.m_tdata, out.m_tkeep, out.m_tlast, out.m_tuser) if out.m_tvalid else None
        assert self._standing in (None, beat), "a waiting beat changed"
        self._standing = None if into.m_tready else beat
        if beat is not None and into.m_tready:
            self._frame += out.m_tdata.to_bytes(8, "little")[: out.m_tkeep.bit_length()]
            if out.m_tlast:
                self.sink.frames.append(Sent(bytes(self._frame), out.m_tuser))
                self._frame.clear()


class VerilatedBench(SlotHost):
    def __init__(self, module: str, *, idle: Chance = never, stall: Chance = never) -> None:
        self.source, self.sink = Source(), Sink()
        self.module = _Streaming(module, self.source, self.sink, idle, stall)
        self.description = self.module.description
        self.addresses = self.module.registers

    async def read(self, name: str, index: int = 0) -> int:
        return self.module.read(name, index)

    async def write(self, name: str, value: int, index: int = 0) -> None:
        self.module.write(name, value, index)

    async def cycles(self, count: int) -> None:
        for _ in range(count):
            self.module.cycle()

    async def pass_us(self, ticks: int) -> None:
        self.module.into.tick_us = 1
        await self.cycles(ticks)
        self.module.into.tick_us = 0

    async def settle(self) -> None:
        quiet = 0
        while quiet < QUIET_CYCLES:
            self.module.cycle()
            quiet = 0 if self.module.moving else quiet + 1
