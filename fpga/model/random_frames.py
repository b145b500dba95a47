# SPDX-License-Identifier: Apache-2.0
"""Random frames for comparing RTL, golden models and software."""

from __future__ import annotations

import random
import struct

from model.packet import VLAN

IPV6 = 0x86DD
SERVICE_VLAN = 0x88A8  # the outer TPID of IEEE 802.1ad


def is_for_software_alone(whole: bytes) -> bool:
    """Whether the frame has IPv6, a second VLAN tag or one of 802.1ad, into or behind which boards do not look."""
    ether_type, inner = (int.from_bytes(whole[at : at + 2], "big") for at in (12, 16))
    if ether_type == VLAN:
        ether_type = inner
    return ether_type in (IPV6, VLAN, SERVICE_VLAN)


def payload(rng: random.Random) -> bytes:
    texts = [b"GET / HTTP/1.1", b"id=1' OR 1=1", b"UNION+SELECT", b"; drop table x", b"x" * rng.randrange(1200)]
    return rng.choice([*texts, rng.randbytes(rng.randrange(60))])


def transport(rng: random.Random, proto: int, victim: bool) -> bytes:
    ports = (1000 + rng.randrange(4), rng.choice([80, 80, 81, 443]))
    data = payload(rng)
    if proto == 6:
        syn = victim and rng.random() < 0.7
        flags = 2 if syn else rng.choice([2, 2, 2, 16, 16, 24, 18, 17, 4, 20, 0, 8, 3, 6])
        offset = rng.choice([0x50] * 20 + [0x60, 0x40, 0xF0])
        return struct.pack(">HHIIBBHHH", *ports, 1, 1, offset, flags, 100, 0, 0) + data
    if proto == 17:
        length = 8 + len(data) if rng.random() > 0.1 else rng.randrange(3000)
        return struct.pack(">HHHH", *ports, length, 0) + data
    return bytes([rng.choice([0, 8, 3]), 0, 0, 0, 0, ports[0] & 255, 0, 1]) + data if proto == 1 else data


def with_tag(whole: bytes, tci: int = 0, tpid: int = VLAN) -> bytes:
    """Insert one more VLAN tag into the frame."""
    return whole[:12] + struct.pack(">HH", tpid, tci) + whole[12:]


def randomly_tagged(rng: random.Random, whole: bytes) -> bytes:
    """Mostly one tag; also two, behind which boards do not look, and frames that end in or after a tag."""
    kind = rng.random()
    out = with_tag(whole, rng.randrange(65536))
    if kind < 0.15:
        return with_tag(out, rng.randrange(65536), rng.choice([VLAN, SERVICE_VLAN]))
    return out[: rng.randrange(14, 19)] if kind < 0.25 else out


def frame(rng: random.Random) -> bytes:
    """Mostly valid IPv4; also IPv6, other protocols, options, fragments, VLAN tags, bad lengths, truncated frames."""
    whole = ipv4(rng) if rng.random() > 0.05 else not_ipv4(rng)
    return randomly_tagged(rng, whole) if rng.random() < 0.15 else whole


def not_ipv4(rng: random.Random) -> bytes:
    """ARP, or a SYN in IPv6."""
    if rng.random() < 0.5:
        return rng.randbytes(12) + b"\x08\x06" + bytes(28)
    l4 = transport(rng, 6, victim=True)
    return bytes(12) + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(l4), 6, 64) + rng.randbytes(32) + l4


def ipv4(rng: random.Random) -> bytes:
    proto = rng.choice([6, 6, 6, 6, 6, 6, 17, 1, 47])
    source = 0x0A000000 | rng.randrange(6)
    target = 0xC0A80000 | (0 if rng.random() < 0.5 else rng.randrange(40))
    options = rng.randrange(11) if rng.random() < 0.1 else 0
    l4 = transport(rng, proto, target == 0xC0A80000)
    header = 20 + 4 * options
    total = header + len(l4) if rng.random() > 0.02 else rng.randrange(2000)
    first = 0x40 | header // 4 if rng.random() > 0.01 else rng.randrange(256)
    fragment = rng.choice([0] * 30 + [0x2000, 5, 0x2005, 8191])
    ip = struct.pack(">BBHHHBBHII", first, 0, total, 1, fragment, 64, proto, 0, source, target) + b"\x01" * (
        4 * options
    )
    whole = bytes(12) + b"\x08\x00" + ip + l4 + bytes(rng.choice([0] * 8 + [6, 20]))
    if rng.random() < 0.04:
        whole = whole[: rng.randrange(14, len(whole) + 1)]
    return whole[:1514]


def turned(whole: bytes) -> bytes:
    """Swap the addresses, as in replies."""
    at = 30 if whole[12:14] == VLAN.to_bytes(2, "big") else 26
    if len(whole) < at + 8:
        return whole
    return whole[:at] + whole[at + 4 : at + 8] + whole[at : at + 4] + whole[at + 8 :]
