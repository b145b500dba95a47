# SPDX-License-Identifier: Apache-2.0
"""SHA-256 and HMAC: the standards' vectors, and random texts against the golden model, which is Python's library."""

from __future__ import annotations

from random import Random
from typing import Any

import cocotb

from model.sha256_hmac import KEY_BYTES_MAX, Sha256Hmac
from tb.common.axis import Sent, seldom
from tb.common.slot import Slot
from tb.common.slot_host import CLEAR, ENABLE
from tb.sha256_hmac.vectors import FIPS_180, RFC_4231


async def configure(slot: Slot, key: bytes | None) -> None:
    await slot.write("OPTIONS", int(key is not None))
    padded = (key or b"").ljust(KEY_BYTES_MAX, b"\0")
    for n in range(0, KEY_BYTES_MAX, 4):
        await slot.write("KEY", int.from_bytes(padded[n : n + 4], "little"), n // 4)
    await slot.write("CONTROL", ENABLE)


@cocotb.test()
async def standard_vectors(dut: Any) -> None:
    slot = Slot(dut)
    await slot.start()
    assert await slot.read("ID") == int.from_bytes(b"SHA1", "big")
    await configure(slot, None)
    for text, digest in FIPS_180:
        slot.source.send(text, 2)
        await slot.settle()
        assert slot.sink.frames.pop() == Sent(bytes.fromhex(digest), 2)
    for key, text, digest in RFC_4231:
        await configure(slot, key)
        slot.source.send(text, 2)
        await slot.settle()
        assert slot.sink.frames.pop().frame.hex().startswith(digest)
    assert await slot.read("KEY", 0) == 0  # cannot be read back


@cocotb.test()
async def disabled(dut: Any) -> None:
    slot = Slot(dut)
    await slot.start()
    frames = [b"\x01" * 9, b"\x02" * 2048, b"\x03" * 2049, b"\x04"]
    for frame in frames:
        slot.source.send(frame, 1)
    await slot.settle()
    assert slot.sink.frames == [Sent(frame, 1) for frame in frames if len(frame) <= 2048]
    await slot.check_counters(4, 3, {}, 1)
    assert await slot.read("BLOCKS") == 0


@cocotb.test()
@cocotb.parametrize(
    (("seed", "key_bytes", "idle", "stall"), [(1, None, 0.0, 0.0), (2, 20, 0.3, 0.5), (3, 64, 0.0, 0.0)])
)
async def random_texts(dut: Any, seed: int, key_bytes: int | None, idle: float, stall: float) -> None:
    """Every length of the last block, and the longest frame; an overlong frame has no digest."""
    source = Random(seed)
    slot = Slot(dut, idle=seldom(seed, idle), stall=seldom(seed + 9, stall))
    await slot.start()
    key = None if key_bytes is None else source.randbytes(key_bytes)
    await configure(slot, key)
    model = Sha256Hmac(key)
    sizes = [*range(1, 65), 2049, 2048] if key is None else [*range(52, 67), source.randint(67, 300), 2049]
    expected, blocks = [], 0
    for size in sizes:
        text, user = source.randbytes(size), source.randrange(4)
        slot.source.send(text, user)
        if size <= 2048:
            expected.append(Sent(model.process(text).frame, user))
            blocks += model.blocks(size)
    await slot.settle()
    assert slot.sink.frames == expected
    assert await slot.read("BLOCKS") == blocks
    await slot.check_counters(len(sizes), len(expected), {}, 1)
    await slot.write("CONTROL", ENABLE | CLEAR)
    assert await slot.read("BLOCKS") == 0
