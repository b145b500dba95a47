# SPDX-License-Identifier: Apache-2.0
"""Send frames, then one that a host may send. Arguments: `frames` or `fragments`, interface, destination, count, seed.

`frames` are those that no host may send: behind addresses and tags comes a UDP packet to the destination. `fragments`
are of TCP segments to port 80 of the destination: two or three in any order, the first often with little more than the
ports. All packets contain `forged`, the last one `genuine` instead.
"""

import itertools
import random
import socket
import struct
import sys

GATEWAY = bytes.fromhex("020efffffffe")
IP_TYPES = (0x0800, 0x86DD)


def ipv4(source: str, destination: str, protocol: int, body: bytes, number: int = 0, fragment: int = 0) -> bytes:
    ends = map(socket.inet_aton, (source, destination))
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), number, fragment, 64, protocol, 0, *ends)
    total = sum(struct.unpack("!10H", head))
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return head[:10] + struct.pack("!H", checksum) + head[12:] + body


def udp(source: str, destination: str, payload: bytes) -> bytes:
    return ipv4(source, destination, 17, struct.pack("!HHHH", 4000, 9, 8 + len(payload), 0) + payload)


def fragments(chance: random.Random, source: str, destination: str, number: int) -> list[bytes]:
    segment = struct.pack("!HHIIBBHHH", 4000, 80, 1, 0, 0x50, 0x02, 1024, 0, 0) + b"forged" * 20
    cuts = sorted(chance.sample(range(4, len(segment) // 8), chance.choice((1, 2))))
    if chance.random() < 0.5:
        cuts[0] = 1
    edges = [0, *(8 * cut for cut in cuts), len(segment)]
    parts = [
        ipv4(source, destination, 6, segment[lo:hi], number, (0x2000 if hi < len(segment) else 0) | lo // 8)
        for lo, hi in itertools.pairwise(edges)
    ]
    return chance.sample(parts, len(parts))


def forged(chance: random.Random, own: bytes, packet: bytes) -> bytes:
    def address() -> bytes:
        kinds = [
            GATEWAY,
            own,
            b"\xff" * 6,
            struct.pack("!HHH", 0x020E, chance.randrange(1, 4), chance.choice((0, 1, 0xFFFF))),
            b"\x06" + chance.randbytes(5),
            chance.randbytes(6),
        ]
        return chance.choice(kinds)

    while True:
        destination, source = address(), address()
        tags = b"".join(
            struct.pack("!HH", chance.choice((0x8100, 0x88A8)), chance.randrange(4096))
            for _ in range(chance.choice((0, 0, 1, 1, 2, 3)))
        )
        kind = chance.choice((*IP_TYPES, 0x0806, 0x88B5, chance.randrange(0x600, 0x10000)))
        if (destination, source, tags) != (GATEWAY, own, b"") or kind not in IP_TYPES:
            return destination + source + tags + struct.pack("!H", kind) + packet


def main() -> None:
    kind, interface, destination, count, seed = sys.argv[1:]
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    wire.bind((interface, 0))
    own = wire.getsockname()[4]
    chance = random.Random(int(seed))
    source = "10.0.1.1"
    allowed = GATEWAY + own + b"\x08\x00"
    packet = udp(source, destination, b"forged" * 10)
    for number in range(int(count)):
        if kind == "frames":
            wire.send(forged(chance, own, packet))
        else:
            for part in fragments(chance, source, destination, number):
                wire.send(allowed + part)
    wire.send(allowed + udp(source, destination, b"genuine" * 10))


if __name__ == "__main__":
    main()
