# SPDX-License-Identifier: Apache-2.0
"""What a module does with a frame."""

from __future__ import annotations

from dataclasses import dataclass

from model.packet import Headers

FORWARD, RETURN = 0, 1


@dataclass(frozen=True)
class Verdict:
    """A dropped frame has a reason; a forwarded one its bytes, changed or not."""

    drop_reason: str | None = None
    frame_class: int = 0
    frame: bytes = b""
    waits: bool = False  # in a miss buffer; neither dropped nor forwarded yet


def drop(reason: str) -> Verdict:
    return Verdict(drop_reason=reason)


def flow_key(headers: Headers, direction: int) -> bytes:
    """Addresses, ports and protocol of a flow, as in its forward packets."""
    src = headers.src_ip.to_bytes(4, "big"), headers.src_port.to_bytes(2, "big")
    dst = headers.dst_ip.to_bytes(4, "big"), headers.dst_port.to_bytes(2, "big")
    if direction == RETURN:
        src, dst = dst, src
    return src[0] + dst[0] + src[1] + dst[1] + bytes([headers.protocol])
