# SPDX-License-Identifier: Apache-2.0
"""Send frames to a switch and print what comes out of it, in order for each port.

Standard input: {"frames": [[port, hexadecimal], ...], "ends": [[port, hexadecimal], ...]}. The far end of a port's cable is
`<port>-far`. Frames of `ends` come out, from each port to every port, and are sent
until all have, twice: then nothing of the others is under way.
"""

import json
import select
import socket
import sys

SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
BUFFER_BYTES = 8 << 20
ATTEMPTS_MAX = 50

asked = json.load(sys.stdin)
sockets = {}
for port in sys.argv[1:]:
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    end.bind((f"{port}-far", 3))
    sockets[port] = end
names = {end.fileno(): port for port, end in sockets.items()}
ends = {bytes.fromhex(text) for _, text in asked["ends"]}
came = []


def receive(timeout_s: float) -> set[bytes] | None:
    """The ends that came; None: nothing came."""
    ready, _, _ = select.select(list(sockets.values()), [], [], timeout_s)
    if not ready:
        return None
    found = set()
    for end in ready:
        frame = end.recv(1 << 16)
        if frame in ends:
            found.add(frame)
        else:
            came.append([names[end.fileno()], frame.hex()])
    return found


def send(frames: list[list[str]]) -> None:
    for port, text in frames:
        sockets[port].send(bytes.fromhex(text))


send(asked["frames"])
for _ in range(2):
    waiting = set(ends)
    attempts = 0
    while waiting:
        found = receive(0.2)
        waiting -= found or set()
        if found is None:
            # The first time, and again where a busy switch takes longer.
            attempts += 1
            if attempts > ATTEMPTS_MAX:
                sys.exit(f"{len(waiting)} frames never came out")
            send(asked["ends"])
while select.select(list(sockets.values()), [], [], 0)[0]:
    receive(0)
print(json.dumps(came))
