# SPDX-License-Identifier: Apache-2.0
"""Golden model of rtl/nf_nat."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from model.flow_table import FlowTable
from model.packet import ICMP, TCP, UDP, Headers, parse
from model.verdict import FORWARD, RETURN, Verdict, drop

MISS_FRAMES, FLOW_FRAMES = 8, 4  # places in the miss buffer, and the most that one flow may use
ECHO_REPLY, ECHO_REQUEST = 0, 8


@dataclass(frozen=True)
class End:
    """An address with a port, or with an echo identifier."""

    address: int
    port: int

    def key(self, protocol: int) -> bytes:
        return self.address.to_bytes(4, "big") + self.port.to_bytes(2, "big") + bytes([protocol])


def _adjusted(checksum: int, changes: Iterable[tuple[int, int]]) -> int:
    """RFC 1624 eqn. 3."""
    total = (~checksum & 0xFFFF) + sum((~before & 0xFFFF) + after for before, after in changes)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def rewrite(frame: bytes, headers: Headers, old: End, new: End, direction: int) -> bytes:
    """Replace one end in the frame, and update the checksums that cover it."""
    out = bytearray(frame)

    def put(at: int, value: int, size: int = 2) -> None:
        out[at : at + size] = value.to_bytes(size, "big")

    address = [(old.address >> 16, new.address >> 16), (old.address & 0xFFFF, new.address & 0xFFFF)]
    port = [(old.port, new.port)]
    l3, l4 = headers.l3_offset, headers.l4_offset
    put(l3 + 10, _adjusted(headers.ip_checksum, address))
    put(l3 + (16 if direction == RETURN else 12), new.address, 4)
    put(l4 + (4 if headers.protocol == ICMP else 2 * direction), new.port)
    covered = port if headers.protocol == ICMP else address + port
    checksum = _adjusted(headers.transport_checksum, covered)
    if headers.protocol == UDP:
        checksum = 0 if headers.transport_checksum == 0 else checksum or 0xFFFF
    put(l4 + {TCP: 16, UDP: 6, ICMP: 2}[headers.protocol], checksum)
    return bytes(out)


@dataclass
class Waiting:
    """A frame waiting for a translation. At most one frame per flow asks, by raising the event."""

    frame: bytes
    since_ms: int
    asks: bool


@dataclass
class Nat:
    """`inside` and `outside` are the two tables; `waiting` the frames waiting for a translation, oldest first."""

    inside: FlowTable[End] = field(default_factory=FlowTable)
    outside: FlowTable[End] = field(default_factory=FlowTable)
    waiting: list[Waiting] = field(default_factory=list)
    events: list[tuple[int, int, int, int]] = field(default_factory=list)  # as the words of the event

    def put(self, protocol: int, inside: End, outside: End, now_s: int = 0, idle_s: int = 0) -> bool:
        """Return False if either end has another partner or its set is full."""
        in_key, out_key = inside.key(protocol), outside.key(protocol)
        is_in, is_out = self.inside.find(in_key, now_s), self.outside.find(out_key, now_s)
        if (is_in and is_in.value != outside) or (is_out and is_out.value != inside):
            return False
        if not (self.inside.room(in_key, now_s) and self.outside.room(out_key, now_s)):
            return False
        self.inside.put(in_key, outside, now_s, idle_s)
        self.outside.put(out_key, inside, now_s, idle_s)
        return True

    def delete(self, protocol: int, inside: End, now_s: int = 0) -> bool:
        entry = self.inside.find(inside.key(protocol), now_s)
        if entry is None:
            return False
        self.outside.delete(entry.value.key(protocol), now_s)
        return self.inside.delete(inside.key(protocol), now_s)

    def clear(self) -> None:
        """Frames stay, but their requests are lost."""
        self.inside.clear()
        self.outside.clear()
        self.events.clear()
        for item in self.waiting:
            item.asks = False

    @staticmethod
    def _end(headers: Headers, direction: int) -> End | None:
        """The end to replace; None if NAT does not translate the packet."""
        if not headers.transport:
            return None
        if headers.protocol == ICMP:
            if headers.icmp_type != (ECHO_REPLY if direction == RETURN else ECHO_REQUEST):
                return None
            return End(headers.dst_ip if direction == RETURN else headers.src_ip, headers.icmp_id)
        if direction == RETURN:
            return End(headers.dst_ip, headers.dst_port)
        return End(headers.src_ip, headers.src_port)

    def process(self, frame: bytes, direction: int = FORWARD, now_s: int = 0, now_ms: int = 0) -> Verdict:
        headers = parse(frame)
        if headers.malformed:
            return drop("malformed")
        if not headers.is_ipv4:
            return Verdict(frame=frame)
        end = self._end(headers, direction)
        if end is None:
            return drop("unsupported")
        if direction == FORWARD and self._of_flow(headers.protocol, end):
            return self._wait(frame, headers, end, now_ms)
        verdict = self._translate(frame, headers, end, direction, now_s)
        if verdict.drop_reason is None or direction == RETURN:
            return verdict
        return self._wait(frame, headers, end, now_ms)

    def _of_flow(self, protocol: int, inside: End) -> list[Waiting]:
        key = inside.key(protocol)
        return [item for item in self.waiting if self._key(item.frame) == key]

    def _key(self, frame: bytes) -> bytes:
        headers = parse(frame)
        end = self._end(headers, FORWARD)
        assert end is not None
        return end.key(headers.protocol)

    def _wait(self, frame: bytes, headers: Headers, end: End, now_ms: int) -> Verdict:
        of_flow = self._of_flow(headers.protocol, end)
        if len(self.waiting) == MISS_FRAMES or len(of_flow) == FLOW_FRAMES:
            return drop("miss-buffer-full")
        asks = not any(item.asks for item in of_flow)
        self.waiting.append(Waiting(frame, now_ms, asks))
        if asks:
            ports = end.port << 16 | (headers.icmp_id if headers.protocol == ICMP else headers.dst_port)
            self.events.append((headers.src_ip, headers.dst_ip, ports, headers.protocol))
        return Verdict(waits=True)

    def _translate(self, frame: bytes, headers: Headers, end: End, direction: int, now_s: int) -> Verdict:
        table = self.outside if direction == RETURN else self.inside
        entry = table.find(end.key(headers.protocol), now_s)
        if entry is None:
            return drop("no-translation")
        entry.seen_s = now_s
        return Verdict(frame=rewrite(frame, headers, end, entry.value, direction))

    def release(self, protocol: int, inside: End, now_s: int = 0) -> list[Verdict]:
        """After the host's answer (a put, or a delete that found nothing), process the waiting frames in order."""
        return self._leave(self._of_flow(protocol, inside), now_s)

    def expire(self, now_ms: int, timeout_ms: int, now_s: int = 0) -> list[Verdict]:
        """Drop frames that waited too long."""
        return self._leave([item for item in self.waiting if now_ms - item.since_ms > timeout_ms], now_s)

    def _leave(self, items: list[Waiting], now_s: int) -> list[Verdict]:
        verdicts = []
        for item in items:
            self.waiting.remove(item)
            headers = parse(item.frame)
            end = self._end(headers, FORWARD)
            assert end is not None
            verdicts.append(self._translate(item.frame, headers, end, FORWARD, now_s))
        return verdicts
