# SPDX-License-Identifier: Apache-2.0
"""NAT against its golden model. The bench is the host: it answers misses with translations."""

from __future__ import annotations

import random as stdlib_random
from collections import Counter, defaultdict
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from model import compared
from model.nat import End, Nat, rewrite
from model.packet import FRAME_BYTES_MAX, ICMP, TCP, UDP, parse
from model.random_frames import with_tag
from model.verdict import Verdict
from tb.common.axis import Sent, seldom
from tb.common.frames import ACK, OVERSIZE_BYTES, SYN, RandomFrames, checksum, icmp, overlong, tcp, udp
from tb.common.slot import CLEAR, DELETE, ENABLE, FIND, FULL, PUT, READ, VALID, Slot

US_PER_MS, MS_PER_S = 2, 5  # the bench's parameters
IN, OUT, PUBLIC = 0x0A000001, 0xC0000201, 0xC6120001


class Translator:
    """Module and model side by side, one step at a time."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.model = Nat()
        self.now_ms = 0
        self.expected: list[Sent] = []
        self.drops: Counter[str] = Counter()
        self.sent = self.oversize = 0

    @property
    def now_s(self) -> int:
        return self.now_ms // MS_PER_S

    def _take(self, verdict: Verdict, user: int) -> None:
        if verdict.drop_reason:
            self.drops[verdict.drop_reason] += 1
        elif not verdict.waits:
            self.expected.append(Sent(verdict.frame, user))

    def send(self, frame: bytes, direction: int = 0) -> Verdict:
        self.slot.source.send(frame, direction)
        self.sent += 1
        if len(frame) > FRAME_BYTES_MAX:
            self.oversize += 1
            return Verdict()
        verdict = self.model.process(frame, direction, self.now_s, self.now_ms)
        self._take(verdict, direction)
        return verdict

    async def put(self, protocol: int, inside: End, outside: End, idle_s: int = 0) -> int:
        await self.slot.settle()
        entry = [inside.address, outside.address, inside.port << 16 | outside.port, protocol, 0, 0, 0, idle_s]
        status, _ = await self.slot.table(PUT, entry=entry)
        if self.model.put(protocol, inside, outside, self.now_s, idle_s):
            assert status & VALID and not status & FULL
            for verdict in self.model.release(protocol, inside, self.now_s):
                self._take(verdict, 0)
        else:
            assert status & FULL and not status & VALID
        return status

    async def delete(self, protocol: int, inside: End) -> bool:
        """Where there is nothing to delete the frames that wait are refused."""
        await self.slot.settle()
        entry = [inside.address, 0, inside.port << 16, protocol, 0, 0, 0, 0]
        status, _ = await self.slot.table(DELETE, entry=entry)
        found = self.model.delete(protocol, inside, self.now_s)
        assert bool(status & VALID) == found
        if not found:
            for verdict in self.model.release(protocol, inside, self.now_s):
                self._take(verdict, 0)
        return found

    async def pass_ms(self, ms: int, timeout_ms: int = 1000) -> None:
        await self.slot.settle()
        await self.slot.pass_us(ms * US_PER_MS)
        self.now_ms += ms
        for verdict in self.model.expire(self.now_ms, timeout_ms, self.now_s):
            self._take(verdict, 0)
        await ClockCycles(self.slot.clk, 40)

    async def check(self) -> None:
        await self.slot.settle()
        assert self.slot.sink.frames == self.expected
        waiting = len(self.model.waiting)
        assert await self.slot.read("MISSES_WAITING") == waiting
        await self.slot.check_counters(self.sent - waiting, len(self.expected), self.drops, self.oversize, waiting)

    async def check_events(self) -> None:
        assert await self.slot.events() == [[1, *words, 0, 0, 0] for words in self.model.events]
        self.model.events.clear()


async def translator(dut: Any, **ends: Any) -> Translator:
    slot = Slot(dut, **ends)
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    return Translator(slot)


def sums_hold(frame: bytes) -> bool:
    """Whether the IPv4 and transport checksums are right (RFC 1071)."""
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
    """Every protocol, option length and checksum case, tagged or not, out and back; the checksums are right then."""
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
    for summed in (bytes([n, n]) for n in range(1, 256)):  # a sum that comes out as 0 is sent as all ones (RFC 768)
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
    """Each frame is treated by its own headers, whatever was discarded ahead of it."""
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


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def misses_wait(dut: Any) -> None:
    t = await translator(dut)
    await t.put(UDP, End(IN, 7), End(PUBLIC, 7))
    first = [tcp(IN, OUT, 1, 80, SYN, bytes([n] * (n * 240))) for n in range(3)]
    second = [tcp(IN, OUT, 2, 80, SYN, bytes([n])) for n in range(3)]
    for a, b in zip(first, second, strict=True):
        assert t.send(a).waits and t.send(b).waits
        assert not t.send(udp(IN, OUT, 7, 9)).waits  # other flows go on
    await t.check()
    assert len(t.model.events) == 2
    await t.check_events()
    await t.put(TCP, End(IN, 2), End(PUBLIC, 5002))
    await t.check()
    assert not t.send(second[0]).waits
    assert t.send(first[0]).waits
    for n in range(4):
        assert t.send(icmp(IN, OUT, 8, n)).waits
    assert t.send(icmp(IN, OUT, 8, 4)).drop_reason == "miss-buffer-full"
    assert t.send(first[0]).drop_reason == "miss-buffer-full"
    assert not t.send(udp(IN, OUT, 7, 9)).waits
    await t.check()
    await t.put(ICMP, End(IN, 3), End(PUBLIC, 9))
    await t.put(TCP, End(IN, 1), End(PUBLIC, 1))
    await t.put(ICMP, End(IN, 0), End(PUBLIC, 8))
    await t.check()
    await t.check_events()
    assert t.drops == {"miss-buffer-full": 2} and len(t.model.waiting) == 2


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def clear_at_any_time(dut: Any) -> None:
    """A clear within a miss, whatever the cycle, leaves a module that goes on."""
    t = await translator(dut)
    await t.slot.write("MISS_TIMEOUT_MS", 3)
    for delay in range(12, 22):
        t.slot.source.send(udp(IN, OUT, delay, 53))
        await ClockCycles(dut.clk, delay)
        await t.slot.write("CONTROL", ENABLE | CLEAR)
        await t.slot.settle()
        await t.slot.pass_us(5 * US_PER_MS)
        await ClockCycles(dut.clk, 60)
        assert await t.slot.read("MISSES_WAITING") == 0
    await t.slot.write("CONTROL", ENABLE | CLEAR)
    await t.put(UDP, End(IN, 1), End(PUBLIC, 1))
    t.send(udp(IN, OUT, 1, 53))
    await t.check()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def order_of_a_flow(dut: Any) -> None:
    """Frames of a flow that come while its first ones wait and are released stay behind them, and none is lost."""
    chance = stdlib_random.Random(8)
    idle_share = 0.0
    slot = Slot(dut, idle=lambda: chance.random() < idle_share)
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
        await ClockCycles(dut.clk, chance.randrange(60))
        entry = [IN, PUBLIC, port << 16 | port, UDP, 0, 0, 0, 0]
        assert (await slot.table(PUT, entry=entry))[0] & VALID
        assert len(await slot.events()) == 1
        await slot.settle()
        lost = await slot.read("DROPS", 0) - before
        seen = [out.frame[42:] for out in slot.sink.frames]
        assert seen == sorted(seen) and len(seen) == len(payloads) - lost
        assert lost <= len(payloads) - 9


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def waiting_ends(dut: Any) -> None:
    """A host that never answers costs the frame, not the buffer."""
    t = await translator(dut)
    await t.slot.write("MISS_TIMEOUT_MS", 10)
    for n in range(8):
        t.send(icmp(IN, OUT, 8, n))
        await t.pass_ms(2, timeout_ms=10)
    await t.pass_ms(6, timeout_ms=10)
    await t.check()
    assert 0 < t.drops["no-translation"] < 8
    await t.pass_ms(20, timeout_ms=10)
    await t.check()
    assert t.drops["no-translation"] == 8


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def asks_again(dut: Any) -> None:
    """A flow whose event is lost or never answered asks again once the frame that asked is gone, though others wait."""
    t = await translator(dut)
    await t.slot.write("MISS_TIMEOUT_MS", 10)
    flow = [udp(IN, OUT, 1, 53, bytes([n])) for n in range(20)]
    for n in range(16):  # four at a time, the oldest of which asks
        assert t.send(flow[n]).waits
        await t.check()
        await t.pass_ms(3, timeout_ms=10)
    assert t.drops == {"no-translation": 13}
    assert len(t.model.events) == 4
    await t.check_events()
    assert t.send(flow[16]).waits
    await t.put(UDP, End(IN, 1), End(PUBLIC, 1))
    assert not t.send(flow[17]).waits
    await t.check()
    assert [parse(out.frame).src_port for out in t.expected] == [1] * 5
    await t.check_events()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def host_refuses(dut: Any) -> None:
    """A delete that finds nothing ends the wait of one flow at once; the flow's next frame asks again."""
    t = await translator(dut)
    hot, other = [tcp(IN, OUT, 1, 80, SYN, bytes([n])) for n in range(6)], tcp(IN + 1, OUT, 1, 80, SYN)
    for frame in hot[:4]:
        assert t.send(frame).waits
    assert t.send(other).waits
    assert t.send(hot[4]).drop_reason == "miss-buffer-full"
    await t.check()
    assert not await t.delete(TCP, End(IN, 1))
    await t.check()
    assert t.drops == {"no-translation": 4, "miss-buffer-full": 1} and len(t.model.waiting) == 1
    assert t.send(hot[5]).waits
    await t.check()
    assert len(t.model.events) == 3
    await t.check_events()
    for n in range(2):
        await t.put(TCP, End(IN + n, 1), End(PUBLIC, 1 + n))
    await t.check()
    assert len(t.expected) == 2
    assert await t.delete(TCP, End(IN, 1))
    assert t.send(hot[0]).waits
    assert not await t.delete(TCP, End(IN, 1))
    await t.check()
    await t.check_events()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def delete_is_no_refusal(dut: Any) -> None:
    """A delete that finds a translation drops no frame, in whatever cycle the frame comes."""
    slot = Slot(dut)
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    entry = [IN, PUBLIC, 1 << 16 | 1, UDP, 0, 0, 0, 0]
    waited = 0
    for delay in range(80):
        assert (await slot.table(PUT, entry=entry))[0] & VALID
        deleting = cocotb.start_soon(slot.table(DELETE, entry=entry))
        await ClockCycles(dut.clk, 40 + delay)
        slot.source.send(udp(IN, OUT, 1, 53, bytes([delay])))
        assert (await deleting)[0] & VALID
        await slot.settle()
        waited += await slot.read("MISSES_WAITING")
        assert (await slot.table(PUT, entry=entry))[0] & VALID
        await slot.settle()
        assert await slot.read("FRAMES_OUT") == delay + 1
    assert 8 < waited < 72, "frames came before the delete and after it"
    assert len(await slot.events()) + await slot.read("EVENT_LOST") == waited


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def timeout_is_no_answer(dut: Any) -> None:
    """A frame that comes while an older one of its flow leaves for lack of an answer waits for its own."""
    slot = Slot(dut)
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    await slot.write("MISS_TIMEOUT_MS", 2)
    for delay in range(60):
        flow = [udp(IN, OUT, delay, 53, bytes([n])) for n in range(3)]
        slot.source.send(flow[0])
        await slot.settle()
        await slot.pass_us(2 * US_PER_MS)
        slot.source.send(flow[1])
        await slot.settle()
        slot.source.send(flow[2])
        await ClockCycles(dut.clk, delay)
        await slot.pass_us(US_PER_MS)
        await ClockCycles(dut.clk, 120)
        await slot.settle()
        assert await slot.read("MISSES_WAITING") == 2
        assert (await slot.table(PUT, entry=[IN, PUBLIC, delay << 16 | delay, UDP, 0, 0, 0, 0]))[0] & VALID
        await slot.settle()
        assert [out.frame[42:43] for out in slot.sink.frames[2 * delay :]] == [b"\1", b"\2"]
        assert await slot.read("DROPS", 1) == delay + 1


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def clear_makes_ask_again(dut: Any) -> None:
    t = await translator(dut)
    assert t.send(udp(IN, OUT, 1, 53, b"a")).waits
    await t.slot.settle()
    await t.slot.write("CONTROL", ENABLE | CLEAR)
    t.model.clear()
    while await t.slot.read("STATUS") & 2:
        pass
    await t.check_events()
    assert t.send(udp(IN, OUT, 1, 53, b"b")).waits
    await t.slot.settle()
    await t.check_events()
    await t.put(UDP, End(IN, 1), End(PUBLIC, 1))
    await t.slot.settle()
    assert [out.frame[42:] for out in t.slot.sink.frames] == [b"a", b"b"]


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def answers_in_a_row(dut: Any) -> None:
    """An answer is of the flow that it names, though the host writes the next one's key as fast as it can."""
    t = await translator(dut)
    for turn in range(12):
        ends = [End(IN + 8 * turn + n, 7) for n in range(8)]
        for end in ends:
            assert t.send(udp(end.address, OUT, 7, 53)).waits
        await t.slot.settle()
        refused = {ends[1], ends[4]}
        for n, end in enumerate(ends):
            outside = End(PUBLIC, 1000 + 8 * turn + n)
            operation = DELETE if end in refused else PUT
            entry = [end.address, outside.address, end.port << 16 | outside.port, UDP, 0, 0, 0, 0]
            assert bool((await t.slot.table(operation, entry=entry))[0] & VALID) == (operation == PUT)
            assert end in refused or t.model.put(UDP, end, outside)
            for verdict in t.model.release(UDP, end):
                t._take(verdict, 0)
        await t.check()
        await t.check_events()
    assert t.drops == {"no-translation": 24}


@cocotb.test(timeout_time=8, timeout_unit="ms")
async def others_go_on(dut: Any) -> None:
    """Beside a flow that sends all the time and is never answered, each of 90 flows of one packet comes out."""
    t = await translator(dut)
    await t.slot.write("MISS_TIMEOUT_MS", 10)
    chance = stdlib_random.Random(5)
    hot = End(IN, 1)
    for first in range(0, 90, 3):
        flows = [End(IN + 1 + n, 7) for n in range(first, first + 3)]
        frames = [udp(end.address, OUT, end.port, 53) for end in flows]
        frames += [udp(hot.address, OUT, hot.port, 53, bytes([first, n])) for n in range(5)]
        for frame in chance.sample(frames, len(frames)):
            t.send(frame)
        await t.slot.settle()
        asked = [End(address, ports >> 16) for address, _, ports, _ in t.model.events]
        await t.check_events()
        for end in asked:
            if end != hot:
                await t.put(UDP, end, End(PUBLIC, 2000 + end.address - IN))
        await t.pass_ms(chance.randrange(4), timeout_ms=10)
    await t.check()
    assert len(t.expected) == 90
    assert t.drops["miss-buffer-full"] > 90 and t.drops["no-translation"] > 8


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
    """Traffic with a host that answers late: frames are as the model makes them, in the order of their flow."""
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

    # With all translations known, the model says what each frame becomes. A flow may lack frames that found the buffer
    # full or came back before the translation, but what it has is in order.
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
    """At 100 MHz: 60-byte frames of two 1 Gb/s ports' worth (1.49 Mpps each)."""
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
