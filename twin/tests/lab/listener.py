# SPDX-License-Identifier: Apache-2.0
"""Print `ready`, then for each frame received its first 40 bytes if it has `forged`, or `genuine` if it has that."""

import socket
import sys

PACKET_OUTGOING = 4


def main() -> None:
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    wire.bind((sys.argv[1], 0))
    print("ready", flush=True)
    while True:
        frame, address = wire.recvfrom(70000)
        if address[2] == PACKET_OUTGOING:
            continue
        if b"forged" in frame:
            print(frame[:40].hex(), flush=True)
        elif b"genuine" in frame:
            print("genuine", flush=True)


if __name__ == "__main__":
    main()
