# SPDX-License-Identifier: Apache-2.0
"""Send frames to a switch and print what comes out of it, in order for each port.

Standard input: {"frames": [[port, hexadecimal], ...], "ends": [[port, hexadecimal], ...]}. The far end of a port's cable is
`<port>-far`. Frames of `ends` come out, from each port to every port: when all have, nothing of the others is under way.
"""

import json
import select
import socket
import sys

SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
BUFFER_BYTES = 8 << 20

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


def receive(timeout_s: float) -> int:
    """How many of the ends came."""
    ready, _, _ = select.select(list(sockets.values()), [], [], timeout_s)
    if not ready and timeout_s:
        sys.exit("the switch passes nothing")
    found = 0
    for end in ready:
        frame = end.recv(1 << 16)
        if frame in ends:
            found += 1
        else:
            came.append([names[end.fileno()], frame.hex()])
    return found


for port, text in asked["frames"]:
    sockets[port].send(bytes.fromhex(text))
for _ in range(2):
    for port, text in asked["ends"]:
        sockets[port].send(bytes.fromhex(text))
    waiting = len(asked["ends"])
    while waiting:
        waiting -= receive(10)
while select.select(list(sockets.values()), [], [], 0)[0]:
    receive(0)
print(json.dumps(came))
