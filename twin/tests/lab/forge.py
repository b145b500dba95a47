# SPDX-License-Identifier: Apache-2.0
"""Send frames that no host may send, then one that it may. Arguments: interface, destination address, frames, seed.

All contain `forged`, the last one `genuine` instead. Behind addresses and tags comes a UDP packet to the destination.
"""

import random
import socket
import struct
import sys

GATEWAY = bytes.fromhex("020efffffffe")
IP_TYPES = (0x0800, 0x86DD)


def udp(source: str, destination: str, payload: bytes) -> bytes:
    body = struct.pack("!HHHH", 4000, 9, 8 + len(payload), 0) + payload
    head = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, 17, 0, *map(socket.inet_aton, (source, destination))
    )
    total = sum(struct.unpack("!10H", head))
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return head[:10] + struct.pack("!H", checksum) + head[12:] + body


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
    interface, destination, count, seed = sys.argv[1:]
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    wire.bind((interface, 0))
    own = wire.getsockname()[4]
    chance = random.Random(int(seed))
    packet = udp("10.0.1.1", destination, b"forged" * 10)
    for _ in range(int(count)):
        wire.send(forged(chance, own, packet))
    wire.send(GATEWAY + own + b"\x08\x00" + udp("10.0.1.1", destination, b"genuine" * 10))


if __name__ == "__main__":
    main()
