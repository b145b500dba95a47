# SPDX-License-Identifier: Apache-2.0
"""AES in counter mode: the standards' vectors, and random texts against OpenSSL."""

from __future__ import annotations

import subprocess
from random import Random
from typing import Any

import cocotb

from model.aes_ctr import AesCtr
from tb.aes_ctr.vectors import CTR_COUNTER, CTR_TEXT, CTR_VECTORS, FIPS_197
from tb.common.axis import Sent, seldom
from tb.common.slot import Slot
from tb.common.slot_host import CLEAR, ENABLE


async def configure(slot: Slot, key: bytes, counter: int) -> None:
    await slot.write("OPTIONS", int(len(key) == 32))
    for n in range(0, len(key), 4):
        await slot.write("KEY", int.from_bytes(key[n : n + 4], "little"), n // 4)
    for n, word in enumerate(counter.to_bytes(16, "big")[at : at + 4] for at in range(0, 16, 4)):
        await slot.write("COUNTER", int.from_bytes(word, "little"), n)
    await slot.write("CONTROL", ENABLE)


def by_openssl(key: bytes, counter: int, text: bytes) -> bytes:
    command = ["openssl", "enc", f"-aes-{8 * len(key)}-ctr", "-K", key.hex(), "-iv", f"{counter:032x}"]
    return subprocess.run(command, input=text, capture_output=True, check=True).stdout


async def counter_of(slot: Slot) -> int:
    words = [(await slot.read("COUNTER", n)).to_bytes(4, "little") for n in range(4)]
    return int.from_bytes(b"".join(words), "big")


@cocotb.test()
async def standard_vectors(dut: Any) -> None:
    slot = Slot(dut)
    await slot.start()
    assert await slot.read("ID") == int.from_bytes(b"AES1", "big")
    counter = int(CTR_COUNTER, 16)
    for key, cipher in CTR_VECTORS:
        await configure(slot, bytes.fromhex(key), counter)
        slot.source.send(bytes.fromhex(CTR_TEXT), 2)
        await slot.settle()
        assert slot.sink.frames.pop() == Sent(bytes.fromhex(cipher), 2)
        assert await counter_of(slot) == counter + 4
        await configure(slot, bytes.fromhex(key), counter)
        slot.source.send(bytes.fromhex(cipher), 2)  # decryption is the same operation
        await slot.settle()
        assert slot.sink.frames.pop() == Sent(bytes.fromhex(CTR_TEXT), 2)
    for key, cipher in FIPS_197:  # the block as counter block, an all-zero text
        await configure(slot, bytes.fromhex(key), 0x00112233445566778899AABBCCDDEEFF)
        slot.source.send(bytes(16))
        await slot.settle()
        assert slot.sink.frames.pop().frame.hex() == cipher
    assert await slot.read("BLOCKS") == 18
    assert await slot.read("KEY", 0) == 0  # cannot be read back
    await slot.write("CONTROL", CLEAR)
    assert await slot.read("BLOCKS") == 0


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
@cocotb.parametrize((("seed", "idle", "stall"), [(1, 0.0, 0.0), (2, 0.3, 0.0), (3, 0.0, 0.5)]))
async def random_texts(dut: Any, seed: int, idle: float, stall: float) -> None:
    """The counter continues across frames and wraps; an overlong frame uses no block."""
    source = Random(seed)
    slot = Slot(dut, idle=seldom(seed, idle), stall=seldom(seed + 9, stall))
    await slot.start()
    key = source.randbytes(source.choice([16, 32]) if seed > 1 else 32)
    start = (1 << 128) - 5 if seed == 1 else source.getrandbits(128)
    await configure(slot, key, start)
    model = AesCtr(key, start)
    sizes = [1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 64, *(source.randint(1, 120) for _ in range(8)), 2049, 2048]
    expected = []
    for size in sizes:
        text = source.randbytes(size)
        user = source.randrange(4)
        slot.source.send(text, user)
        if size > 2048:
            continue
        reference = by_openssl(key, model.counter, text)
        assert model.process(text).frame == reference
        expected.append(Sent(reference, user))
    await slot.settle()
    assert slot.sink.frames == expected
    assert await counter_of(slot) == model.counter
    await slot.check_counters(len(sizes), len(expected), {}, 1)
