# SPDX-License-Identifier: Apache-2.0
"""A slot module as boards run it (board/slot/abi.h), cycle by cycle, for tests that are too long for Icarus."""

from __future__ import annotations

import ctypes as c
import os
import weakref
from collections.abc import Sequence
from pathlib import Path

from regs.description import read_common, read_description
from tb.common.axis import Chance, Sent, never

FPGA = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ.get("ORRERY_BOARD_BUILD", FPGA / "build")) / "board/slot"
CYCLES_MAX = 200_000  # without a word of a frame that goes in or comes out


class _In(c.Structure):
    _fields_ = [("s_tdata", c.c_uint64), ("csr_wdata", c.c_uint32), ("csr_addr", c.c_uint16)] + [
        (name, c.c_uint8)
        for name in ("rst", "tick_us", "s_tkeep", "s_tvalid", "s_tlast", "s_tuser", "m_tready", "csr_write", "csr_read")
    ]


class _Out(c.Structure):
    _fields_ = [("m_tdata", c.c_uint64), ("csr_rdata", c.c_uint32), ("m_tuser", c.c_uint16)] + [
        (name, c.c_uint8) for name in ("s_tready", "m_tkeep", "m_tvalid", "m_tlast", "csr_ack", "busy")
    ]


_SETTLE = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(_In), c.POINTER(_Out))
_EDGE = c.CFUNCTYPE(None, c.c_void_p)


class _Table(c.Structure):
    _fields_ = [
        ("abi", c.c_uint32),
        ("timed", c.c_uint32),
        ("name", c.c_char_p),
        ("uuid", c.c_uint8 * 16),
        ("create", c.CFUNCTYPE(c.c_void_p)),
        ("destroy", _EDGE),
        ("settle", _SETTLE),
        ("edge", _EDGE),
    ]


class VerilatedSlot:
    """After reset, and not waiting for a clear; registers go by the names of its YAML."""

    def __init__(self, module: str) -> None:
        path = LIBRARY / f"{module}.so"
        assert path.exists(), f"{path} is not built"
        get = c.CDLL(str(path)).nf_slot_get
        get.restype = c.POINTER(_Table)
        self.table = get().contents
        self.instance = self.table.create()
        self.close = weakref.finalize(self, self.table.destroy, self.instance)
        self.into, self.out = _In(m_tready=1), _Out()
        self.cycles = self._moved_at = 0
        common = read_common(FPGA / "regs/common.yaml")
        self.description = read_description(FPGA / "regs" / f"{module}.yaml", common)
        self.registers = {register.name: register for register in common + self.description.registers}
        self.into.rst = 1
        for _ in range(4):
            self.cycle()
        self.into.rst = 0

    def cycle(self) -> None:
        into, out = self.into, self.out
        self.table.settle(self.instance, into, out)
        self.table.edge(self.instance)
        self.cycles += 1
        if (into.s_tvalid and out.s_tready) or (out.m_tvalid and into.m_tready):
            self._moved_at = self.cycles
        # Whatever a bench waits for, it says so here instead of waiting for ever.
        assert self.cycles - self._moved_at < CYCLES_MAX, f"no frame went in or came out for {CYCLES_MAX} cycles"

    def _access(self, name: str, index: int) -> int:
        register = self.registers[name]
        self.into.csr_addr = register.address + index * register.stride
        for _ in range(64):
            self.cycle()
            if self.out.csr_ack:
                data = int(self.out.csr_rdata)
                self.into.csr_read = self.into.csr_write = 0
                self.cycle()
                return data
        raise AssertionError(f"no answer of {name}")

    def read(self, name: str, index: int = 0) -> int:
        self.into.csr_read = 1
        return self._access(name, index)

    def write(self, name: str, value: int, index: int = 0) -> None:
        self.into.csr_wdata, self.into.csr_write = value, 1
        self._access(name, index)

    def table_command(self, operation: int, index: int = 0, entry: Sequence[int] = ()) -> list[int]:
        for n, word in enumerate(entry):
            self.write("TABLE_DATA", word, n)
        self.write("TABLE_COMMAND", operation << 28 | index)
        while self.read("TABLE_STATUS") & 1:
            pass
        return [self.read("TABLE_DATA", n) for n in range(8)]

    def run(self, frames: Sequence[Sent], *, idle: Chance = never, stall: Chance = never) -> list[Sent]:
        """What comes out until the module is idle again. Nothing is offered in cycles where `idle()`, nothing taken
        where `stall()`.
        """
        beats = []
        for item in frames:
            for at in range(0, len(item.frame), 8):
                part = item.frame[at : at + 8]
                last = at + 8 >= len(item.frame)
                beats.append((int.from_bytes(part, "little"), (1 << len(part)) - 1, int(last), item.user))
        done: list[Sent] = []
        frame = bytearray()
        into, out = self.into, self.out
        next_beat = quiet = 0
        standing: tuple[int, ...] | None = None
        while quiet < 4:
            if next_beat < len(beats) and not into.s_tvalid and not idle():
                into.s_tdata, into.s_tkeep, into.s_tlast, into.s_tuser = beats[next_beat]
                into.s_tvalid = 1
            into.m_tready = 0 if stall() else 1
            self.cycle()
            if into.s_tvalid and out.s_tready:
                next_beat += 1
                into.s_tvalid = 0
            beat = (out.m_tdata, out.m_tkeep, out.m_tlast, out.m_tuser) if out.m_tvalid else None
            assert standing in (None, beat), "a waiting beat changed"
            standing = None if into.m_tready else beat
            if beat is not None and into.m_tready:
                frame += out.m_tdata.to_bytes(8, "little")[: out.m_tkeep.bit_length()]
                if out.m_tlast:
                    done.append(Sent(bytes(frame), out.m_tuser))
                    frame.clear()
            quiet = quiet + 1 if next_beat == len(beats) and not out.busy and not out.m_tvalid else 0
        assert not frame, "a frame has no end"
        return done
