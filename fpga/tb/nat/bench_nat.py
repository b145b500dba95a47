# SPDX-License-Identifier: Apache-2.0
"""NAT against its golden model. The bench plays the host: it answers misses with translations."""

from __future__ import annotations

import random as stdlib_random
from collections import defaultdict
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from model import compared
from model.nat import End, Nat, rewrite
from model.packet import FRAME_BYTES_MAX, ICMP, TCP, UDP, parse
from model.random_frames import with_tag
from tb.common.axis import Sent, seldom
from tb.common.frames import ACK, OVERSIZE_BYTES, SYN, RandomFrames, checksum, icmp, overlong, tcp, udp
from tb.common.slot import CLEAR, DELETE, ENABLE, FIND, FULL, PUT, READ, VALID, Slot
from tb.nat.translator import IN, MS_PER_S, OUT, PUBLIC, Translator, translator


def sums_hold(frame: bytes) -> bool:
    """Whether the IPv4 and transport checksums are correct (RFC 1071)."""
    headers = parse(frame)
    l3, l4 = headers.l3_offset, headers.l4_offset
    end = l3 + headers.ip_bytes
    pseudo = frame[l3 + 12 : l3 + 20] + bytes([0, headers.protocol]) + (end - l4).to_bytes(2, "big")
    return checksum(frame[l3:l4]) == 0 and checksum((b"" if headers.protocol == ICMP else pseudo) + frame[l4:end]) == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def disabled_and_refused(dut: Any) -> None:
    slot = Slot(dut)
    await slot.start()
    assert await slot.read("ID") == int.from_bytes(b"NAT1", "big")
    slot.source.send(tcp(IN, OUT, 1, 2, SYN), 2)
    await slot.settle()
    assert slot.sink.frames == [Sent(tcp(IN, OUT, 1, 2, SYN), 2)]
    await slot.write("CONTROL", ENABLE | CLEAR)
    slot.sink.frames.clear()
    t = Translator(slot)
    for frame, direction, reason in [
        (tcp(IN, OUT, 1, 2, SYN)[:50], 0, "malformed"),
        (tcp(OUT, PUBLIC, 2, 1, SYN), 1, "no-translation"),
        (udp(IN, OUT, 1, 2, b"x" * 16, fragment=0x0002), 0, "unsupported"),
        (icmp(IN, OUT, 3, 0, bytes(28)), 0, "unsupported"),
        (icmp(IN, OUT, 0, 7), 0, "unsupported"),
        (icmp(OUT, PUBLIC, 8, 7), 1, "unsupported"),
        (b"\x02" * 60, 0, None),
    ]:
        assert t.send(frame, direction).drop_reason == reason
    await t.check()


def udp_sum_after(frame: bytes) -> int:
    """Checksum of a packet from IN:1000 after its translation to PUBLIC:0xffed."""
    result = rewrite(frame, parse(frame), End(IN, 1000), End(PUBLIC, 0xFFFE - UDP), 0)
    return int.from_bytes(result[40:42], "big")


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def both_ways(dut: Any) -> None:
    """Every protocol, option length and checksum case, tagged or not, out and back; checksums must be correct
    afterwards.
    """
    t = await translator(dut)
    for protocol in (TCP, UDP, ICMP):
        await t.put(protocol, End(IN, 1000), End(PUBLIC, 0xFFFE - protocol))
    for words in range(11):
        for size in (0, 1, 37):
            ip = {"options": bytes([1] * (4 * words))}
            payload = stdlib_random.Random(words * 50 + size).randbytes(size)
            forward = [
                tcp(IN, OUT, 1000, 80, ACK, payload, **ip),
                udp(IN, OUT, 1000, 53, payload, **ip),
                icmp(IN, OUT, 8, 1000, payload, **ip),
            ]
            back = [
                tcp(OUT, PUBLIC, 80, 0xFFFE - TCP, ACK, payload, **ip),
                udp(OUT, PUBLIC, 53, 0xFFFE - UDP, payload, **ip),
                icmp(OUT, PUBLIC, 0, 0xFFFE - ICMP, payload, **ip),
            ]
            for frame in forward:
                result = t.send(frame).frame
                assert sums_hold(result) and parse(result).src_ip == PUBLIC
                assert t.send(with_tag(frame, size)).frame == with_tag(result, size)
            for frame in back:
                result = t.send(frame, 1).frame
                assert sums_hold(result) and parse(result).dst_ip == IN
                assert t.send(with_tag(frame, size), 1).frame == with_tag(result, size)
    unsummed = udp(IN, OUT, 1000, 53, b"abc", summed=False)
    assert parse(t.send(unsummed).frame).transport_checksum == 0
    frame = udp(IN, OUT, 1000, 53, b"abcd")
    for summed in (bytes([n, n]) for n in range(1, 256)):  # a sum of 0 is sent as all ones (RFC 768)
        t.send(frame[:40] + summed + frame[42:])
    fields = [n.to_bytes(2, "big") for n in range(1, 65536)]
    to_zero = [field for field in fields if udp_sum_after(frame[:40] + field + frame[42:]) == 0xFFFF]
    assert to_zero
    for field in to_zero:
        t.send(frame[:40] + field + frame[42:])
    await t.check()
    assert await t.slot.read("TRANSLATED_FORWARD") == 33 * 6 + 1 + 255 + len(to_zero)
    assert await t.slot.read("TRANSLATED_RETURN") == 33 * 6


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def overlong_frames_leave_no_verdict(dut: Any) -> None:
    """Each frame is treated by its own headers, whatever was discarded before it."""
    t = await translator(dut)
    await t.put(UDP, End(IN, 7), End(PUBLIC, 1007))
    await t.put(TCP, End(IN, 7), End(PUBLIC, 2007))
    for n, size in enumerate(OVERSIZE_BYTES):
        frames = [udp(IN, OUT, 7, 53, b"x" * n), tcp(IN, OUT, 7, 80, ACK, b"y" * n), icmp(IN, OUT, 0, 7, b"z" * n)]
        for ahead, frame in zip(frames, [frames[-1], *frames], strict=False):
            t.send(frame)
            t.send(overlong(ahead, size))
            t.send(frame)
    await t.check()
    assert t.drops == {"unsupported": 2 * len(OVERSIZE_BYTES)} and not t.model.waiting


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize((("idle", "stall"), [(0.0, 0.0), (0.3, 0.5)]))
async def random_frames(dut: Any, idle: float, stall: float) -> None:
    frames = RandomFrames(int(100 * stall), hosts=3, ports=3)
    sent = [(frames.next(), frames.random.randrange(4) == 0) for _ in range(300)]
    await answered_late(dut, sent, idle=seldom(1, idle), stall=seldom(2, stall))


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(seed=compared.SEEDS)
async def what_software_was_compared_on(dut: Any, seed: int) -> None:
    records = compared.traffic(seed)[: compared.RTL_FRAMES]
    await answered_late(dut, [(frame, bool(back)) for _, back, frame in records])


async def answered_late(dut: Any, sent: list[tuple[bytes, bool]], **ends: Any) -> None:
    """Traffic with a host that answers late: frames match the model, in the order of their flow."""
    slot = Slot(dut, **ends)
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    model = Nat()
    chance = stdlib_random.Random(len(sent))
    for frame, back in sent:
        slot.source.send(frame, int(back))
    answered = 0
    while True:
        for event in await slot.events():
            src, _, ports, protocol = event[1:5]
            inside, outside = End(src, ports >> 16), End(PUBLIC, 40000 + answered)
            assert model.put(protocol, inside, outside), "a second miss of a flow that was answered"
            answered += 1
            await ClockCycles(dut.clk, chance.randrange(200))
            entry = [inside.address, outside.address, inside.port << 16 | outside.port, protocol, 0, 0, 0, 0]
            assert (await slot.table(PUT, entry=entry))[0] & VALID
        if not slot.source.waiting and await slot.read("MISSES_WAITING") == 0:
            await slot.settle()
            if await slot.read("EVENT_COUNT") == 0:
                break
    drops = [await slot.read("DROPS", n) for n in range(4)]
    oversize = sum(1 for frame, _ in sent if len(frame) > FRAME_BYTES_MAX)
    assert await slot.read("FRAMES_IN") == len(sent)
    assert await slot.read("FRAMES_OUT") == len(slot.sink.frames) == len(sent) - sum(drops) - oversize
    assert await slot.read("OVERSIZE") == oversize

    # With all translations known, the model says what each frame becomes. A flow may lack frames that met a full buffer
    # or returned before the translation, but the others are in order.
    expected: dict[tuple[int, bytes], list[bytes]] = defaultdict(list)
    untranslated = 0
    for frame, back in sent:
        if len(frame) > FRAME_BYTES_MAX:
            continue
        verdict = model.process(frame, int(back))
        untranslated += verdict.waits or verdict.drop_reason in ("no-translation", "miss-buffer-full")
        if verdict.frame:
            expected[int(back), inside_of(verdict.frame)].append(verdict.frame)
    seen: dict[tuple[int, bytes], list[bytes]] = defaultdict(list)
    for out in slot.sink.frames:
        seen[out.user, inside_of(out.frame)].append(out.frame)
    for flow, out_frames in seen.items():
        rest = iter(expected[flow])
        assert all(frame in rest for frame in out_frames), flow  # a subsequence
    missing = sum(map(len, expected.values())) - len(slot.sink.frames)
    assert missing == drops[0] + drops[1] - untranslated
    assert answered >= 8 and len(slot.sink.frames) > 100


def inside_of(frame: bytes) -> bytes:
    """What frames of one flow and direction have in common."""
    headers = parse(frame)
    return b"%d %d %d %d %d" % (
        headers.protocol,
        headers.src_ip,
        headers.src_port,
        headers.dst_ip if headers.src_ip >> 16 == PUBLIC >> 16 else headers.dst_port,
        headers.icmp_id,
    )


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def pace(dut: Any) -> None:
    """At 100 MHz: 60-byte frames at the rate of two 1 Gb/s ports (1.49 Mpps each)."""
    t = await translator(dut)
    await t.put(UDP, End(IN, 1), End(PUBLIC, 2))
    latency, gap = await t.slot.pace(udp(IN, OUT, 1, 2, bytes(18)))
    assert latency < 60 and gap < 100 / (2 * 1.49)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def translations_move(dut: Any) -> None:
    t = await translator(dut)
    for n in range(12):
        await t.put(TCP, End(IN, n), End(PUBLIC, 2000 + n), idle_s=n)
    assert (await t.put(TCP, End(IN, 3), End(PUBLIC, 9))) & FULL  # has another partner
    assert (await t.put(TCP, End(IN, 99), End(PUBLIC, 2003))) & FULL
    await t.put(TCP, End(IN, 3), End(PUBLIC, 2003), idle_s=3)  # the same again
    await t.pass_ms(2 * MS_PER_S)
    t.send(tcp(OUT, PUBLIC, 80, 2005, ACK), 1)
    await t.slot.settle()
    await t.pass_ms(MS_PER_S)
    entries = []
    for index, way in enumerate(t.model.inside.ways):
        if way is not None:
            status, entry = await t.slot.table(READ, index)
            port = int.from_bytes(way.key[4:6], "big")
            idle_s = 1 if port == 5 else port + 3
            assert status & VALID and status >> 16 == 12
            assert entry == [IN, PUBLIC, port << 16 | (2000 + port), TCP, 0, 0, 0, idle_s]
            entries.append(entry)
    assert len(entries) == 12
    await t.slot.write("CONTROL", ENABLE | CLEAR)
    while await t.slot.read("STATUS") & 2:
        pass
    assert (await t.slot.table(FIND, entry=entries[0]))[0] == 0
    for entry in entries:
        assert (await t.slot.table(PUT, entry=entry))[0] & VALID
    assert (await t.slot.table(FIND, entry=[*entries[4][:1], 0, entries[4][2], TCP, 0, 0, 0, 0]))[1] == entries[4]
    port = entries[6][2] >> 16
    assert (await t.slot.table(DELETE, entry=entries[6]))[0] & VALID
    assert t.model.delete(TCP, End(IN, port))
    assert not (await t.slot.table(DELETE, entry=entries[6]))[0] & VALID
    t.sent = 0
    t.slot.sink.frames.clear()
    t.expected.clear()
    for n in range(12):
        t.send(tcp(IN, OUT, n, 80, ACK))
        t.send(tcp(OUT, PUBLIC, 80, 2000 + n, ACK), 1)
    assert t.drops == {"no-translation": 1} and len(t.model.waiting) == 1
    await t.check()
