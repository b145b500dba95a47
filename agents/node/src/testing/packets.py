# SPDX-License-Identifier: Apache-2.0
"""Send UDP packets that carry a hop tag and print, as JSON, what comes back on the same interface."""

import argparse
import json
import socket
import struct
import time
from pathlib import Path

ETH_P_ALL = 0x0003
ETH_P_IP = 0x0800
PAYLOAD = b"orrery-lab"
SO_RCVBUFFORCE = 33
# For some 10,000 frames, sent ones among them: this program may have to wait for a core for seconds.
RECEIVE_BUFFER_BYTES = 16 << 20


def checksum(data: bytes) -> int:
    """Compute the Internet checksum (RFC 1071); 0 over data that includes a correct one."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def udp_frame(arguments: argparse.Namespace, number: int) -> bytes:
    """Build a frame whose destination MAC is the tag `02:0e:HH:HH:MM:MM`; its number is its IP identification."""
    port = arguments.sport + number % arguments.flows
    source, target = socket.inet_aton(arguments.src), socket.inet_aton(arguments.dst)
    length = 8 + len(PAYLOAD)
    udp = struct.pack("!HHHH", port, arguments.dport, length, 0) + PAYLOAD
    pseudo = source + target + struct.pack("!BBH", 0, socket.IPPROTO_UDP, length)
    udp = udp[:6] + struct.pack("!H", checksum(pseudo + udp)) + udp[8:]
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, number, 0, 64, socket.IPPROTO_UDP, 0) + source + target
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    tag = bytes.fromhex("020e") + struct.pack("!HH", arguments.hop, arguments.metadata)
    return tag + bytes.fromhex(arguments.src_mac.replace(":", "")) + struct.pack("!H", ETH_P_IP) + header + udp


def describe(frame: bytes) -> dict[str, object] | None:
    """Parse one of our frames; None for other traffic."""
    if len(frame) < 42 or frame[12:14] != struct.pack("!H", ETH_P_IP) or frame[23] != socket.IPPROTO_UDP:
        return None
    length = struct.unpack("!H", frame[16:18])[0]
    source_port, target_port, udp_length = struct.unpack("!HHH", frame[34:40])
    pseudo = frame[26:34] + struct.pack("!BBH", 0, socket.IPPROTO_UDP, udp_length)
    return {
        "dst_mac": frame[0:6].hex(":"),
        "src_mac": frame[6:12].hex(":"),
        "src": socket.inet_ntoa(frame[26:30]),
        "dst": socket.inet_ntoa(frame[30:34]),
        "number": struct.unpack("!H", frame[18:20])[0],
        "ttl": frame[22],
        "sport": source_port,
        "dport": target_port,
        "intact": checksum(frame[14:34]) == 0
        and checksum(pseudo + frame[34 : 14 + length]) == 0
        and frame[42 : 14 + length] == PAYLOAD,
    }


def main() -> None:
    """Run until `--expect` packets arrive or the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iface", required=True)
    parser.add_argument("--out-iface", help="where packets come out; absent: where they are sent")
    parser.add_argument("--hop", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--expect", type=int, required=True)
    parser.add_argument("--metadata", type=int, default=0)
    parser.add_argument("--src", default="10.0.1.2")
    parser.add_argument("--dst", default="10.0.2.2")
    parser.add_argument("--sport", type=int, default=5000)
    parser.add_argument("--dport", type=int, default=80)
    parser.add_argument("--src-mac", default="0a:00:00:00:00:02")
    parser.add_argument("--rate", type=float, default=0, help="packets per second; 0: all at once")
    parser.add_argument("--flows", type=int, default=1 << 16, help="by source port, in turn")
    parser.add_argument("--until", type=Path, help="sends no more once this file is there, and writes into it how many")
    parser.add_argument("--seconds", type=float, default=5, help="to wait after the last one")
    arguments = parser.parse_args()

    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
    raw.bind((arguments.iface, ETH_P_ALL))
    out = raw
    if arguments.out_iface:
        out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        out.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
        out.bind((arguments.out_iface, ETH_P_ALL))
    interval = 1 / arguments.rate if arguments.rate else 0
    found: list[dict[str, object]] = []
    sent, due = 0, time.monotonic()
    deadline = due + arguments.seconds
    while len(found) < arguments.expect and time.monotonic() < deadline:
        if arguments.until and sent < arguments.count and arguments.until.exists():
            arguments.until.write_text(str(sent))
            arguments.count, arguments.expect = sent, min(arguments.expect, sent)
        while sent < arguments.count and due <= time.monotonic():
            raw.send(udp_frame(arguments, sent))
            sent, due = sent + 1, due + interval
            deadline = time.monotonic() + arguments.seconds
        until = due if sent < arguments.count else deadline
        out.settimeout(max(0.0001, until - time.monotonic()))
        try:
            frame, address = out.recvfrom(2048)
        except TimeoutError:
            continue
        if address[2] != socket.PACKET_OUTGOING and (packet := describe(frame)):
            found.append(packet)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
