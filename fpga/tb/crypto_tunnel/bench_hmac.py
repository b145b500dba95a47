# SPDX-License-Identifier: Apache-2.0
"""HMAC-SHA-256 from hash values after the padded keys: RFC 4231, and random texts against Python's library."""

from __future__ import annotations

import hashlib
import hmac
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

from tb.sha256_hmac.vectors import RFC_4231


class Unit:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.random = dut, Random(seed)
        cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
        for name in ("start", "plain", "s_valid"):
            getattr(dut, name).value = 0

    async def reset(self) -> None:
        self.dut.rst.value = 1
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        self.dut.rst.value = 0

    async def run(self, text: bytes, plain: bool) -> int:
        dut = self.dut
        await FallingEdge(dut.clk)
        dut.start.value, dut.plain.value = 1, int(plain)
        await FallingEdge(dut.clk)
        dut.start.value = 0
        for at in range(0, len(text), 8):
            while self.random.random() < 0.2:
                await FallingEdge(dut.clk)
            part = text[at : at + 8]
            dut.s_data.value = int.from_bytes(part + self.random.randbytes(8 - len(part)), "big")
            dut.s_bytes.value, dut.s_last.value, dut.s_valid.value = len(part), int(at + 8 >= len(text)), 1
            while True:
                await ReadOnly()
                taken = dut.s_ready.value == 1
                await FallingEdge(dut.clk)
                if taken:
                    break
            dut.s_valid.value = 0
        while dut.done.value != 1:
            await FallingEdge(dut.clk)
        return int(dut.result.value)

    async def mac(self, key: bytes, text: bytes) -> bytes:
        padded = key.ljust(64, b"\0")
        states = [await self.run(bytes(byte ^ pad for byte in padded), True) for pad in (0x36, 0x5C)]
        self.dut.inner.value, self.dut.outer.value = states
        return (await self.run(text, False)).to_bytes(32, "big")


@cocotb.test()
async def standard_vectors(dut: Any) -> None:
    unit = Unit(dut, 1)
    await unit.reset()
    for key, text, wanted in RFC_4231:
        assert (await unit.mac(key, text)).hex().startswith(wanted)


@cocotb.test()
async def random_texts(dut: Any) -> None:
    unit = Unit(dut, 2)
    await unit.reset()
    for size in [1, 7, 8, 46, 47, 48, 54, 55, 56, 57, 63, 64, 65, 119, 120, 121, 200]:
        key, text = unit.random.randbytes(32), unit.random.randbytes(size)
        assert await unit.mac(key, text) == hmac.digest(key, text, hashlib.sha256), size
