# SPDX-License-Identifier: Apache-2.0
"""A slot module as its host sees it, wherever its RTL runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sized
from typing import Protocol

from regs.description import Description, Register
from tb.common.axis import Sent

ENABLE, CLEAR = 1, 2
READ, PUT, DELETE, FIND = 1, 2, 3, 4
VALID, FULL = 2, 4
QUIET_CYCLES = 24  # after which nothing is on its way between the parts of a module


class Sending(Protocol):
    sent: int
    waiting: Sized

    def send(self, frame: bytes, user: int = 0) -> None: ...


class Receiving(Protocol):
    frames: list[Sent]


class SlotHost(ABC):
    """Registers go by the names of the module's YAML."""

    description: Description
    addresses: Mapping[str, Register]
    source: Sending
    sink: Receiving

    @abstractmethod
    async def read(self, name: str, index: int = 0) -> int: ...

    @abstractmethod
    async def write(self, name: str, value: int, index: int = 0) -> None: ...

    @abstractmethod
    async def cycles(self, count: int) -> None: ...

    @abstractmethod
    async def pass_us(self, ticks: int) -> None:
        """Let board time pass."""

    @abstractmethod
    async def settle(self) -> None:
        """Wait until every frame that was sent has left or was dropped."""

    def _address(self, name: str, index: int) -> int:
        register = self.addresses[name]
        assert index < register.count
        return register.address + index * register.stride

    async def start(self) -> None:
        """Wait until the clear that follows a reset is done."""
        while await self.read("STATUS") & 2:
            await self.cycles(200)

    async def table(self, operation: int, index: int = 0, entry: list[int] | None = None) -> tuple[int, list[int]]:
        """Execute a table command; return TABLE_STATUS and TABLE_DATA."""
        for n, word in enumerate(entry or []):
            await self.write("TABLE_DATA", word, n)
        await self.write("TABLE_COMMAND", operation << 28 | index)
        while (status := await self.read("TABLE_STATUS")) & 1:
            pass
        if operation == PUT or not status & VALID:
            return status, []
        return status, [await self.read("TABLE_DATA", n) for n in range(8)]

    async def events(self) -> list[list[int]]:
        count = await self.read("EVENT_COUNT")
        return [[await self.read("EVENT_DATA") for _ in range(8)] for _ in range(count)]

    async def check_counters(
        self, sent: int, forwarded: int, drops: Mapping[str, int], oversize: int, waiting: int = 0
    ) -> None:
        """Check that all `sent` frames are accounted for, `waiting` of them still inside."""
        assert await self.read("FRAMES_IN") == sent + waiting
        assert await self.read("FRAMES_OUT") == forwarded
        for n, reason in enumerate(self.description.drops):
            assert await self.read("DROPS", n) == drops.get(reason, 0), reason
        assert await self.read("OVERSIZE") == oversize
        assert sent == forwarded + sum(drops.values()) + oversize
