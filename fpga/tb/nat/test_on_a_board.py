# SPDX-License-Identifier: Apache-2.0
"""NAT as boards run it: against its golden model, and frames that wait for a translation in whichever cycle something
else happens. That takes too many cycles for Icarus.
"""

from __future__ import annotations

import random as stdlib_random

import pytest

from model import compared
from model.nat import End, rewrite
from model.packet import ICMP, TCP, UDP, parse
from model.random_frames import with_tag
from tb.common.frames import ACK, OVERSIZE_BYTES, checksum, icmp, tcp, udp
from tb.common.slot_host import CLEAR, DELETE, ENABLE, PUT, VALID
from tb.common.verilated_bench import BOARD_US_PER_MS, VerilatedBench, as_boards_run_it
from tb.nat.late_host import answered_late
from tb.nat.stale import clears_during_a_miss, overlong_frames_leave_no_verdict
from tb.nat.translator import IN, OUT, PUBLIC, on_a_board


def sums_hold(frame: bytes) -> bool:
    """Whether the IPv4 and transport checksums are correct (RFC 1071)."""
    headers = parse(frame)
    l3, l4 = headers.l3_offset, headers.l4_offset
    end = l3 + headers.ip_bytes
    pseudo = frame[l3 + 12 : l3 + 20] + bytes([0, headers.protocol]) + (end - l4).to_bytes(2, "big")
    return checksum(frame[l3:l4]) == 0 and checksum((b"" if headers.protocol == ICMP else pseudo) + frame[l4:end]) == 0


@as_boards_run_it
async def test_both_ways() -> None:
    """Every protocol, option length and checksum case, tagged or not, out and back; checksums must be correct
    afterwards.
    """
    t = await on_a_board()
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


def udp_sum_after(frame: bytes) -> int:
    """Checksum of a packet from IN:1000 after its translation to PUBLIC:0xffed."""
    result = rewrite(frame, parse(frame), End(IN, 1000), End(PUBLIC, 0xFFFE - UDP), 0)
    return int.from_bytes(result[40:42], "big")


@as_boards_run_it
async def test_overlong_frames_leave_no_verdict() -> None:
    await overlong_frames_leave_no_verdict(await on_a_board(), OVERSIZE_BYTES)


@pytest.mark.parametrize("seed", compared.SEEDS)
@as_boards_run_it
async def test_what_software_was_compared_on(seed: int) -> None:
    records = compared.traffic(seed)[: compared.RTL_FRAMES]
    await answered_late(VerilatedBench("nf_nat"), [(frame, bool(back)) for _, back, frame in records])


@as_boards_run_it
async def test_clear_at_any_time() -> None:
    await clears_during_a_miss(await on_a_board(), range(12, 22))


@as_boards_run_it
async def test_board_time() -> None:
    """A frame waits as many milliseconds as it may."""
    t = await on_a_board()
    await t.slot.write("MISS_TIMEOUT_MS", 3)
    assert t.send(udp(IN, OUT, 2, 53)).waits
    for ended in (False, False, False, True):
        await t.pass_ms(1, timeout_ms=3)
        await t.check()
        assert (t.drops["no-translation"] == 1) == ended


@as_boards_run_it
async def test_order_of_a_flow() -> None:
    """Frames of a flow that arrive while its first ones are being released stay behind them, and none is lost."""
    chance = stdlib_random.Random(8)
    idle_share = 0.0
    slot = VerilatedBench("nf_nat", idle=lambda: chance.random() < idle_share)
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    for port in range(30):
        idle_share = 0.7 + 0.2 * (port % 3) / 2
        slot.sink.frames.clear()
        payloads = [bytes([n]) * 40 for n in range(24)]
        before = await slot.read("DROPS", 0)
        for payload in payloads:
            slot.source.send(udp(IN, OUT, port, 53, payload))
        while await slot.read("EVENT_COUNT") == 0:
            pass
        await slot.cycles(chance.randrange(60))
        entry = [IN, PUBLIC, port << 16 | port, UDP, 0, 0, 0, 0]
        assert (await slot.table(PUT, entry=entry))[0] & VALID
        assert len(await slot.events()) == 1
        await slot.settle()
        lost = await slot.read("DROPS", 0) - before
        seen = [out.frame[42:] for out in slot.sink.frames]
        assert seen == sorted(seen) and len(seen) == len(payloads) - lost
        assert lost <= len(payloads) - 9


@as_boards_run_it
async def test_delete_is_no_refusal() -> None:
    """A delete that finds a translation drops no frame, in whichever cycle the frame arrives."""
    slot = VerilatedBench("nf_nat")
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    entry = [IN, PUBLIC, 1 << 16 | 1, UDP, 0, 0, 0, 0]
    waited = 0
    for delay in range(80):
        assert (await slot.table(PUT, entry=entry))[0] & VALID
        slot.source.send(udp(IN, OUT, 1, 53, bytes([delay])), after=40 + delay)
        assert (await slot.table(DELETE, entry=entry))[0] & VALID
        await slot.settle()
        waited += await slot.read("MISSES_WAITING")
        assert (await slot.table(PUT, entry=entry))[0] & VALID
        await slot.settle()
        assert await slot.read("FRAMES_OUT") == delay + 1
    assert 8 < waited < 72, "frames came before the delete and after it"
    assert len(await slot.events()) + await slot.read("EVENT_LOST") == waited


@as_boards_run_it
async def test_timeout_is_no_answer() -> None:
    """A frame that arrives while an older one of its flow is leaving for lack of an answer waits for its own."""
    slot = VerilatedBench("nf_nat")
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    await slot.write("MISS_TIMEOUT_MS", 2)
    asked = []
    for delay in range(60):
        flow = [udp(IN, OUT, delay, 53, bytes([n])) for n in range(3)]
        slot.source.send(flow[0])
        await slot.settle()
        await slot.pass_us(2 * BOARD_US_PER_MS)
        slot.source.send(flow[1])
        await slot.settle()
        await slot.pass_us(BOARD_US_PER_MS - 1)
        slot.source.send(flow[2])
        await slot.cycles(delay)
        await slot.pass_us(1)
        await slot.cycles(120)
        await slot.settle()
        assert await slot.read("MISSES_WAITING") == 2
        assert (await slot.table(PUT, entry=[IN, PUBLIC, delay << 16 | delay, UDP, 0, 0, 0, 0]))[0] & VALID
        await slot.settle()
        assert [out.frame[42:43] for out in slot.sink.frames[2 * delay :]] == [b"\1", b"\2"]
        assert await slot.read("DROPS", 1) == delay + 1
        asked.append(len(await slot.events()))
    assert asked[0] == 2 and asked[-1] == 1, "the frame asks if the one that asked has almost left"


@as_boards_run_it
async def test_answer_is_for_the_flow() -> None:
    """A frame that arrives exactly when its flow is answered asks, or finds no place, only if a frame on its own would
    also have been too early for the translation. The flow's question is forgotten, or it uses all its places.
    """
    slot = VerilatedBench("nf_nat")
    await slot.start()
    await slot.write("CONTROL", ENABLE)

    async def fate(port: int, delay: int) -> tuple[int, int]:
        """Events and drops for a frame that arrives this many cycles after the put begins."""
        await slot.settle()
        await slot.events()
        before = await slot.read("DROPS", 0)
        slot.source.send(udp(IN, OUT, port, 53), after=delay)
        assert (await slot.table(PUT, entry=[IN, PUBLIC, port << 16 | port, UDP, 0, 0, 0, 0]))[0] & VALID
        await slot.settle()
        return len(await slot.events()), await slot.read("DROPS", 0) - before

    fates = set()
    for first in range(20, 104, 7):
        delays = range(first, first + 7)
        for delay in delays:
            slot.source.send(udp(IN, OUT, delay, 53))
        await slot.settle()
        await slot.write("CONTROL", ENABLE | CLEAR)
        while await slot.read("STATUS") & 2:
            pass
        forgotten = [await fate(delay, delay) for delay in delays]
        alone = [await fate(1000 + delay, delay) for delay in delays]
        crowded = []
        for delay in delays:
            for _ in range(4):
                slot.source.send(udp(IN, OUT, 2000 + delay, 53))
            crowded.append(await fate(2000 + delay, delay))
        assert forgotten == alone
        assert crowded == [(0, asks) for asks, _ in alone]
        fates |= set(alone)
    assert fates == {(0, 0), (1, 0)}
