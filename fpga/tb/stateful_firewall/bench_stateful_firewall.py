# SPDX-License-Identifier: Apache-2.0
"""Stateful firewall against its golden model."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv4Network
from random import Random
from typing import Any

import cocotb

from model import compared
from model.flow_table import toeplitz
from model.packet import FRAME_BYTES_MAX
from model.random_frames import SERVICE_VLAN, with_tag
from model.stateful_firewall import ESTABLISHED, HASH_KEY, OPENING, Rule, StatefulFirewall, connections
from tb.common.axis import Sent, seldom
from tb.common.frames import ACK, FIN, OVERSIZE_BYTES, RST, SYN, RandomFrames, icmp, overlong, tcp, udp
from tb.common.slot import Slot
from tb.common.slot_host import CLEAR, DELETE, ENABLE, FIND, FULL, PUT, READ, VALID

SECOND_US = 8  # of the bench's parameters
A, B = 0x0A000001, 0x0A000002


async def write_rules(slot: Slot, model: StatefulFirewall) -> None:
    await slot.write("DEFAULT_ACTION", int(model.default_allow))
    await slot.write("IDLE_TIMEOUT_S", model.idle_timeout_s)
    await slot.write("TRANSITORY_TIMEOUT_S", model.transitory_timeout_s)
    if model.flows.hash_key != HASH_KEY:  # which the module has after reset
        for n in range(4):
            await slot.write("HASH_KEY", model.flows.hash_key >> 32 * n & 0xFFFFFFFF, n)
    for n in range(16):
        if n >= len(model.rules):
            await slot.write("RULE_MATCH", 0, n)
            continue
        rule = model.rules[n]
        await slot.write("RULE_SOURCE", int(rule.source.network_address), n)
        await slot.write("RULE_SOURCE_MASK", int(rule.source.netmask), n)
        await slot.write("RULE_DESTINATION", int(rule.destination.network_address), n)
        await slot.write("RULE_DESTINATION_MASK", int(rule.destination.netmask), n)
        await slot.write("RULE_PORTS", rule.ports[1] << 16 | rule.ports[0], n)
        any_protocol = rule.protocol is None
        await slot.write("RULE_MATCH", 1 | rule.allow << 1 | any_protocol << 2 | (rule.protocol or 0) << 8, n)


class Firewall:
    """Module and model side by side: what is sent to one is checked against the other."""

    def __init__(self, slot: Slot, model: StatefulFirewall) -> None:
        self.slot = slot
        self.model = model
        self.now_s = 0
        self.expected: list[Sent] = []
        self.drops: Counter[str] = Counter()
        self.sent = self.oversize = 0

    def send(self, frame: bytes, direction: int = 0, host: int = 0) -> str | None:
        user = host << 1 | direction
        self.slot.source.send(frame, user)
        self.sent += 1
        if len(frame) > FRAME_BYTES_MAX:
            self.oversize += 1
            return "oversize"
        verdict = self.model.process(frame, direction, self.now_s)
        if verdict.drop_reason is None:
            self.expected.append(Sent(frame, user))
        else:
            self.drops[verdict.drop_reason] += 1
        return verdict.drop_reason

    async def pass_s(self, seconds: int) -> None:
        await self.slot.settle()
        await self.slot.pass_us(seconds * SECOND_US)
        self.now_s += seconds

    async def check(self) -> None:
        await self.slot.settle()
        assert self.slot.sink.frames == self.expected
        await self.slot.check_counters(self.sent, len(self.expected), self.drops, self.oversize)
        assert await self.slot.read("EVICTIONS") == self.model.flows.evictions


async def firewall(dut: Any, model: StatefulFirewall, **ends: Any) -> Firewall:
    slot = Slot(dut, **ends)
    await slot.start()
    await write_rules(slot, model)
    await slot.write("CONTROL", ENABLE)
    return Firewall(slot, model)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def registers_and_disabled(dut: Any) -> None:
    slot = Slot(dut)
    await slot.start()
    assert await slot.read("ID") == int.from_bytes(b"SFW1", "big")
    assert await slot.read("VERSION") == 0x010100
    frames = [tcp(A, B, 1, 80, ACK), b"\x01" * 9, b"\x02" * 2048, b"\x03" * 2049, bytes(14)]
    for frame in frames:
        slot.source.send(frame, 1)
    await slot.settle()
    assert slot.sink.frames == [Sent(frame, 1) for frame in frames if len(frame) <= FRAME_BYTES_MAX]
    await slot.check_counters(5, 4, {}, 1)
    await slot.write("CONTROL", CLEAR)
    assert await slot.read("FRAMES_IN") == 0
    assert await slot.read("STATUS") & 2


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_connection(dut: Any) -> None:
    fw = await firewall(dut, StatefulFirewall(idle_timeout_s=5, transitory_timeout_s=2))
    assert fw.send(tcp(A, B, 9, 80, ACK)) == "no-state"
    assert fw.send(tcp(A, B, 9, 80, SYN)) is None
    assert fw.send(tcp(B, A, 80, 9, SYN | ACK), 1) is None
    assert fw.send(tcp(A, B, 9, 80, ACK, b"x" * 100)) is None
    assert fw.send(tcp(B, A, 80, 9, ACK, b"y" * 1400), 1, host=1) is None
    assert fw.send(tcp(B, A, 80, 9, ACK)) == "no-state"  # in the forward direction, the swapped tuple is another flow
    await fw.pass_s(5)
    assert fw.send(tcp(A, B, 9, 80, ACK)) is None
    await fw.pass_s(6)
    assert fw.send(tcp(A, B, 9, 80, ACK)) == "no-state"
    assert fw.send(tcp(A, B, 9, 80, SYN)) is None
    assert fw.send(tcp(A, B, 9, 80, FIN | ACK)) is None
    assert fw.send(tcp(B, A, 80, 9, RST), 1) is None
    assert fw.send(tcp(B, A, 80, 9, RST), 1) == "no-state"
    assert fw.send(tcp(A, B, 9, 80, SYN | FIN)) == "no-state"
    assert fw.send(tcp(A, B, 9, 80, SYN)) is None
    assert fw.send(tcp(A, B, 9, 80, RST | FIN | SYN)) is None  # RST before FIN before SYN
    assert fw.send(tcp(A, B, 9, 80, ACK)) == "no-state"
    assert fw.send(tcp(A, B, 9, 80, SYN)) is None
    assert fw.send(tcp(B, A, 80, 9, SYN | ACK), 1) is None
    await fw.pass_s(3)  # half-open
    assert fw.send(tcp(A, B, 9, 80, ACK)) == "no-state"
    for flags in (SYN, ACK, FIN | ACK):
        assert fw.send(tcp(A, B, 9, 80, flags)) is None
    await fw.pass_s(2)
    assert fw.send(tcp(B, A, 80, 9, ACK), 1) is None
    await fw.pass_s(3)  # closing
    assert fw.send(tcp(B, A, 80, 9, ACK), 1) == "no-state"
    for flags in (SYN, RST):  # in the place of the one that expired
        assert fw.send(tcp(A, B, 9, 80, flags)) is None
    await fw.check()
    assert (await fw.slot.read("TABLE_STATUS")) >> 16 == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def rules_in_order(dut: Any) -> None:
    ten = IPv4Network("10.0.0.0/8")
    rules = [
        Rule(False, protocol=17, ports=(53, 53)),
        Rule(True, ten, protocol=17),
        Rule(True, ports=(80, 90), protocol=6),
    ]
    rules += [Rule(False, source=IPv4Network(f"192.0.2.{n}/32")) for n in range(12)]
    rules.append(Rule(True, destination=IPv4Network("203.0.113.128/25"), protocol=47))
    assert len(rules) == 16
    fw = await firewall(dut, StatefulFirewall(rules, default_allow=False))
    assert fw.send(udp(A, B, 1, 53)) == "denied"
    assert fw.send(udp(A, B, 1, 54)) is None
    assert fw.send(udp(0x0B000001, B, 1, 54)) == "denied"
    for port, verdict in [(79, "denied"), (80, None), (90, None), (91, "denied")]:
        assert fw.send(tcp(A, B, 7, port, SYN)) == verdict
    assert fw.send(icmp(A, B, 8, 1)) == "denied"
    gre = bytearray(udp(A, 0xCB007180, 0, 0))
    gre[23] = 47
    assert fw.send(bytes(gre)) is None
    await fw.check()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def state_table_is_programmable(dut: Any) -> None:
    """All 16 entries, random: HYPER VII-B."""
    model = StatefulFirewall()
    random = RandomFrames(5)
    model.transitions = [(random.random.randrange(4), random.random.random() < 0.3) for _ in range(16)]
    model.transitions[0] = (OPENING, False)
    fw = await firewall(dut, model)
    for n, (state, dropped) in enumerate(model.transitions):
        await fw.slot.write("STATE_TABLE", dropped << 2 | state, n)
        assert await fw.slot.read("STATE_TABLE", n) == dropped << 2 | state
    for _ in range(250):
        flags = random.random.choice([SYN, ACK, FIN, RST, SYN | ACK, 0])
        fw.send(tcp(A, B, random.random.randrange(8), 80, flags), random.random.randrange(2))
    await fw.check()


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize((("idle", "stall"), [(0.0, 0.0), (0.4, 0.0), (0.0, 0.6)]))
async def random_frames(dut: Any, idle: float, stall: float) -> None:
    rules = [Rule(False, protocol=17, ports=(80, 80)), Rule(False, IPv4Network("10.0.0.3/32"), ports=(443, 443))]
    fw = await firewall(dut, StatefulFirewall(rules, idle_timeout_s=2), idle=seldom(1, idle), stall=seldom(2, stall))
    random = RandomFrames(int(10 * idle + 100 * stall))
    for n in range(250):
        fw.send(random.next(), random.random.randrange(2))
        if n % 60 == 59:
            await fw.pass_s(random.random.randint(1, 3))
    await fw.check()
    assert len(fw.drops) == 3


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(seed=compared.SEEDS)
async def what_software_was_compared_on(dut: Any, seed: int) -> None:
    model = compared.stateful_firewall()
    model.flows = connections(hash_key=Random(seed).getrandbits(128))
    fw = await firewall(dut, model)
    records = compared.traffic(seed)[: compared.RTL_FRAMES]
    for ms, back, frame in records:
        seconds = (ms - records[0][0]) // 1000 - fw.now_s
        if seconds:
            await fw.pass_s(seconds)
        fw.send(frame, back)
    await fw.check()
    assert set(fw.drops) == {"denied", "no-state", "malformed"}


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_tag_hides_nothing(dut: Any) -> None:
    fw = await firewall(dut, StatefulFirewall([Rule(False, protocol=17, ports=(53, 53))]))
    assert fw.send(with_tag(udp(A, B, 1, 53))) == "denied"
    assert fw.send(with_tag(udp(A, B, 1, 54), 0xFFFF)) is None
    assert fw.send(with_tag(tcp(A, B, 9, 80, ACK))) == "no-state"
    assert fw.send(with_tag(tcp(A, B, 9, 80, SYN))) is None
    assert fw.send(tcp(A, B, 9, 80, ACK)) is None  # a flow is the same with and without a tag
    assert fw.send(with_tag(tcp(B, A, 80, 9, ACK, options=b"\x01" * 4), 5), 1) is None
    assert fw.send(with_tag(udp(A, B, 1, 54))[:45]) == "malformed"
    assert fw.send(with_tag(udp(A, B, 1, 54))[:17]) == "malformed"
    assert fw.send(with_tag(b"\x02" * 12 + b"\x08\x06")) is None  # like every frame that is not IPv4
    assert fw.send(with_tag(with_tag(udp(A, B, 1, 53)))) is None
    assert fw.send(with_tag(udp(A, B, 1, 53), tpid=SERVICE_VLAN)) is None
    await fw.check()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def overlong_frames_leave_no_verdict(dut: Any) -> None:
    """Each frame has its own verdict, whatever was discarded before it."""
    fw = await firewall(dut, StatefulFirewall([Rule(False, protocol=17)]))
    for port, size in enumerate(OVERSIZE_BYTES):
        denied, allowed = udp(A, B, port, 53, b"x" * port), tcp(A, B, port, 80, SYN, b"y" * port)
        for ahead, frame, verdict in [(allowed, denied, "denied"), (denied, allowed, None)]:
            assert fw.send(frame) == verdict
            assert fw.send(overlong(ahead, size)) == "oversize"
            assert fw.send(frame) == verdict
    await fw.check()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def pace(dut: Any) -> None:
    """At 100 MHz: 60-byte frames at the rate of the given 1 Gb/s ports (1.49 Mpps each), and 1,514-byte frames at the
    bus's rate.
    """
    fw = await firewall(dut, StatefulFirewall([Rule(False, protocol=17)] * 15))
    fw.send(tcp(A, B, 9, 80, SYN))
    for frame, ports in ((tcp(A, B, 9, 80, ACK, bytes(6)), 4), (icmp(A, B, 8, 1, bytes(18)), 3)):
        latency, gap = await fw.slot.pace(frame)
        assert latency < 60 and gap < 100 / (ports * 1.49)
    _, gap = await fw.slot.pace(tcp(A, B, 9, 80, ACK, bytes(1460)), 20)
    assert gap < 1514 / 8 + 2


def colliding_ports(count: int, hash_key: int = HASH_KEY) -> list[int]:
    """Source ports whose flows to B:80 share a set."""
    by_set: dict[int, list[int]] = {}
    for port in range(1, 65536):
        key = A.to_bytes(4, "big") + B.to_bytes(4, "big") + port.to_bytes(2, "big") + b"\0\x50\x06"
        ports = by_set.setdefault(toeplitz(key, hash_key), [])
        ports.append(port)
        if len(ports) == count:
            return ports
    raise AssertionError("no set takes that many")


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def full_set(dut: Any) -> None:
    fw = await firewall(dut, StatefulFirewall(idle_timeout_s=3))
    ports = colliding_ports(6)
    for port in ports[:4]:
        assert fw.send(tcp(A, B, port, 80, SYN)) is None
        assert fw.send(tcp(A, B, port, 80, ACK)) is None
    assert fw.send(tcp(A, B, ports[4], 80, SYN)) == "table-full"
    await fw.pass_s(2)
    for port in ports[1:4]:
        assert fw.send(tcp(A, B, port, 80, ACK)) is None
    await fw.pass_s(2)
    assert fw.send(tcp(A, B, ports[4], 80, SYN)) is None  # replaces the one that went idle
    assert fw.send(tcp(A, B, ports[4], 80, ACK)) is None
    assert fw.send(tcp(A, B, ports[5], 80, SYN)) == "table-full"
    assert fw.send(tcp(A, B, ports[2], 80, RST)) is None
    assert fw.send(tcp(A, B, ports[5], 80, SYN)) is None
    assert fw.send(tcp(A, B, ports[5], 80, ACK)) is None
    await fw.check()
    status, _ = await fw.slot.table(PUT, entry=[A, B, ports[0] << 16 | 80, 6, ESTABLISHED, 0, 0, 0])
    assert status & FULL and not status & VALID


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_syn_flood_displaces_half_open_connections_only(dut: Any) -> None:
    """All in two sets, under a random key: three established connections, a flood, and new connections in it."""
    random = Random(11)
    hash_key = random.getrandbits(128)
    fw = await firewall(dut, StatefulFirewall(flows=connections(hash_key=hash_key)))
    ports = colliding_ports(60, hash_key)
    established, flood = ports[:3], ports[3:]
    for port in established:
        for flags in (SYN, ACK):
            assert fw.send(tcp(A, B, port, 80, flags)) is None
    for n in range(300):
        port = random.choice(flood)
        assert fw.send(tcp(A, B, port, 80, SYN)) is None
        assert fw.send(tcp(B, A, 80, port, SYN | ACK), 1) is None
        if n % 30 == 29:
            port = random.choice(flood)
            assert fw.send(tcp(A, B, port, 80, SYN)) is None
            assert fw.send(tcp(A, B, port, 80, ACK)) is None
            assert fw.send(tcp(A, B, random.choice(flood), 80, SYN)) in ("table-full", None)
            assert fw.send(tcp(A, B, port, 80, RST)) is None
        if n % 100 == 99:
            await fw.pass_s(1)
    for port in established:
        assert fw.send(tcp(B, A, 80, port, ACK), 1) is None
    await fw.check()
    assert fw.model.flows.evictions > 200


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def state_moves(dut: Any) -> None:
    """Entries read from one table and written into an empty one continue where they were."""
    fw = await firewall(dut, StatefulFirewall(idle_timeout_s=9))
    for port in range(20):
        fw.send(tcp(A, B, port, 80, SYN))
        if port % 2:
            fw.send(tcp(A, B, port, 80, ACK))
    await fw.pass_s(3)
    await fw.check()
    entries = []
    for index in (index for index, way in enumerate(fw.model.flows.ways) if way is not None):
        status, entry = await fw.slot.table(READ, index)
        way = fw.model.flows.ways[index]
        assert status & VALID and way is not None and status >> 16 == 20
        words = [int.from_bytes(way.key[a:b], "big") for a, b in [(0, 4), (4, 8), (8, 12), (12, 13)]]
        assert entry == [*words, way.value, 0, 0, 3]
        entries.append(entry)
    assert len(entries) == 20

    await fw.slot.write("CONTROL", ENABLE | CLEAR)
    while await fw.slot.read("STATUS") & 2:
        pass
    assert (await fw.slot.table(FIND, entry=entries[0]))[0] == 0
    for entry in entries:
        assert (await fw.slot.table(PUT, entry=entry))[0] & VALID
    status, entry = await fw.slot.table(FIND, entry=[*entries[7][:4], 0, 0, 0, 0])
    assert status & VALID and entry == entries[7]
    await fw.pass_s(6)  # idle for 9 s in all: still there
    assert (await fw.slot.table(FIND, entry=entries[7]))[1][7] == 9
    gone = entries[3]
    assert (await fw.slot.table(DELETE, entry=gone))[0] & VALID
    assert not (await fw.slot.table(DELETE, entry=gone))[0] & VALID

    fw.model.flows.delete(b"".join(word.to_bytes(4, "big") for word in gone[:3]) + b"\x06", fw.now_s)
    fw.drops.clear()
    fw.expected.clear()
    fw.slot.sink.frames.clear()
    fw.sent = 0
    for port in range(20):
        fw.send(tcp(A, B, port, 80, ACK))
    assert fw.drops["no-state"] == 1
    await fw.check()
    for entry in entries:  # the opening ones moved on too
        status, moved = await fw.slot.table(FIND, entry=entry)
        assert bool(status & VALID) == (entry is not gone)
        assert entry is gone or moved == [*entry[:4], ESTABLISHED, 0, 0, 0]
    await fw.pass_s(10)
    assert not (await fw.slot.table(FIND, entry=entries[7]))[0] & VALID
