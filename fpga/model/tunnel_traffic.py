# SPDX-License-Identifier: Apache-2.0
"""Frames for one end of a crypto tunnel: packets to protect, and what the other end and others send to it."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from typing import Any

from model import random_frames
from model.crypto_tunnel import CryptoTunnel, Tunnel
from model.packet import TCP, parse
from model.verdict import FORWARD, RETURN

NEAR, FAR = 0xC0000201, 0xC0000202  # 192.0.2.1, 192.0.2.2
KEY = bytes.fromhex("00112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0f")
Record = tuple[int, bytes]  # direction, frame


def near_end(**settings: Any) -> Tunnel:
    return replace(Tunnel(key=KEY, local=NEAR, peer=FAR), **settings)


def far_end(near: Tunnel) -> Tunnel:
    return replace(near, local=near.peer, peer=near.local, protects=1 - near.protects)


def opening(rng: random.Random) -> bytes:
    """A TCP segment that may open a connection, with options of which some contradict themselves."""
    options = b"".join(
        rng.choice([b"\x01", b"\x01\x01", b"\x04\x02", b"\x03\x03\x07", b"\x08\x0a" + rng.randbytes(8)])
        for _ in range(rng.randrange(4))
    )
    mss = b"\x02\x04" + rng.choice([1460, 1398, 1399, 1406, 1407, 536, 65535, 8960]).to_bytes(2, "big")
    wrong = rng.choice([b"\x02\x03\x05", b"\x05\x00", b"\x05\x01", b"\x00", b"\x09\x28", b"\x02"])
    options = rng.choice([options + mss, options + mss, mss + options, options, options + wrong + mss])[:40]
    options += bytes(-len(options) % 4)
    flags = rng.choice([2, 2, 2, 0x12, 0x10])
    tcp = struct.pack(">HHIIBBHHH", 1234, 80, 7, 0, (20 + len(options)) << 2, flags, 512, rng.randrange(65536), 0)
    tcp += options + rng.randbytes(rng.randrange(9))
    words = rng.choice([0] * 5 + [1, 10])
    first, fragment = 0x45 + words, rng.choice([0] * 9 + [0x2000, 7])
    header = struct.pack(
        ">BBHHHBBHII", first, rng.randrange(256), 20 + 4 * words + len(tcp), 9, fragment, 64, TCP, 0, 1, 2
    )
    return rng.randbytes(12) + b"\x08\0" + header + bytes([1] * 4 * words) + tcp


def packet(rng: random.Random) -> bytes:
    """A frame to protect."""
    kind = rng.random()
    if kind < 0.25:
        return opening(rng)
    if kind < 0.35:  # about as long as is carried, and a little longer
        size = rng.randrange(1430, 1451)
        header = struct.pack(">BBHHHBBHII", 0x45, 0, size, 9, 0, 64, 47, 0, 1, 2)
        return rng.randbytes(12) + b"\x08\0" + header + rng.randbytes(size - 20)
    if kind < 0.6:  # of every small length, also with padding behind it
        size = rng.randrange(20, 80)
        header = struct.pack(">BBHHHBBHII", 0x45, rng.randrange(256), size, 9, 0, 64, 47, 0, 1, 2)
        whole = rng.randbytes(12) + b"\x08\0" + header + rng.randbytes(size - 20)
        return whole.ljust(rng.choice([0, 60]), b"\0")
    return random_frames.frame(rng)


class FarEnd:
    """Seals packets as the other end does, and as somebody who would like to be it."""

    def __init__(self, near: Tunnel, rng: random.Random) -> None:
        self.tunnel = far_end(near)
        self.rng = rng
        self.first = 1000
        self.end = CryptoTunnel(self.tunnel, self.first, rng.getrandbits(64))
        self.sent: list[bytes] = []

    def sealed(self, frame: bytes) -> bytes | None:
        out = self.end.process(frame, self.tunnel.protects)
        return out.frame if out.drop_reason is None else None

    def frame(self) -> bytes:
        """What comes to the near end next."""
        rng, kind = self.rng, self.rng.random()
        if kind < 0.05:
            return packet(rng)
        if kind < 0.13 and self.sent:  # again, perhaps so old that the window has moved on
            return rng.choice(self.sent[-5:] if rng.random() < 0.5 else self.sent)
        if kind < 0.15:
            self.end.outbound = None  # the next session, after some that nobody hears of
            self.end.next_session = self.end.spi + rng.randrange(1, 4)
        if kind < 0.2:
            self.end.sent += rng.choice([1, 63, 64, 65, 500, 1100])
        whole = self.sealed(packet(rng))
        if whole is None:
            return self.frame()
        if parse(whole).malformed:
            raise AssertionError("what was sealed is well-formed")
        self.sent.append(whole)
        return self.spoiled(whole) if rng.random() < 0.2 else whole

    def spoiled(self, whole: bytes) -> bytes:
        rng, headers = self.rng, parse(whole)
        out = bytearray(whole)
        esp = headers.l4_offset + (8 if self.tunnel.udp else 0)
        kind = rng.randrange(8)
        if kind == 0:  # any bit behind the outer header
            out[rng.randrange(esp, len(out))] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[esp : esp + 4] = rng.choice([0, 1, 999, 1001, 2**32 - 1]).to_bytes(4, "big")
        elif kind == 2:
            out[esp + 4 : esp + 8] = rng.choice([0, 1, 2**32 - 1]).to_bytes(4, "big")
        elif kind == 3:  # a fragment, or said to be one
            out[headers.l3_offset + 6] ^= rng.choice([0x20, 0x01])
        elif kind == 4:
            out[headers.l3_offset + rng.randrange(12, 20)] ^= 1
        elif kind == 5:
            out[headers.l4_offset + 3] ^= 1  # with UDP, the port
        elif kind == 6:  # shorter, in agreement with its headers
            cut = rng.randrange(1, 80)
            size = headers.ip_bytes - cut
            if size < 40:
                return bytes(out)
            out[headers.l3_offset + 2 : headers.l3_offset + 4] = size.to_bytes(2, "big")
            if self.tunnel.udp:
                out[headers.l4_offset + 4 : headers.l4_offset + 6] = (size - 20).to_bytes(2, "big")
        else:  # with padding behind it, in UDP or in the frame
            out += bytes(rng.randrange(1, 9))
        return bytes(out)

    def trailer(self, text: bytes, padding: int, following: int) -> bytes:
        """An authentic packet with any text and trailer."""
        end = self.end
        assert end.outbound is not None
        end.sent += 1
        iv = self.rng.randbytes(8)
        whole = text + bytes([padding, following])
        esp = end.spi.to_bytes(4, "big") + end.sent.to_bytes(4, "big") + iv + end.outbound.keys.crypt(iv, whole)
        esp += end.outbound.keys.icv(esp)
        ends = self.tunnel.local.to_bytes(4, "big") + self.tunnel.peer.to_bytes(4, "big")
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(esp), 0, 0, 64, 50, 0) + ends
        return bytes(12) + b"\x08\0" + ip + esp


def odd_trailers(far: FarEnd) -> list[bytes]:
    """Texts that are authentic, with paddings and packets that are not what they should be."""
    rng = far.rng
    inner = struct.pack(">BBHHHBBHII", 0x45, 0, 46, 9, 0, 64, 47, 0, 1, 2) + rng.randbytes(26)
    short = [inner[:n] for n in (2, 6, 18, 22, 42)]
    wrong = [b"\x65" + inner[1:], b"\x44" + inner[1:], b"\x4f" + inner[1:], inner[:2] + b"\x00\x13" + inner[4:]]
    wrong += [
        inner[:2] + b"\x00\x2f" + inner[4:],
        inner[:2] + b"\xff\xff" + inner[4:],
        inner[:2] + b"\x08\x2e" + inner[4:],
    ]
    frames = [far.trailer(text, 0, 4) for text in [*short, *wrong, inner]]
    frames += [far.trailer(inner + bytes(padding), padding, 4) for padding in (4, 252)]
    frames += [far.trailer(inner + bytes(252), padding, 4) for padding in (0, 100, 251, 253, 255)]
    frames += [far.trailer(inner, padding, 4) for padding in (1, 26, 27, 46, 47, 255)]
    return frames + [far.trailer(inner, 0, following) for following in (0, 6, 5, 59)]


def traffic(near: Tunnel, seed: int, count: int) -> list[Record]:
    """To the near end, in both directions; the first frame is one that it encrypts."""
    rng = random.Random(seed)
    far = FarEnd(near, rng)
    out, back = near.protects, 1 - near.protects
    plain = bytes(12) + b"\x08\0" + struct.pack(">BBHHHBBHII", 0x45, 0, 46, 9, 0, 64, 47, 0, 1, 2) + bytes(26)
    records = [(out, plain)]
    while len(records) < count:
        records.append((out, packet(rng)) if rng.random() < 0.4 else (back, far.frame()))
        if len(records) == count // 2:
            records += [(back, frame) for frame in odd_trailers(far)]
    return records


__all__ = ["FORWARD", "RETURN", "FarEnd", "Record", "far_end", "near_end", "traffic"]
