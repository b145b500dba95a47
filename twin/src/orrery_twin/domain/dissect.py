# SPDX-License-Identifier: Apache-2.0
"""Addresses and ports of a captured Ethernet frame. Fields beyond the end of a short frame are absent."""

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address

ETHERTYPES = {0x0806: "arp", 0x86DD: "ipv6", 0x894F: "nsh"}
PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 47: "gre", 50: "esp", 132: "sctp"}
VLAN = (0x8100, 0x88A8)
IPV4 = 0x0800


@dataclass(frozen=True)
class Dissected:
    protocol: str
    src: str | None = None
    dst: str | None = None
    src_port: int | None = None
    dst_port: int | None = None


def dissect(frame: bytes) -> Dissected:
    offset = 12
    while len(frame) >= offset + 2:
        ethertype = int(struct.unpack_from("!H", frame, offset)[0])
        offset += 2
        if ethertype not in VLAN:
            break
        offset += 2
    else:
        return Dissected("truncated")
    if ethertype != IPV4:
        return Dissected(ETHERTYPES.get(ethertype, f"ethertype-{ethertype:04x}"))
    if len(frame) < offset + 20 or frame[offset] >> 4 != 4:
        return Dissected("ipv4")
    header_bytes = (frame[offset] & 0xF) * 4
    number = frame[offset + 9]
    src, dst = (str(IPv4Address(frame[offset + place : offset + place + 4])) for place in (12, 16))
    protocol = PROTOCOLS.get(number, f"ip-{number}")
    is_later_fragment = struct.unpack_from("!H", frame, offset + 6)[0] & 0x1FFF != 0
    transport = offset + header_bytes
    if protocol not in ("tcp", "udp", "sctp") or is_later_fragment or len(frame) < transport + 4 or header_bytes < 20:
        return Dissected(protocol, src, dst)
    src_port, dst_port = struct.unpack_from("!HH", frame, transport)
    return Dissected(protocol, src, dst, src_port, dst_port)
