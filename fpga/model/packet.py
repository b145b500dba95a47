# SPDX-License-Identifier: Apache-2.0
"""Parse the headers of a frame exactly as rtl/common/hdr_parse.sv does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FRAME_BYTES_MAX = 2048
IPV4, VLAN = 0x0800, 0x8100
ETHERNET_BYTES, TAG_BYTES = 14, 4
ICMP, TCP, UDP = 1, 6, 17


@dataclass(frozen=True)
class Headers:
    """Numbers in host order; 0 if the frame has no such field."""

    is_ipv4: bool = False
    malformed: bool = False
    vlan: bool = False
    later_fragment: bool = False
    transport: bool = False
    protocol: int = 0
    ip_bytes: int = 0
    ip_checksum: int = 0
    src_ip: int = 0
    dst_ip: int = 0
    src_port: int = 0
    dst_port: int = 0
    tcp_flags: int = 0
    icmp_type: int = 0
    icmp_id: int = 0
    transport_checksum: int = 0
    l4_offset: int = 0
    payload_offset: int = 0
    payload_bytes: int = 0

    @property
    def l3_offset(self) -> int:
        return ETHERNET_BYTES + (TAG_BYTES if self.vlan else 0)


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")


def _long(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")


def _header_bytes(l4: bytes, protocol: int, whole: bool) -> int:
    """Length of the transport header, 0 if it is inconsistent with the packet."""
    if protocol == TCP:
        if len(l4) < 20:
            return 0
        length = (l4[12] >> 4) * 4
        return length if 20 <= length <= len(l4) else 0
    if len(l4) < 8:
        return 0
    if protocol == UDP:
        udp_bytes = _word(l4, 4)
        return 8 if udp_bytes >= 8 and (not whole or udp_bytes <= len(l4)) else 0
    return 8


def parse(frame: bytes) -> Headers:
    tagged = len(frame) >= ETHERNET_BYTES and _word(frame, 12) == VLAN
    l3 = ETHERNET_BYTES + (TAG_BYTES if tagged else 0)
    if len(frame) < l3:
        return Headers(malformed=True)
    if _word(frame, l3 - 2) != IPV4:
        return Headers()
    ip = frame[l3:]
    if len(ip) < 20:
        return Headers(is_ipv4=True, malformed=True)
    version, ihl = ip[0] >> 4, (ip[0] & 15) * 4
    total, fragment = _word(ip, 2), _word(ip, 6)
    offset = (fragment & 0x1FFF) * 8
    if version != 4 or ihl < 20 or total < ihl or total > len(ip) or offset + total > 65535:
        return Headers(is_ipv4=True, malformed=True)
    protocol, at = ip[9], l3 + ihl
    fields: dict[str, Any] = {
        "is_ipv4": True,
        "vlan": tagged,
        "later_fragment": offset != 0,
        "protocol": protocol,
        "ip_bytes": total,
        "ip_checksum": _word(ip, 10),
        "src_ip": _long(ip, 12),
        "dst_ip": _long(ip, 16),
        "l4_offset": at,
    }
    if offset != 0 or protocol not in (ICMP, TCP, UDP):
        return Headers(**fields)
    l4 = ip[ihl:total]
    header = _header_bytes(l4, protocol, whole=(fragment & 0x3FFF) == 0)
    if header == 0:
        return Headers(**fields, malformed=True)
    ports: dict[str, Any] = {} if protocol == ICMP else {"src_port": _word(l4, 0), "dst_port": _word(l4, 2)}
    echo: dict[str, Any] = {"icmp_type": l4[0], "icmp_id": _word(l4, 4)} if protocol == ICMP else {}
    return Headers(
        **fields,
        **ports,
        **echo,
        transport=True,
        tcp_flags=l4[13] & 0x3F if protocol == TCP else 0,
        transport_checksum=_word(l4, {TCP: 16, UDP: 6, ICMP: 2}[protocol]),
        payload_offset=at + header,
        payload_bytes=len(l4) - header,
    )
