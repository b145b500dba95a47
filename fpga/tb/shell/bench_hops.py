# SPDX-License-Identifier: Apache-2.0
"""Next hops: which tag a frame leaves with, and that a frame without a next hop goes nowhere and harms no other."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge

from model.slot_exit import SlotExit
from tb.common.axis import Sent, seldom
from tb.shell.host import (
    BYPASS,
    CSR_DECOUPLE,
    DECOUPLE,
    DRAINED,
    HOLD,
    RESET,
    TIMED_OUT,
    Board,
    Pausing,
    board,
    numbered,
)

NONE = 0xFFFF
HOP_REGISTERS = ("HOPS_FORWARD_0", "HOPS_FORWARD_1", "HOPS_RETURN_0", "HOPS_RETURN_1")


def tagged(hop: int, n: int = 1, size: int = 60) -> bytes:
    """Hop tag with metadata word 0x1234, then a unique frame."""
    return bytes.fromhex(f"020e{hop:04x}1234") + numbered(n, size)[6:]


def of_class(frame: bytes, frame_class: int) -> bytes:
    """For a board with `class_in_frame`."""
    return frame[:7] + bytes([frame_class]) + frame[8:]


def drops(b: Board) -> bool:
    """A beat of a frame without a next hop is on its way out."""
    return bool(b.lane.tx_valid.value == 1 and b.lane.tx_drop.value == 1)


async def write_hops(b: Board, forward: tuple[int, ...], back: tuple[int, ...]) -> None:
    words = [hops[n] | hops[n + 1] << 16 for hops in (forward, back) for n in (0, 2)]
    for name, word in zip(HOP_REGISTERS, words, strict=True):
        await b.write(name, word)
        assert await b.read(name) == word


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def nothing_is_written_after_reset(dut: Any) -> None:
    b = await board(dut)
    for name in (*HOP_REGISTERS, "NO_HOP"):
        assert await b.read(name) == 0
    await b.couple()
    await write_hops(b, (1, NONE, 3, 4), (5, 6, 7, 8))
    b.near.send(tagged(0x0700))
    await b.settle()
    assert b.to_far.frames == [Sent(tagged(0x0001))]
    await b.reset()  # as by a full load
    for name in HOP_REGISTERS:
        assert await b.read(name) == 0
    await b.couple()
    for frame_class in (0, 1):
        dut.frame_class.value = frame_class
        b.near.send(tagged(0x0700))
        b.far.send(tagged(0x0700))
        await b.settle()
    assert b.to_far.frames[1:] == b.to_near.frames == [Sent(tagged(0x0700))] * 2
    assert await b.read("NO_HOP") == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def by_direction_and_class(dut: Any) -> None:
    b = await board(dut)
    await b.couple()
    await b.write("HOPS_FORWARD_0", 0x0202_1101)  # class 1, class 0
    await b.write("HOPS_FORWARD_1", 0xFF00_3303)
    await b.write("HOPS_RETURN_0", 0x00FF_8108)
    await b.write("HOPS_RETURN_1", 0xFFFE_0001)
    untagged = [bytes.fromhex(mac) + numbered(2, 60)[6:] for mac in ("020f07001234", "030e07001234", "ffffffffffff")]
    forward = {0: "1101", 1: "0202", 2: "3303", 3: "ff00", 4: "1101", 5: "1101", 131: "1101", 255: "1101"}
    back = {0: "8108", 1: "00ff", 2: "0001", 3: "fffe", 4: "8108", 5: "8108", 131: "8108", 255: "8108"}
    far, near = [], []
    for frame_class in forward:
        dut.frame_class.value = frame_class
        for port in (b.near, b.far):
            for frame in (tagged(0x0700), tagged(0x0000), tagged(0xFFFF), *untagged):
                port.send(frame)
        await b.settle()
        far += [Sent(frame) for frame in [tagged(int(forward[frame_class], 16))] * 3 + untagged]
        near += [Sent(frame) for frame in [tagged(int(back[frame_class], 16))] * 3 + untagged]
    assert b.to_far.frames == far
    assert b.to_near.frames == near
    assert await b.read("NO_HOP") == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def hop_0_is_left_alone_and_hop_ffff_drops(dut: Any) -> None:
    b = await board(dut)
    await b.couple()
    await write_hops(b, (0, NONE, 0x0102, 0), (NONE, 0, 0, 0x0304))
    short = bytes.fromhex("020e070012")  # ends before the metadata word: no tag
    other = numbered(9, 200)
    dropped = 0
    for frame_class, forward, back in ((0, 0x0700, None), (1, None, 0x0700), (2, 0x0102, 0x0700), (3, 0x0700, 0x0304)):
        dut.frame_class.value = frame_class
        before = len(b.to_far.frames), len(b.to_near.frames)
        for frame in (tagged(0x0700, size=300), short, other):
            b.near.send(frame)
            b.far.send(frame)
        await b.settle()
        for sink, skip, hop in zip((b.to_far, b.to_near), before, (forward, back), strict=True):
            expected = [] if hop is None else [tagged(hop, size=300)]
            assert sink.frames[skip:] == [Sent(frame) for frame in [*expected, short, other]]
        dropped += (forward is None) + (back is None)
        assert await b.read("NO_HOP") == dropped
    assert await b.read("FRAMES_OUT") == await b.read("FRAMES_IN") == 24
    assert await b.read("FRAMES_DROPPED") == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def metadata_and_hop_are_written_apart(dut: Any) -> None:
    b = await board(dut)
    await b.couple()
    await b.write("METADATA_MASK", 0x0FF0)
    await b.write("METADATA_VALUE_1", 0x0560)
    await write_hops(b, (0x0101, 0x0202, 0, 0), (0, 0, 0, 0))
    for frame_class in (0, 1, 4):
        dut.frame_class.value = frame_class
        b.near.send(tagged(0x0700))
        await b.settle()
    rest = tagged(0)[6:]
    expected = ("020e01011004", "020e02021564", "020e01011234")  # class 4 keeps its word, not its hop
    assert b.to_far.frames == [Sent(bytes.fromhex(mac) + rest) for mac in expected]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def frames_to_the_host_are_left_alone(dut: Any) -> None:
    b = await board(dut)
    await b.couple()
    await write_hops(b, (NONE,) * 4, (0x0102,) * 4)
    for direction in (0, 1):
        b.host.send(tagged(0x0700), direction)
    await b.settle()
    assert b.to_host.frames == [Sent(tagged(0x0700), direction << 1) for direction in (0, 1)]
    assert await b.read("NO_HOP") == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def frames_round_the_slot_go_as_class_0(dut: Any) -> None:
    b = await board(dut)
    await b.couple()
    await b.write("METADATA_MASK", 0xFFFF)
    await write_hops(b, (0x0102, 2, 3, 4), (NONE, 6, 7, 8))
    dut.class_in_frame.value = 1
    await b.write("SLOT_CONTROL", HOLD | BYPASS)
    await b.until(DRAINED)
    frames = [of_class(tagged(0x0700, n, 60 + 30 * n), n) for n in range(8)]
    other = numbered(77, 100)
    for port in (b.near, b.far):
        for frame in (*frames, other):
            port.send(frame)
    await b.settle()
    # The metadata word is the module's to set: it stays.
    assert b.to_far.frames == [Sent(frame[:2] + b"\x01\x02" + frame[4:]) for frame in frames] + [Sent(other)]
    assert b.to_near.frames == [Sent(other)]
    assert await b.read("NO_HOP") == 8
    assert await b.read("FRAMES_BYPASSED") == 18
    assert await b.read("FRAMES_DROPPED") == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def back_to_back(dut: Any) -> None:
    """Frames with and without a next hop follow each other without a pause, down to one beat each."""
    b = await board(dut)
    await b.couple()
    dut.class_in_frame.value = 1
    await write_hops(b, (0x0101, NONE, 0x0303, NONE), (0, 0, 0, 0))
    expected = []
    for size in (18, 24, 25, 60, 100):
        for n, frame_class in enumerate([0, 1, 2, 3, 1, 1, 0, 0, 3, 2, 1, 0]):
            frame = of_class(tagged(0x0700, 100 * size + n, size), frame_class)
            b.near.send(frame)
            if frame_class in (0, 2):
                expected.append(Sent(frame[:2] + (b"\x01\x01", b"", b"\x03\x03")[frame_class] + frame[4:]))
    for frame_class in (1, 0, 1, 2):  # one beat
        frame = of_class(tagged(0x0700)[:8], frame_class)
        b.near.send(frame)
        if frame_class != 1:
            expected.append(Sent(frame[:2] + (b"\x01\x01", b"", b"\x03\x03")[frame_class] + frame[4:]))
    await b.settle()
    assert b.to_far.frames == expected
    assert await b.read("NO_HOP") == 5 * 6 + 2


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_stalled_port_keeps_what_it_was_given(dut: Any) -> None:
    """Behind a port that takes nothing: a frame whose first beat was seen keeps its hop whole, the next go by the new
    table, and nothing that has a next hop is lost or doubled.
    """
    stalled = True
    b = await board(dut, stall=lambda: stalled)
    await b.couple()
    await write_hops(b, (0x0102, 0, 0, 0), (0, 0, 0, 0))
    first, second, third = (tagged(0x0700, n, 400) for n in range(3))
    for frame in (first, second):
        b.near.send(frame)
    await ClockCycles(dut.clk, 300)
    assert b.to_far.frames == [] and not b.to_far.in_frame
    assert await b.read("FRAMES_OUT") == 0  # the slot waits too
    await write_hops(b, (NONE, 0, 0, 0), (0, 0, 0, 0))
    await ClockCycles(dut.clk, 50)
    assert await b.read("NO_HOP") == 0
    stalled = False
    await b.settle()
    assert b.to_far.frames == [Sent(tagged(0x0102, 0, 400))]
    assert await b.read("NO_HOP") == 1
    stalled = True
    b.near.send(third)
    await ClockCycles(dut.clk, 300)
    assert await b.read("NO_HOP") == 2  # nobody has to take it
    assert await b.read("FRAMES_OUT") == 3
    assert len(b.to_far.frames) == 1


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_first_beat_decides_round_the_slot_too(dut: Any) -> None:
    """The table changes while half of a frame has come."""
    b = await board(dut)
    await b.couple()
    await b.write("SLOT_CONTROL", HOLD | BYPASS)
    await b.until(DRAINED)
    idle = b.near.idle = Pausing(dut.clk)
    expected: list[Sent] = []
    for n, (before, after) in enumerate([(NONE, 0x0102), (0x0102, NONE), (0x0102, 0), (0, NONE), (NONE, 0)]):
        await write_hops(b, (before, 0, 0, 0), (0, 0, 0, 0))
        b.near.send(tagged(0x0700, n, 800))
        await idle.after(50)
        await ClockCycles(dut.clk, 20)
        await write_hops(b, (after, 0, 0, 0), (0, 0, 0, 0))
        idle.pauses = False
        await b.settle()
        if before != NONE:
            expected.append(Sent(tagged(before or 0x0700, n, 800)))
        assert b.to_far.frames == expected
    assert await b.read("NO_HOP") == 2
    assert await b.read("FRAMES_BYPASSED") == 5


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def quiesce_while_frames_are_dropped(dut: Any) -> None:
    """Held at any cycle of a drop, the slot drains, and whatever had entered is counted when it has."""
    b = await board(dut)
    await b.couple()
    dut.class_in_frame.value = 1
    await write_hops(b, (0x0102, NONE, 0, 0), (0, NONE, 0, 0))
    sent, among = 0, 0
    for trial in range(60):
        for _ in range(4):
            frame_class = 0 if sent % 7 == 0 else 1
            (b.near if sent % 3 else b.far).send(of_class(tagged(0x0700, sent, 700), frame_class))
            sent += 1
        await ClockCycles(dut.clk, 100 + 7 * trial)
        among += drops(b)
        await b.write("SLOT_CONTROL", HOLD)
        await b.until(DRAINED)
        assert not await b.read("SLOT_STATUS") & TIMED_OUT
        gone = len(b.to_far.frames) + len(b.to_near.frames) + await b.read("NO_HOP")
        assert await b.read("FRAMES_IN") == await b.read("FRAMES_OUT") == gone
        await b.write("SLOT_CONTROL", HOLD | DECOUPLE | CSR_DECOUPLE | RESET)
        await b.couple()
    await b.settle()
    assert among > 10, "too few were held within a drop"
    passed = {n for n in range(sent) if n % 7 == 0}
    assert [item.frame for item in b.to_far.frames] == [
        of_class(tagged(0x0102, n, 700), 0) for n in sorted(passed) if n % 3
    ]
    assert [item.frame for item in b.to_near.frames] == [
        of_class(tagged(0x0700, n, 700), 0) for n in sorted(passed) if not n % 3
    ]
    assert await b.read("NO_HOP") == sent - len(passed)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def slot_cut_off_while_its_frame_is_dropped(dut: Any) -> None:
    """The rest of the frame goes nowhere either; it counts as aborted alone, and the next frame is not harmed."""
    b = await board(dut)
    await b.couple()
    await b.write("DRAIN_TIMEOUT_US", 20)
    await write_hops(b, (NONE, 0, 0, 0), (0, 0, 0, 0))
    for trial in range(10):
        b.near.send(tagged(0x0700, trial, 1000))
        while not drops(b):
            await FallingEdge(dut.clk)
        await ClockCycles(dut.clk, 5 + 10 * trial)
        dut.stuck.value = 1
        await b.write("SLOT_CONTROL", HOLD)
        await b.until(TIMED_OUT)
        assert not await b.read("SLOT_STATUS") & DRAINED
        await b.write("SLOT_CONTROL", HOLD | DECOUPLE | CSR_DECOUPLE | RESET)
        dut.stuck.value = 0
        await b.couple()
        b.near.send(numbered(trial, 90))
        await b.settle()
        assert b.to_far.frames == [Sent(numbered(n, 90)) for n in range(trial + 1)]
        assert await b.read("FRAMES_ABORTED") == trial + 1
        assert await b.read("NO_HOP") == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def as_the_golden_model(dut: Any) -> None:
    """4,000 frames both ways and of the host, through the slot and round it, with ever new tables and stalls."""
    chance = random.Random(1)
    b = await board(dut, stall=seldom(2, 0.1))
    b.near.idle, b.far.idle = seldom(3, 0.1), seldom(4, 0.1)
    await b.couple()
    dut.class_in_frame.value = 1
    model = SlotExit()
    seen = [0, 0, 0]

    def frame() -> bytes:
        mac = b"\x02\x0e" + chance.randbytes(4)
        if chance.random() < 0.2:
            mac = chance.choice([b"\x02\x0f", b"\x03\x0e", b"\x0e\x02", b"\x00\x00"]) + chance.randbytes(4)
        size = chance.choice([1, 5, 6, 7, 8, 9, 16, 60, chance.randrange(18, 300)])
        return (mac + b"\x02" + bytes([chance.choice([0, 1, 2, 3, 4, 255])]) + chance.randbytes(300))[:size]

    def word() -> int:
        return chance.choice([0, NONE, NONE, chance.getrandbits(16), chance.getrandbits(16), 1, 0xFF00, 0x00FF])

    for turn in range(40):
        model.hops_forward = tuple(word() for _ in range(4))
        model.hops_return = tuple(word() for _ in range(4))
        model.metadata_mask = chance.getrandbits(16)
        model.metadata_values = tuple(chance.getrandbits(16) & model.metadata_mask for _ in range(4))
        await write_hops(b, model.hops_forward, model.hops_return)
        await b.write("METADATA_MASK", model.metadata_mask)
        for n, value in enumerate(model.metadata_values):
            await b.write(f"METADATA_VALUE_{n}", value)
        bypass = turn % 4 == 3
        if bypass:
            await b.write("SLOT_CONTROL", HOLD | BYPASS)
            await b.until(DRAINED)
        expected: list[list[Sent]] = [[], [], []]
        for _ in range(50):
            for port, returns in ((b.near, False), (b.far, True)):
                data = frame()
                port.send(data)
                frame_class = data[7] if len(data) > 7 else 0
                out = (
                    model.bypasses(data, returns=returns)
                    if bypass
                    else model.leaves(data, returns=returns, frame_class=frame_class)
                )
                if out is not None:
                    expected[returns].append(Sent(out))
        if not bypass:
            data, returns = frame(), chance.random() < 0.5
            b.host.send(data, int(returns))
            frame_class = data[7] if len(data) > 7 else 0
            out = model.leaves(data, returns=returns, frame_class=frame_class, to_host=True)
            assert out is not None
            user = frame_class << 2 | returns << 1
            expected[2].append(Sent(out, user))
        await b.settle()
        for n, sink in enumerate((b.to_far, b.to_near, b.to_host)):
            assert sink.frames[seen[n] :] == expected[n]
            seen[n] = len(sink.frames)
        assert await b.read("NO_HOP") == model.no_hop
        if bypass:
            await b.write("SLOT_CONTROL", 0)
    assert model.no_hop > 300
