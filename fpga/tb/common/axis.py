# SPDX-License-Identifier: Apache-2.0
"""AXI-Stream ends for benches, and the host's side of a CSR bus. All act at the falling edge."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import Event, FallingEdge, ReadOnly, ValueChange

Chance = Callable[[], bool]


def seldom(seed: int, share: float) -> Chance:
    """Returns True in a given share of the calls."""
    source = random.Random(seed)
    return lambda: source.random() < share


def never() -> bool:
    return False


@dataclass(frozen=True)
class Sent:
    """A frame and its user bits; equal frames compare equal."""

    frame: bytes
    user: int = 0


class Source:
    """Drives frames into `<prefix>_t*`; idle between and within frames in the cycles where `idle()` is true."""

    def __init__(self, dut: Any, prefix: str, clk: SimHandleBase, idle: Chance = never) -> None:
        self.idle = idle
        self.waiting: deque[Sent] = deque()
        self.more = Event()
        self.sending = False
        self.sent = 0
        self.clk = clk
        self.bus = {name: getattr(dut, f"{prefix}_t{name}") for name in ("data", "keep", "valid", "ready", "last")}
        self.user = getattr(dut, f"{prefix}_tuser", None)
        self.bus["valid"].value = 0
        cocotb.start_soon(self._run())

    def send(self, frame: bytes, user: int = 0) -> None:
        self.waiting.append(Sent(frame, user))
        self.more.set()

    async def _run(self) -> None:
        while True:
            if not self.waiting:
                await FallingEdge(self.clk)
                self.bus["valid"].value = 0
            while not self.waiting:
                self.more.clear()
                await self.more.wait()
            item = self.waiting.popleft()
            self.sending = True
            for at in range(0, len(item.frame), 8):
                part = item.frame[at : at + 8]
                await self._beat(part, at + 8 >= len(item.frame), item.user)
            self.sent += 1
            self.sending = False

    async def _beat(self, part: bytes, last: bool, user: int) -> None:
        await FallingEdge(self.clk)
        while self.idle():
            self.bus["valid"].value = 0
            await FallingEdge(self.clk)
        self.bus["data"].value = int.from_bytes(part, "little")
        self.bus["keep"].value = (1 << len(part)) - 1
        self.bus["last"].value = last
        if self.user is not None:
            self.user.value = user
        self.bus["valid"].value = 1
        while True:
            await ReadOnly()
            if self.bus["ready"].value == 1:
                return
            await FallingEdge(self.clk)


class Sink:
    """Receives frames from `<prefix>_t*`; not ready in cycles where `stall()` is true. Checks the stream's rules."""

    def __init__(self, dut: Any, prefix: str, clk: SimHandleBase, stall: Chance = never) -> None:
        self.stall = stall
        self.frames: list[Sent] = []
        self.in_frame = False
        self.arrival = Event()
        self.clk = clk
        self.prefix = prefix
        self.bus = {name: getattr(dut, f"{prefix}_t{name}") for name in ("data", "keep", "valid", "ready", "last")}
        self.user = getattr(dut, f"{prefix}_tuser", None)
        cocotb.start_soon(self._run())

    def _sample(self) -> tuple[int, int, int, int]:
        keep = int(self.bus["keep"].value)
        # Unused bytes may be anything, even X.
        data = (
            int(str(self.bus["data"].value).replace("X", "0").replace("x", "0"), 2)
            if keep != 255
            else int(self.bus["data"].value)
        )
        return data, keep, int(self.bus["last"].value), int(self.user.value) if self.user is not None else 0

    async def _run(self) -> None:
        standing: tuple[int, int, int, int] | None = None
        frame, user = bytearray(), 0
        was_ready: bool | None = None
        while True:
            await FallingEdge(self.clk)
            ready = not self.stall()
            if ready != was_ready:
                self.bus["ready"].value = was_ready = ready
            await ReadOnly()
            if self.stall is never and standing is None and str(self.bus["valid"].value) == "0":
                await ValueChange(self.bus["valid"])
                # Whatever happens while the clock is low happened at its falling edge.
                if self.clk.value == 1:
                    await FallingEdge(self.clk)
                await ReadOnly()
            valid = str(self.bus["valid"].value)
            assert valid in "01", f"{self.prefix}_tvalid is {valid}"
            if valid == "0":
                assert standing is None, f"{self.prefix}: a beat was withdrawn"
                continue
            beat = self._sample()
            assert standing in (None, beat), f"{self.prefix}: a waiting beat changed"
            standing = None if ready else beat
            if not ready:
                continue
            data, keep, last, beat_user = beat
            size = keep.bit_length()
            assert keep == (1 << size) - 1 and size > 0, f"{self.prefix}: keep {keep:#x} is not contiguous"
            assert last or size == 8, f"{self.prefix}: a partial beat within a frame"
            if self.in_frame and self.user is not None and self.user_is_constant:
                assert beat_user == user, f"{self.prefix}: tuser changed within a frame"
            user = beat_user
            frame += (data & ((1 << 8 * size) - 1)).to_bytes(size, "little")
            self.in_frame = not last
            if last:
                self.frames.append(Sent(bytes(frame), user))
                frame.clear()
                self.arrival.set()

    user_is_constant = True


class Csr:
    """Register accesses on `<prefix>csr_*`."""

    def __init__(self, dut: Any, clk: SimHandleBase, prefix: str = "", cycles_max: int = 64) -> None:
        self.clk = clk
        self.cycles_max = cycles_max
        names = ("addr", "write", "wdata", "read", "rdata", "ack")
        self.bus = {name: getattr(dut, f"{prefix}csr_{name}") for name in names}
        self.bus["write"].value = 0
        self.bus["read"].value = 0

    async def _access(self, strobe: str, address: int, data: int) -> int:
        await FallingEdge(self.clk)
        self.bus["addr"].value = address
        self.bus["wdata"].value = data
        self.bus[strobe].value = 1
        for _ in range(self.cycles_max):
            await FallingEdge(self.clk)
            if self.bus["ack"].value == 1:
                result = self.bus["rdata"].value
                self.bus[strobe].value = 0
                return int(result) if strobe == "read" else 0
        raise AssertionError(f"no answer to {strobe} of {address:#x} in {self.cycles_max} cycles")

    async def read(self, address: int) -> int:
        return await self._access("read", address, 0)

    async def write(self, address: int, data: int) -> None:
        await self._access("write", address, data)
