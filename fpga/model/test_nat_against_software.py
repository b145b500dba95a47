# SPDX-License-Identifier: Apache-2.0
"""NAT's golden model against the engine's NAT on the same traffic.

Each allocates external ports on its own, so they agree up to a bijection: a flow keeps its mapping for life, no two
flows share one, every other byte and every checksum is as if only the mapping had been written into the frame, and both
drop the same frames. Replies go to whatever mapping each side gave the flow.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from model.nat import ECHO_REPLY, ECHO_REQUEST, End, Nat
from model.packet import ICMP, TCP, UDP, Headers, parse
from model.random_frames import frame, is_for_software_alone, turned
from model.verdict import RETURN

REPLAY = Path(__file__).resolve().parents[2] / "agents/build/nfs/nf_replay"
FRAMES = 2000
START_NS = 1_700_000_000 * 10**9
# One pause keeps a flow alive and two end it; gaps between pauses are far shorter than the difference.
PAUSE_MS = 60_000
IDLE_TIMEOUT_S = 110
# The engine expires four idle flows per frame: this many frames that pass unchanged let it expire all.
ARP = bytes(12) + b"\x08\x06" + bytes(28)
ARPS_AFTER_PAUSE = 20
CHECKSUM_AT = {TCP: 16, UDP: 6, ICMP: 2}
# The engine's reasons in the board's words.
REASONS = {"no_port": "no-translation", "no_mapping": "no-translation", "fragment": "unsupported"}

Flow = tuple[int, End]  # protocol, inside end
Outcome = tuple[str | None, bytes]  # drop reason, or the frame that leaves


def total(data: bytes) -> int:
    """Sum of 16-bit words modulo 2^16 - 1, which preserves equality of ones' complement sums (RFC 1071)."""
    return sum(int.from_bytes(data[at : at + 2].ljust(2, b"\0"), "big") for at in range(0, len(data), 2)) % 0xFFFF


def covered(whole: bytes, headers: Headers) -> bytes:
    """What the transport checksum covers, including itself; of the pseudo header, only what NAT can change."""
    pseudo = b"" if headers.protocol == ICMP else whole[headers.l3_offset + 12 : headers.l3_offset + 20]
    return pseudo + whole[headers.l4_offset : headers.l3_offset + headers.ip_bytes]


def with_totals(whole: bytes, header_total: int, transport_total: int) -> bytes:
    """Set the checksums of the frame so that the sums over header and transport reach these totals."""
    headers = parse(whole)
    out = bytearray(whole)
    at = headers.l3_offset + 10
    header_sum = headers.ip_checksum + header_total - total(whole[headers.l3_offset : headers.l4_offset])
    out[at : at + 2] = (header_sum % 0xFFFF).to_bytes(2, "big")
    if headers.protocol == UDP and headers.transport_checksum == 0:
        return bytes(out)
    checksum = (headers.transport_checksum + transport_total - total(covered(whole, headers))) % 0xFFFF
    at = headers.l4_offset + CHECKSUM_AT[headers.protocol]
    out[at : at + 2] = (checksum or (0xFFFF if headers.protocol == UDP else 0)).to_bytes(2, "big")
    return bytes(out)


def readdressed(whole: bytes, back: int, end: End) -> bytes:
    """Replace the destination (back) or source; valid checksums stay valid, wrong ones stay equally wrong."""
    headers = parse(whole)
    out = bytearray(whole)
    address_at = headers.l3_offset + (16 if back else 12)
    port_at = headers.l4_offset + (4 if headers.protocol == ICMP else 2 * back)
    out[address_at : address_at + 4] = end.address.to_bytes(4, "big")
    out[port_at : port_at + 2] = end.port.to_bytes(2, "big")
    header = whole[headers.l3_offset : headers.l4_offset]
    return with_totals(bytes(out), total(header), total(covered(whole, headers)))


def canonical(whole: bytes) -> bytes:
    """Zero has two forms in ones' complement; use one of them. For UDP's checksum they differ in meaning."""
    headers = parse(whole)
    if not headers.transport:
        return whole
    out = bytearray(whole)
    header_sum_at = headers.l3_offset + 10
    for at in {header_sum_at, headers.l4_offset + CHECKSUM_AT[headers.protocol]}:
        if out[at : at + 2] == b"\xff\xff" and (at == header_sum_at or headers.protocol != UDP):
            out[at : at + 2] = b"\0\0"
    return bytes(out)


def end_of(whole: bytes, back: int) -> End | None:
    """The end that NAT replaces; None in frames that it does not translate."""
    h = parse(whole)
    if h.malformed or not h.transport:
        return None
    if h.protocol == ICMP:
        echo = h.icmp_type == (ECHO_REPLY if back else ECHO_REQUEST)
        return End(h.dst_ip if back else h.src_ip, h.icmp_id) if echo else None
    return End(h.dst_ip, h.dst_port) if back else End(h.src_ip, h.src_port)


def reply(whole: bytes) -> bytes:
    """Swap the two ends, where present; the checksums cover both."""
    h = parse(whole)
    if not h.is_ipv4:
        return whole
    out = turned(whole)
    if not h.transport or h.protocol == ICMP:
        return out
    at = h.l4_offset
    return out[:at] + out[at + 2 : at + 4] + out[at : at + 2] + out[at + 4 :]


@dataclass(frozen=True)
class Setting:
    addresses: tuple[str, ...]
    port_lo: int
    port_hi: int
    max_flows: int

    @property
    def config(self) -> dict[str, Any]:
        return {
            "external_addresses": list(self.addresses),
            "port_lo": self.port_lo,
            "port_hi": self.port_hi,
            "max_flows": self.max_flows,
            "idle_timeout_s": IDLE_TIMEOUT_S,
        }

    def ends(self) -> list[End]:
        return [
            End(int(IPv4Address(a)), port) for a in self.addresses for port in range(self.port_lo, self.port_hi + 1)
        ]


class Software:
    """The engine's NAT."""

    def __init__(self, setting: Setting) -> None:
        assert REPLAY.exists(), f"{REPLAY} is not built"
        command = [str(REPLAY), "nat", json.dumps(setting.config), "-"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Software:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.communicate()
        assert error is not None or self.process.returncode == 0

    def step(self, ms: int, back: int, whole: bytes) -> Outcome:
        assert self.process.stdin and self.process.stdout
        asked = {"time_ns": START_NS + ms * 10**6, "return": back == RETURN, "frame": whole.hex()}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer["verdict"] == "pass":
            return None, bytes.fromhex(answer["frame"])
        return REASONS.get(answer["drop_reason"], answer["drop_reason"]), b""


class Board:
    """The golden model with a host that allocates ends in random order, reclaims idle ones and refuses the rest."""

    def __init__(self, setting: Setting, rng: random.Random) -> None:
        self.nat = Nat()
        self.free = {protocol: rng.sample(setting.ends(), len(setting.ends())) for protocol in (TCP, UDP, ICMP)}
        self.most = setting.max_flows
        self.given: dict[Flow, End] = {}

    def step(self, ms: int, back: int, whole: bytes) -> Outcome:
        verdict = self.nat.process(whole, back, ms // 1000, ms)
        if verdict.waits:
            address, _, ports, protocol = self.nat.events.pop()
            (verdict,) = self.answer(protocol, End(address, ports >> 16), ms)
        return verdict.drop_reason, verdict.frame

    def answer(self, protocol: int, inside: End, ms: int) -> list[Any]:
        if len(self.given) >= self.most or not self.free[protocol]:
            assert not self.nat.delete(protocol, inside, ms // 1000)
            return self.nat.release(protocol, inside, ms // 1000)
        outside = self.free[protocol].pop()
        assert self.nat.put(protocol, inside, outside, ms // 1000)
        self.given[protocol, inside] = outside
        return self.nat.release(protocol, inside, ms // 1000)

    def sweep(self, ms: int) -> list[Flow]:
        """End the flows that are idle in both directions; return them."""
        now_s = ms // 1000
        idle = []
        for (protocol, inside), outside in self.given.items():
            entries = (
                self.nat.inside.find(inside.key(protocol), now_s),
                self.nat.outside.find(outside.key(protocol), now_s),
            )
            if all(entry is not None and now_s - entry.seen_s >= IDLE_TIMEOUT_S for entry in entries):
                idle.append((protocol, inside))
        for protocol, inside in idle:
            assert self.nat.delete(protocol, inside, now_s)
            self.free[protocol].insert(0, self.given.pop((protocol, inside)))
        return idle


@dataclass
class Mappings:
    """Which external end a side was seen to give each live flow."""

    ends: list[End]
    outside: dict[Flow, End] = field(default_factory=dict)

    def learn(self, flow: Flow, end: End) -> None:
        assert end in self.ends, f"{end} is not in the range of this NAT"
        assert self.outside.get(flow, end) == end, "a flow keeps its mapping"
        assert flow in self.outside or (flow[0], end) not in self.used(), "no two flows share one"
        self.outside[flow] = end

    def used(self) -> set[Flow]:
        return {(protocol, end) for (protocol, _), end in self.outside.items()}


def traffic(rng: random.Random) -> Iterator[tuple[int, int, bytes]]:
    """Times in ms, directions, frames; returning frames are as the inside should receive them. Flows end in pauses,
    after which late replies to earlier frames arrive.
    """
    ms = 0
    sent: deque[bytes] = deque(maxlen=16)
    for n in range(FRAMES):
        if rng.random() < 0.005 or n == FRAMES // 2:
            ms += PAUSE_MS
            for _ in range(ARPS_AFTER_PAUSE):
                yield ms, 0, ARP
            for whole in sent:
                yield ms, 1, reply(whole)
        ms += rng.choice([1, 1, 1, 3, 7, 40])
        back = int(rng.random() < 0.4)
        whole = frame(rng)
        # Few flows most of the time, so that some stay in use while others end.
        if rng.random() < 0.6 and (end := end_of(whole, 0)) is not None:
            whole = readdressed(whole, 0, End(0x0A000000, end.port))
        whole = reply(whole) if back else whole
        sound = parse(whole).transport and not parse(whole).malformed and rng.random() < 0.9
        whole = with_totals(whole, 0, 0) if sound else whole
        if not back and sound:
            sent.append(whole)
        yield ms, back, whole


class Comparison:
    def __init__(self, setting: Setting, seed: int, software: Software) -> None:
        self.rng = random.Random(seed)
        self.board = Board(setting, self.rng)
        self.sides = [(software, Mappings(setting.ends())), (self.board, Mappings(setting.ends()))]
        self.ended: list[tuple[Flow, list[End]]] = []
        self.seen: Counter[str] = Counter()

    def step(self, ms: int, back: int, whole: bytes) -> None:
        for flow in self.board.sweep(ms):
            self.ended.append((flow, [mappings.outside.pop(flow) for _, mappings in self.sides]))
        if is_for_software_alone(whole):
            assert self.board.step(ms, back, whole) == (None, whole)
            return
        end = end_of(whole, back)
        flow = None if end is None else (parse(whole).protocol, end)
        targets = self.targets(flow) if back and flow else None
        outcomes = []
        for n, (side, mappings) in enumerate(self.sides):
            entering = readdressed(whole, back, targets[n]) if targets else whole
            reason, out = side.step(ms, back, entering)
            if reason is None and flow and not back:
                given = end_of(out, 0)
                assert given is not None
                mappings.learn(flow, given)
                out = readdressed(out, 0, flow[1])
            outcomes.append((reason, canonical(out)))
        self.note(outcomes, back, flow, targets is not None)
        assert outcomes[0] == outcomes[1]
        assert outcomes[0][0] is not None or outcomes[0][1] == canonical(whole)

    def targets(self, flow: Flow) -> list[End] | None:
        """Where each side expects a reply for the flow; None: the inside end itself, which no NAT uses."""
        given = [mappings.outside.get(flow) for _, mappings in self.sides]
        assert (given[0] is None) == (given[1] is None)
        if given[0] is not None:
            return [end for end in given if end is not None]
        stale = [
            ends
            for (protocol, inside), ends in self.ended
            if (protocol, inside) == flow
            and all((protocol, end) not in m.used() for end, (_, m) in zip(ends, self.sides, strict=True))
        ]
        if not stale:
            return None
        self.seen["late reply"] += 1
        return stale[-1]

    def note(self, outcomes: list[Outcome], back: int, flow: Flow | None, addressed: bool) -> None:
        reason = outcomes[0][0] or ("translated" if flow else "untouched")
        self.seen[f"{'return' if back and addressed else 'stray' if back else 'forward'} {reason}"] += 1


WANTED = {
    "forward translated",
    "forward no-translation",
    "forward unsupported",
    "forward malformed",
    "forward untouched",
    "return translated",
    "return no-translation",
    "stray no-translation",
    "stray unsupported",
    "stray malformed",
    "late reply",
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "setting",
    [
        Setting(("198.18.0.1",), 20_000, 20_013, 4096),
        Setting(("198.18.0.1", "198.18.3.77"), 1024, 1031, 4096),
        Setting(("198.18.0.1",), 1024, 65_535, 30),
    ],
    ids=["few-ports", "two-addresses", "few-flows"],
)
def test_model_and_software_translate_alike(setting: Setting, seed: int) -> None:
    with Software(setting) as software:
        comparison = Comparison(setting, seed, software)
        for n, (ms, back, whole) in enumerate(traffic(random.Random(seed))):
            try:
                comparison.step(ms, back, whole)
            except AssertionError as error:
                error.add_note(f"frame {n} after {ms} ms, {'return' if back else 'forward'}: {whole.hex()}")
                raise
    assert comparison.ended, "no flow ended"
    assert set(comparison.seen) >= WANTED, f"the traffic shows only {comparison.seen}"
