# SPDX-License-Identifier: Apache-2.0
"""Stand-in for a data plane: move frames from one hop to the next and out again, by destination MAC.

Arguments: interface, then `HOP=NEXT` pairs; NEXT is a hop or `exit`. Prints `ready`, then a line of JSON for each new
kind of frame.
"""

import json
import socket
import sys

GATEWAY = bytes.fromhex("020efffffffe")
PACKET_OUTGOING = 4


def main() -> None:
    interface = sys.argv[1]
    following = dict(pair.split("=") for pair in sys.argv[2:])
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.bind((interface, 0))
    own = wire.getsockname()[4]
    print("ready", flush=True)
    seen = set()
    while True:
        frame, address = wire.recvfrom(70000)
        if address[2] == PACKET_OUTGOING:
            continue
        hop = str(int.from_bytes(frame[2:4], "big"))
        kind = (frame[:6].hex(":"), frame[6:12].hex(":"), len(frame) > 1514)
        if kind not in seen and len(seen) < 1000:
            seen.add(kind)
            print(json.dumps({"dst": kind[0], "src": kind[1], "too_long": kind[2]}), flush=True)
        if hop not in following:
            continue
        onward = following[hop]
        if onward == "exit":
            wire.send(GATEWAY + own + frame[12:])
        else:
            wire.send(bytes.fromhex(f"020e{int(onward):04x}0000") + bytes.fromhex("0600000000aa") + frame[12:])


if __name__ == "__main__":
    main()
