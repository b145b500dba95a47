# SPDX-License-Identifier: Apache-2.0
"""Build frames: valid ones by field, and random ones with every kind of error."""

from __future__ import annotations

import random
import struct

from model.random_frames import randomly_tagged

MAC = bytes.fromhex("020e0001000002000000000a")
# Longer than a slot accepts, on both sides of where beat and byte counters might wrap.
OVERSIZE_BYTES = (2049, 4096, 8184, 8185, 8191, 8192, 8193, 9000, 9001, 16384)
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total: int = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def _with_checksum(l4: bytes, at: int, pseudo: bytes) -> bytes:
    return l4[:at] + struct.pack(">H", checksum(pseudo + l4)) + l4[at + 2 :]


def ipv4(
    src: int,
    dst: int,
    protocol: int,
    l4: bytes,
    *,
    options: bytes = b"",
    fragment: int = 0,
    mac: bytes = MAC,
    ttl: int = 64,
) -> bytes:
    """A frame around `l4`; `options` must be a multiple of 4 bytes long."""
    ihl = 5 + len(options) // 4
    head = (
        struct.pack(">BBHHHBBHII", 0x40 | ihl, 0, ihl * 4 + len(l4), 1, fragment, ttl, protocol, 0, src, dst) + options
    )
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    return mac + b"\x08\x00" + head + l4


def tcp(src: int, dst: int, sport: int, dport: int, flags: int, payload: bytes = b"", **ip: object) -> bytes:
    l4 = struct.pack(">HHIIBBHHH", sport, dport, 1, 2, 0x50, flags, 8192, 0, 0) + payload
    pseudo = struct.pack(">IIBBH", src, dst, 0, 6, len(l4))
    return ipv4(src, dst, 6, _with_checksum(l4, 16, pseudo), **ip)  # type: ignore[arg-type]


def udp(
    src: int, dst: int, sport: int, dport: int, payload: bytes = b"", *, summed: bool = True, **ip: object
) -> bytes:
    l4 = struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload
    pseudo = struct.pack(">IIBBH", src, dst, 0, 17, len(l4))
    return ipv4(src, dst, 17, _with_checksum(l4, 6, pseudo) if summed else l4, **ip)  # type: ignore[arg-type]


def icmp(src: int, dst: int, kind: int, identifier: int, payload: bytes = b"", **ip: object) -> bytes:
    l4 = struct.pack(">BBHHH", kind, 0, 0, identifier, 7) + payload
    return ipv4(src, dst, 1, _with_checksum(l4, 2, b""), **ip)  # type: ignore[arg-type]


def overlong(frame: bytes, size: int) -> bytes:
    """A frame with these headers that is too long for a slot."""
    return frame.ljust(size, b"\0")


class RandomFrames:
    """Frames among a few hosts, so that flows recur; about a third is irregular in some way."""

    def __init__(self, seed: int, hosts: int = 4, ports: int = 3) -> None:
        self.random = random.Random(seed)
        self.hosts = [0x0A000001 + n for n in range(hosts)]
        self.ports = [80, 443, 5000, 5001, 33000][:ports]

    def _payload(self) -> bytes:
        size = self.random.choice([0, 0, 1, 2, 3, 5, 7, 26, 40, 200])
        return self.random.randbytes(size)

    def sound(self) -> bytes:
        r = self.random
        src, dst = r.sample(self.hosts, 2)
        sport, dport = r.choice(self.ports), r.choice(self.ports)
        options = r.randbytes(4 * r.choice([0, 0, 0, 1, 2, 5, 10]))
        kind = r.random()
        if kind < 0.6:
            flags = r.choice(
                [SYN, SYN, SYN | ACK, ACK, ACK, ACK | PSH, FIN | ACK, FIN, RST, RST | ACK, 0, SYN | FIN, 63]
            )
            return tcp(src, dst, sport, dport, flags, self._payload(), options=options)
        if kind < 0.85:
            return udp(src, dst, sport, dport, self._payload(), summed=r.random() < 0.8, options=options)
        return icmp(src, dst, r.choice([0, 8, 8, 0, 3, 11, 13]), r.choice(self.ports), self._payload(), options=options)

    def odd(self) -> bytes:
        r = self.random
        frame = bytearray(self.sound())
        kind = r.randrange(12)
        if kind == 0:
            return bytes(frame[: r.randint(1, len(frame))])  # cut anywhere
        if kind == 1:
            return r.randbytes(r.randint(1, 80))
        if kind == 2:
            frame[12:14] = r.choice([b"\x86\xdd", b"\x08\x06", b"\x81\x00", b"\x08\x01"])
        elif kind == 3:
            frame[14] = r.randrange(256)  # version and IHL
        elif kind == 4:
            frame[16:18] = struct.pack(
                ">H", r.choice([0, 19, 20, 27, 28, 39, 40, len(frame) - 14, len(frame) - 13, 65535])
            )
        elif kind == 5:
            frame[20:22] = struct.pack(">H", r.choice([0x2000, 0x2000, 0x2001, 1, 185, 0x1FFF, 0x4000]))
            if frame[23] == 17 and r.random() < 0.5:  # the length of the whole datagram
                at = 14 + 4 * (frame[14] & 15) + 4
                frame[at : at + 2] = b"\x08\x00"
        elif kind == 6:
            frame[23] = r.choice([2, 47, 50, 58, 0, 255])
        elif kind == 7:
            at = 14 + 4 * (frame[14] & 15) + 12
            if at < len(frame):
                frame[at] = r.randrange(256)  # TCP data offset
        elif kind == 8:
            at = 14 + 4 * (frame[14] & 15) + 4
            frame[at : at + 2] = struct.pack(">H", r.choice([0, 7, 8, 9, 65535]))  # UDP length
        elif kind == 9:
            return bytes(frame) + r.randbytes(r.choice([1, 6, 46]))  # padding
        elif kind == 10:
            return bytes(frame) + r.randbytes(r.choice([2048, 2049, 2055, 2056]) - len(frame))  # longest and over-long
        else:
            frame[r.randrange(len(frame))] ^= 1 << r.randrange(8)
        return bytes(frame)

    def next(self) -> bytes:
        frame = self.odd() if self.random.random() < 0.33 else self.sound()
        return randomly_tagged(self.random, frame) if self.random.random() < 0.15 else frame
