# SPDX-License-Identifier: Apache-2.0
"""The static region around a slot: nothing is lost, truncated or let through that should not be."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge

from tb.common.axis import Sent, Source, seldom
from tb.shell.host import (
    BUSY,
    BYPASS,
    CSR_DECOUPLE,
    CSR_TIMEOUT,
    DEAD,
    DECOUPLE,
    DRAINED,
    DROP,
    HELD,
    HOLD,
    RESET,
    SLOT,
    TIMED_OUT,
    Pausing,
    board,
    numbered,
)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def identity_and_defaults(dut: Any) -> None:
    b = await board(dut)
    assert await b.read("ID") == int.from_bytes(b"SHL1", "big")
    assert await b.read("CLOCK_HZ") == 2_000_000
    assert await b.read("SLOTS") == 1
    words = [await b.csr.read(b.addresses["SHELL_UUID"] + 4 * n) for n in range(4)]
    assert words == [0x00112233, 0x44556677, 0x8899AABB, 0xCCDDEEFF]
    assert await b.read("SLOT_CONTROL") == HOLD | DECOUPLE | CSR_DECOUPLE | RESET
    assert await b.csr.read(SLOT) == DEAD
    assert await b.csr.read(2 * SLOT) == 0
    assert await b.csr.read(0x200) == 0
    assert dut.link_up.value == 1
    await b.write("LINK", 0)
    assert dut.link_up.value == 0
    ticks = 0
    for _ in range(40):
        await FallingEdge(dut.clk)
        ticks += int(dut.tick_us.value)
    assert ticks == 20


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def ports_and_directions(dut: Any) -> None:
    b = await board(dut, stall=seldom(1, 0.3))
    await b.couple()
    forward = [numbered(n, 18 + n * 7) for n in range(40)]
    back = [numbered(100 + n, 60 + n) for n in range(40)]
    own = [numbered(200 + n, 200) for n in range(20)]
    for frame in forward:
        b.near.send(frame)
    for frame in back:
        b.far.send(frame)
    for n, frame in enumerate(own):
        b.host.send(frame, n % 2)
    await b.settle()
    assert b.to_far.frames == [Sent(frame) for frame in forward]
    assert b.to_near.frames == [Sent(frame) for frame in back]
    assert b.to_host.frames == [Sent(frame, (n % 2) << 1) for n, frame in enumerate(own)]
    everything = [*forward, *back, *own]
    for name in ("IN", "OUT"):
        assert await b.read(f"FRAMES_{name}") == len(everything)
        assert await b.read(f"BYTES_{name}") == sum(map(len, everything))
    for name in ("DROPPED", "BYPASSED"):
        assert await b.read(f"FRAMES_{name}") == await b.read(f"BYTES_{name}") == 0


@cocotb.test(timeout_time=6, timeout_unit="ms")
@cocotb.parametrize(size=[60, 1514])
async def freezes_under_load(dut: Any, size: int) -> None:
    """100 loads of each size with HOLD: every frame leaves complete, in order, once."""
    b = await board(dut, stall=seldom(3, 0.05))
    await b.couple()
    chance = random.Random(size)
    sent = [0, 0]

    async def load(source: Source, which: int) -> None:
        while sent[which] >= 0:
            if len(source.waiting) < 4:
                source.send(numbered(which << 24 | sent[which], size))
                sent[which] += 1
            else:
                await ClockCycles(dut.clk, 4)

    loads = [cocotb.start_soon(load(b.near, 0)), cocotb.start_soon(load(b.far, 1))]
    for _ in range(100):
        await ClockCycles(dut.clk, chance.randrange(1, 20 + size // 4))
        await b.write("SLOT_CONTROL", HOLD)
        await b.until(DRAINED)
        assert not b.to_near.in_frame and not b.to_far.in_frame
        assert not await b.read("SLOT_STATUS") & TIMED_OUT
        await b.write("SLOT_CONTROL", HOLD | DECOUPLE | CSR_DECOUPLE | RESET)
        await ClockCycles(dut.clk, chance.randrange(4))
        await b.couple()
    for task in loads:
        task.cancel()
    await b.settle()
    for which, sink in enumerate((b.to_far, b.to_near)):
        assert sent[which] > 60
        assert sink.frames == [Sent(numbered(which << 24 | n, size)) for n in range(sent[which])]
    assert await b.read("FRAMES_IN") == await b.read("FRAMES_OUT") == sum(sent)
    assert await b.read("FRAMES_DROPPED") == await b.read("FRAMES_ABORTED") == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(policy=[DROP, BYPASS])
async def policies(dut: Any, policy: int) -> None:
    """Frames before a freeze pass the slot, frames during it are dropped or bypass it, in order."""
    b = await board(dut)
    await b.couple()
    await b.write("METADATA_MASK", 0xFFFF)
    await b.write("METADATA_VALUE_0", 0x1234)
    frames = [bytes.fromhex("020e0001aaaa") + numbered(n, 100) for n in range(40)]
    treated = [frame[:4] + b"\x12\x34" + frame[6:] for frame in frames]
    for frame in frames[:10]:
        b.near.send(frame)
    await b.settle()
    await b.write("SLOT_CONTROL", HOLD | policy)
    await b.until(DRAINED)
    await b.write("SLOT_CONTROL", HOLD | DECOUPLE | CSR_DECOUPLE | RESET | policy)
    dut.garbage.value = 1
    for frame in frames[10:30]:
        b.near.send(frame)
        b.far.send(frame)
    b.host.send(frames[0])
    await b.settle()
    dut.garbage.value = 0
    await b.couple()
    for frame in frames[30:]:
        b.near.send(frame)
    await b.settle()
    between = frames[10:30] if policy == BYPASS else []
    assert b.to_far.frames == [Sent(frame) for frame in [*treated[:10], *between, *treated[30:]]]
    assert b.to_near.frames == [Sent(frame) for frame in between]
    assert b.to_host.frames == []
    passed = 40 if policy == BYPASS else 0
    assert await b.read("FRAMES_BYPASSED") == passed
    assert await b.read("BYTES_BYPASSED") == passed * 106
    assert await b.read("FRAMES_DROPPED") == 41 - passed
    assert await b.read("BYTES_DROPPED") == (41 - passed) * 106


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(kind=["garbage", "absent"])
async def garbage_stays_inside(dut: Any, kind: str) -> None:
    """An unconfigured slot toggles everything, or is X: no beat leaves, and all registers read 0xdeaddead."""
    b = await board(dut)
    await b.couple()
    await b.write("SLOT_CONTROL", HOLD | DECOUPLE | CSR_DECOUPLE | RESET)
    getattr(dut, kind).value = 1
    chance = random.Random(4)
    b.near.send(numbered(1, 300))
    for _ in range(100):
        dut.noise.value = chance.getrandbits(64)
        await FallingEdge(dut.clk)
        assert dut.slot_s_axis_tvalid.value == 0
    for _ in range(10):
        dut.noise.value = chance.getrandbits(64)
        assert await b.csr.read(SLOT + 4 * chance.randrange(32)) == DEAD
        assert not await b.read("SLOT_STATUS") & BUSY
    assert b.to_near.frames == b.to_far.frames == b.to_host.frames == []
    getattr(dut, kind).value = 0
    await b.couple()
    await b.settle()
    assert b.to_far.frames == [Sent(numbered(1, 300))]  # it waited at the port


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def stuck_slot(dut: Any) -> None:
    """A slot that stops within frames: the drain times out, and every incomplete frame at the ports is marked bad."""
    b = await board(dut)
    await b.couple()
    await b.write("DRAIN_TIMEOUT_US", 50)
    for trial in range(20):
        before = len(b.to_far.frames)
        for n in range(6):
            b.near.send(numbered(n, 1000))
        while not b.to_far.in_frame:
            await FallingEdge(dut.clk)
        await ClockCycles(dut.clk, trial * 5)
        dut.stuck.value = 1
        await ClockCycles(dut.clk, 20)
        cut_off = b.to_far.in_frame
        await b.write("SLOT_CONTROL", HOLD)
        await b.until(TIMED_OUT)
        assert not await b.read("SLOT_STATUS") & DRAINED
        assert await b.csr.read(SLOT) == DEAD
        assert await b.read("SLOT_STATUS") & CSR_TIMEOUT
        await b.write("SLOT_CONTROL", HOLD | DECOUPLE | CSR_DECOUPLE | RESET)
        await ClockCycles(dut.clk, 200)
        assert not b.to_far.in_frame
        assert not await b.read("SLOT_STATUS") & CSR_TIMEOUT
        dut.stuck.value = 0
        await b.couple()
        await b.settle()
        seen = b.to_far.frames[before:]
        bad = [sent for sent in seen if sent.user]
        assert len(bad) == cut_off
        assert all(sent.frame in [numbered(n, 1000) for n in range(6)] for sent in seen if not sent.user)
        assert seen[-1] == Sent(numbered(5, 1000))
    frames = {name: await b.read(f"FRAMES_{name}") for name in ("IN", "OUT", "DROPPED", "ABORTED")}
    assert frames["IN"] + frames["DROPPED"] == 6 * 20
    assert frames["ABORTED"] == sum(1 for sent in b.to_far.frames if sent.user) > 10
    assert frames["OUT"] + frames["ABORTED"] == len(b.to_far.frames)
    assert frames["DROPPED"] > 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def frame_cut_by_a_load(dut: Any) -> None:
    """A frame that arrives half before and half after a load does not reach the new module as a frame."""
    b = await board(dut)
    await b.couple()
    idle = b.near.idle = Pausing(dut.clk)
    b.near.send(numbered(1, 800))
    await idle.after(50)
    await b.write("SLOT_CONTROL", HOLD)
    assert not await b.read("SLOT_STATUS") & (HELD | DRAINED)
    await b.write("DRAIN_TIMEOUT_US", 20)
    await b.until(TIMED_OUT)
    await b.write("SLOT_CONTROL", HOLD | DECOUPLE | CSR_DECOUPLE | RESET)
    await b.couple()
    idle.pauses = False
    b.near.send(numbered(2, 90))
    await b.settle()
    assert b.to_far.frames == [Sent(numbered(2, 90))]
    assert await b.read("FRAMES_DROPPED") == 1
    assert await b.read("FRAMES_IN") == await b.read("FRAMES_OUT") == 1


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def metadata(dut: Any) -> None:
    b = await board(dut)
    await b.couple()
    await b.write("METADATA_MASK", 0x0FF0)
    values = [0x0010, 0x0550, 0x0FF0, 0x0000]
    for n, value in enumerate(values):
        await b.write(f"METADATA_VALUE_{n}", value)
        assert await b.read(f"METADATA_VALUE_{n}") == value
    expected = []
    for frame_class in (0, 1, 2, 3, 4, 255):
        dut.frame_class.value = frame_class
        for mac in ("020e00071234", "020f00071234", "030e00071234"):
            frame = bytes.fromhex(mac) + numbered(frame_class, 40)
            b.near.send(frame)
            if mac.startswith("020e") and frame_class < 4:
                frame = frame[:4] + ((0x1234 & ~0x0FF0) | values[frame_class]).to_bytes(2, "big") + frame[6:]
            expected.append(Sent(frame))
        b.near.send(b"\x02\x0e\0\7\x12")  # too short to contain the word
        expected.append(Sent(b"\x02\x0e\0\7\x12"))
        await b.settle()
    assert b.to_far.frames == expected
