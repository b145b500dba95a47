# SPDX-License-Identifier: Apache-2.0
"""SQL injection detector against its golden model."""

from __future__ import annotations

import random
from typing import Any

import cocotb

from model.packet import FRAME_BYTES_MAX
from model.random_frames import with_tag
from model.sqli_detector import PATTERNS, SqliDetector
from rtl.nf_sqli_detector.generator.expression import parse as parse_expression
from tb.common.axis import Sent, seldom
from tb.common.frames import ACK, OVERSIZE_BYTES, RandomFrames, overlong, tcp, udp
from tb.common.slot import Slot
from tb.common.slot_host import CLEAR, ENABLE
from tb.sqli_detector.attacks import example, near
from tb.sqli_detector.detector import A, B, Detector, prepared

NODES = [parse_expression(pattern.expression) for pattern in PATTERNS]


async def detector(dut: Any, model: SqliDetector, **ends: Any) -> Detector:
    return await prepared(Slot(dut, **ends), model)


@cocotb.test()
async def registers_and_disabled(dut: Any) -> None:
    slot = Slot(dut)
    await slot.start()
    assert await slot.read("ID") == int.from_bytes(b"SQL1", "big")
    assert [await slot.read("PORT", n) for n in range(4)] == [80, 0, 0, 0]
    frames = [tcp(A, B, 1, 80, ACK, b"1;drop table x"), b"\x01" * 9, b"\x02" * 2048, b"\x03" * 2049, bytes(14)]
    for frame in frames:
        slot.source.send(frame, 2)
    await slot.settle()
    assert slot.sink.frames == [Sent(frame, 2) for frame in frames if len(frame) <= FRAME_BYTES_MAX]
    await slot.check_counters(5, 4, {}, 1)
    assert await slot.read("EVENT_COUNT") == 0


@cocotb.test()
async def every_pattern(dut: Any) -> None:
    """Each pattern with a text that matches and one that almost does; events beyond the FIFO's 16 count as lost."""
    d = await detector(dut, SqliDetector())
    source = random.Random(3)
    for node in NODES:
        text = example(node, source)
        assert d.send_text(text, user=source.randrange(4)) == 2
        d.send_text(near(text, source))
    await d.check()
    assert all(d.model.pattern_packets)
    assert await d.slot.read("EVENT_LOST") == len(d.model.events) - 16
    assert await d.slot.events() == d.model.events[:16]

    await d.slot.write("CONTROL", ENABLE | CLEAR)
    while await d.slot.read("STATUS") & 2:
        pass
    assert await d.slot.read("PATTERN_PACKETS", 5) == 0
    assert await d.slot.read("EVENT_LOST") == 0


@cocotb.test()
async def what_is_searched(dut: Any) -> None:
    d = await detector(dut, SqliDetector(ports=(80, 8080, 0, 443), drop_attacks=True))
    attack = b"id=1 UNION/**/SELECT"
    for port, outcome in [(80, None), (8080, None), (443, None), (81, 1), (0, 1)]:
        assert d.send_text(attack, port) == outcome
    assert d.send(udp(A, B, 80, 80, attack)) == 1
    assert d.send(tcp(A, B, 80, 5000, ACK, attack)) == 1  # from the port, not to it
    assert d.send_text(attack, options=b"\x01" * 40) is None
    assert d.send_text(attack, fragment=0x2000) is None  # a first fragment
    assert d.send_text(attack, fragment=0x2001) == 1  # a later one
    assert d.send_text(attack[:-1]) == 1
    assert d.send_text(b"t") == 1  # the rest of it: packets are searched individually
    assert d.send_text(b"") == 1
    assert d.send(tcp(A, B, 1, 80, ACK, b"x") + b" union select") == 1  # after the end of the datagram
    assert d.send(bytes(12) + b"\x86\xdd" + attack) == 0
    for words in range(11):
        behind_tag = with_tag(tcp(A, B, 1, 80, ACK, attack, options=b"\x01" * (4 * words)), words)
        assert d.send(behind_tag) is None
        assert d.send(behind_tag[:-1] + b"x") == 1
    assert d.send(with_tag(with_tag(tcp(A, B, 1, 80, ACK, attack)))) == 0
    payload = b"a" * (FRAME_BYTES_MAX - 54 - len(attack)) + attack
    assert d.send_text(payload) is None
    assert d.send_text(payload + b"a") is None
    assert d.send(with_tag(tcp(A, B, 1, 80, ACK, payload[4:]))) is None  # the longest with a tag
    assert d.send(with_tag(tcp(A, B, 1, 80, ACK, payload[4:-1] + b"x"))) == 1
    await d.check()
    assert d.oversize == 1 and d.drops["attack"] == 18
    assert await d.slot.events() == d.model.events[:16]


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def overlong_frames_leave_no_verdict(dut: Any) -> None:
    """Each frame is searched separately, whatever was discarded before it."""
    d = await detector(dut, SqliDetector(drop_attacks=True))
    for n, size in enumerate(OVERSIZE_BYTES):
        attack = tcp(A, B, 1, 80, ACK, b"a" * n + b"1 union select")
        clean = tcp(A, B, 1, 80, ACK, b"a" * n + b"1 union")
        for ahead, frame, outcome in [(attack, clean, 1), (clean, attack, None)]:
            assert d.send(frame) == outcome
            d.send(overlong(ahead, size))
            assert d.send(frame) == outcome
    await d.check()
    assert d.drops == {"attack": 2 * len(OVERSIZE_BYTES)}


@cocotb.test()
@cocotb.parametrize((("seed", "idle", "stall"), [(1, 0.0, 0.0), (2, 0.4, 0.0), (3, 0.0, 0.6)]))
async def random_frames(dut: Any, seed: int, idle: float, stall: float) -> None:
    model = SqliDetector(ports=(80, 443), drop_attacks=seed == 2)
    d = await detector(dut, model, idle=seldom(seed, idle), stall=seldom(seed + 9, stall))
    frames = RandomFrames(seed)
    for _ in range(90):
        text = near(example(frames.random.choice(NODES), frames.random), frames.random)
        mixed = frames.random.random() < 0.4
        d.send(tcp(A, B, 9, 80, ACK, text) if mixed else frames.next(), frames.random.randrange(4))
    await d.check()
    assert len(d.model.events) >= 5
