# SPDX-License-Identifier: Apache-2.0
"""Golden model of rtl/nf_crypto_tunnel: one end of an ESP tunnel (RFC 4303) with AES-CTR and HMAC-SHA-256, as
agents/nfs/crypto-tunnel is one, but for packets of IPv6, which it drops.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field, replace
from typing import Any

from model.aes_ctr import AesCtr
from model.packet import FRAME_BYTES_MAX, IPV4, TCP, UDP, VLAN, parse
from model.verdict import FORWARD, Verdict, drop

ARP = 0x0806
ESP, ESP_PORT = 50, 4500
WINDOW = 960
LAST_SESSION = 0xFFFFFFFF
ICV_BYTES = 16
SYN = 2


@dataclass(frozen=True)
class Tunnel:
    """The configuration; addresses are numbers."""

    key: bytes
    local: int
    peer: int
    protects: int = FORWARD
    is_256: bool = False
    udp: bool = True
    clamp_mss: bool = True
    mtu: int = 1500
    session_packets: int = 0xFFFFFFFF

    @property
    def largest(self) -> int:
        """Bytes of the longest packet that is encrypted."""
        return (self.mtu - (44 if self.udp else 36) - ICV_BYTES) // 4 * 4 - 2


@dataclass
class Window:
    """Sequence numbers that have come."""

    highest: int = 0
    seen: set[int] = field(default_factory=set)

    def admits(self, sequence: int) -> bool:
        if sequence > self.highest:
            return True
        return sequence != 0 and self.highest - sequence < WINDOW and sequence not in self.seen

    def mark(self, sequence: int) -> None:
        self.seen.add(sequence)
        self.highest = max(self.highest, sequence)
        self.seen = {one for one in self.seen if self.highest - one < WINDOW}


class Keys:
    """NIST SP 800-108r1 4.1 in counter mode, as agents/nfs/crypto-tunnel/session.h says."""

    def __init__(self, tunnel: Tunnel, sender: int, receiver: int, spi: int) -> None:
        label = b"ESP AES-%d-CTR HMAC-SHA-256" % (256 if tunnel.is_256 else 128)
        ends = b"".join(word.to_bytes(4, "big") for word in (sender, receiver, spi))
        inputs = (n.to_bytes(4, "big") + label + b"\0" + ends + (768).to_bytes(4, "big") for n in (1, 2, 3))
        derived = b"".join(hmac.digest(tunnel.key, text, "sha256") for text in inputs)
        at = 32 if tunnel.is_256 else 16
        self.cipher = AesCtr(derived[:at], 0)
        self.nonce, self.hash_key = derived[at : at + 4], derived[at + 4 : at + 36]

    def crypt(self, iv: bytes, text: bytes) -> bytes:
        self.cipher.counter = int.from_bytes(self.nonce + iv + b"\0\0\0\1", "big")
        return bytes(a ^ b for a, b in zip(text, self.cipher.key_stream(len(text)), strict=True))

    def icv(self, text: bytes) -> bytes:
        return hmac.digest(self.hash_key, text, hashlib.sha256)[:ICV_BYTES]


@dataclass
class Session:
    spi: int
    keys: Keys
    window: Window = field(default_factory=Window)


def sum_of(data: bytes) -> int:
    total = sum(int.from_bytes(data[at : at + 2].ljust(2, b"\0"), "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def clamped(packet: bytes, largest: int) -> bytes:
    """With a lower MSS option, if it is a TCP segment of IPv4 that opens a connection and has a higher one."""
    tcp = (packet[0] & 15) * 4
    if packet[9] != TCP or int.from_bytes(packet[6:8], "big") & 0x1FFF or len(packet) < tcp + 20:
        return packet
    end = (packet[tcp + 12] >> 4) * 4
    if end < 20 or tcp + end > len(packet) or not packet[tcp + 13] & SYN:
        return packet
    at, most = 20, largest - 40
    while at < end and packet[tcp + at] != 0:
        if packet[tcp + at] == 1:
            at += 1
            continue
        if at + 1 >= end or packet[tcp + at + 1] < 2 or at + packet[tcp + at + 1] > end:
            break
        option = tcp + at
        if packet[option] == 2 and packet[option + 1] == 4:
            if int.from_bytes(packet[option + 2 : option + 4], "big") <= most:
                break
            out = bytearray(packet)
            out[option + 2 : option + 4] = most.to_bytes(2, "big")
            # At an odd offset the option's bytes stand in the other halves of two words (RFC 1071 2(B)).
            old, new = (
                int.from_bytes(m[option + 2 : option + 4], "little" if at % 2 else "big") for m in (packet, out)
            )
            total = (~old & 0xFFFF) + new + (~int.from_bytes(packet[tcp + 16 : tcp + 18], "big") & 0xFFFF)
            while total >> 16:
                total = (total & 0xFFFF) + (total >> 16)
            out[tcp + 16 : tcp + 18] = (~total & 0xFFFF).to_bytes(2, "big")
            return bytes(out)
        at += packet[tcp + at + 1]
    return packet


class CryptoTunnel:
    """`next_session` and `iv` are what the host writes."""

    def __init__(self, tunnel: Tunnel, next_session: int = 1, iv: int = 0) -> None:
        self.tunnel = tunnel
        self.next_session, self.iv = next_session, iv
        self.outbound: Session | None = None
        self.spi = self.sent = 0
        self.inbound: list[Session] = []  # the latest first, at most two

    def configure(self, **changes: Any) -> None:
        """Sessions end only where their keys do."""
        before = self.tunnel
        self.tunnel = replace(before, **changes)
        if any(getattr(before, name) != getattr(self.tunnel, name) for name in ("key", "local", "peer", "is_256")):
            self.outbound, self.inbound = None, []
        if before.session_packets != self.tunnel.session_packets:
            self.outbound = None

    def process(self, frame: bytes, direction: int = FORWARD) -> Verdict:
        if len(frame) > FRAME_BYTES_MAX:
            raise ValueError("frame: too long")
        headers = parse(frame)
        if headers.malformed:
            return drop("malformed")
        if not headers.is_ipv4:
            tagged = int.from_bytes(frame[12:14], "big") == VLAN
            at = 16 if tagged else 12
            return Verdict(frame=frame) if int.from_bytes(frame[at : at + 2], "big") == ARP else drop("unsupported")
        l3 = headers.l3_offset
        ethernet, packet = frame[: l3 - 2] + IPV4.to_bytes(2, "big"), frame[l3 : l3 + headers.ip_bytes]
        treat = self._protect if direction == self.tunnel.protects else self._unprotect
        result = treat(packet)
        return drop(result) if isinstance(result, str) else Verdict(frame=ethernet + result)

    def _protect(self, packet: bytes) -> bytes | str:
        tunnel = self.tunnel
        if len(packet) > tunnel.largest:
            return "too_big"
        if self.outbound is None or self.sent == tunnel.session_packets:
            if self.spi == LAST_SESSION:
                return "exhausted"
            self.spi = max(self.next_session, self.spi + 1)
            self.outbound = Session(self.spi, Keys(tunnel, tunnel.local, tunnel.peer, self.spi))
            self.sent = 0
        self.sent += 1
        iv = self.iv.to_bytes(8, "little")
        self.iv = (self.iv + 1) % (1 << 64)
        dscp = packet[1] & 0xFC
        text = clamped(packet, tunnel.largest) if tunnel.clamp_mss else packet
        padding = -(len(text) + 2) % 4
        text += bytes(range(1, padding + 1)) + bytes([padding, 4])
        esp = self.spi.to_bytes(4, "big") + self.sent.to_bytes(4, "big") + iv + self.outbound.keys.crypt(iv, text)
        esp += self.outbound.keys.icv(esp)
        if tunnel.udp:
            esp = (ESP_PORT.to_bytes(2, "big") * 2 + (8 + len(esp)).to_bytes(2, "big") + bytes(2)) + esp
        ip = bytearray([0x45, dscp, *(20 + len(esp)).to_bytes(2, "big"), 0, 0, 0x40, 0, 64, UDP if tunnel.udp else ESP])
        ip += bytes(2) + tunnel.local.to_bytes(4, "big") + tunnel.peer.to_bytes(4, "big")
        ip[10:12] = (~sum_of(bytes(ip)) & 0xFFFF).to_bytes(2, "big")
        return bytes(ip) + esp

    def _esp_of(self, packet: bytes) -> bytes | None:
        ends = int.from_bytes(packet[12:16], "big"), int.from_bytes(packet[16:20], "big")
        if ends != (self.tunnel.peer, self.tunnel.local) or int.from_bytes(packet[6:8], "big") & 0x3FFF:
            return None
        esp = packet[(packet[0] & 15) * 4 :]
        if packet[9] == UDP:
            if int.from_bytes(esp[2:4], "big") != ESP_PORT:
                return None
            esp = esp[8 : int.from_bytes(esp[4:6], "big")]
        elif packet[9] != ESP:
            return None
        return esp if len(esp) >= 36 and len(esp) % 4 == 0 else None

    def session_of(self, spi: int) -> Session | None:
        """A known one, or a candidate that is later than all known; None: there cannot be one."""
        for session in self.inbound:
            if session.spi == spi:
                return session
        if spi == 0 or (self.inbound and spi < self.inbound[0].spi):
            return None
        return Session(spi, Keys(self.tunnel, self.tunnel.peer, self.tunnel.local, spi))

    def _unprotect(self, packet: bytes) -> bytes | str:
        esp = self._esp_of(packet)
        if esp is None:
            return "not_protected"
        spi, sequence, iv = int.from_bytes(esp[:4], "big"), int.from_bytes(esp[4:8], "big"), esp[8:16]
        session = self.session_of(spi)
        if session is None:
            return "unknown_session"
        if not session.window.admits(sequence):
            return "replayed"
        if session.keys.icv(esp[:-ICV_BYTES]) != esp[-ICV_BYTES:]:
            return "bad_icv"
        if session not in self.inbound:
            self.inbound = [session, *self.inbound][:2]
        session.window.mark(sequence)
        text = session.keys.crypt(iv, esp[16:-ICV_BYTES])
        padding, following = text[-2], text[-1]
        if following == 41:
            return "unsupported"
        inner = text[: max(0, len(text) - 2 - padding)]
        if following != 4 or len(inner) < 20 or inner[0] >> 4 != 4:
            return "malformed"
        total = int.from_bytes(inner[2:4], "big")
        if not 20 <= (inner[0] & 15) * 4 <= total <= len(inner):
            return "malformed"
        return clamped(inner[:total], self.tunnel.largest) if self.tunnel.clamp_mss else inner[:total]

    # What the host does with sessions.
    def end_outbound(self, spi: int) -> None:
        """Ends the session in which packets are sent, unless it is later; the next one is later than `spi`."""
        if self.outbound is not None and self.spi > spi:
            return
        self.outbound, self.spi = None, max(self.spi, spi)

    def merge(self, spi: int, highest: int, seen: set[int]) -> None:
        """Takes in what another instance has received in a session."""
        session = next((one for one in self.inbound if one.spi == spi), None)
        if session is None:
            if len(self.inbound) == 2 and spi < self.inbound[1].spi:
                return
            session = Session(spi, Keys(self.tunnel, self.tunnel.peer, self.tunnel.local, spi))
            self.inbound = sorted([*self.inbound[:1], session], key=lambda one: -one.spi)
        window = session.window
        window.highest = max(window.highest, highest)
        window.seen = {one for one in window.seen | seen if window.highest - one < WINDOW}
