# SPDX-License-Identifier: Apache-2.0
"""Send frames to a switch, and print what has come out of it when all the awaited ones have.

Standard input: {"frames": [[port, hexadecimal], ...], "awaited": [[port, hexadecimal], ...]}. The far end of a port's cable is
`<port>-far`. What comes in at one port leaves in order: what was sent there before an awaited frame has passed, too.
"""

import json
import select
import socket
import sys
import time

SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
LIMIT_S = 15.0
FILLER = bytes.fromhex("02000000ffff02000000fffe88b5") + bytes(50)
"""Which no program under test forwards. simple_switch leaves frames in its capture buffer until others come."""

asked = json.load(sys.stdin)
sockets = {}
for port in sys.argv[1:]:
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    end.bind((f"{port}-far", 3))
    sockets[port] = end
names = {end.fileno(): port for port, end in sockets.items()}
awaited = [list(each) for each in asked["awaited"]]
came = []
for port, text in asked["frames"]:
    sockets[port].send(bytes.fromhex(text))
limit = time.monotonic() + LIMIT_S
while awaited and time.monotonic() < limit:
    ready, _, _ = select.select(list(sockets.values()), [], [], 0.2)
    for end in ready:
        frame = [names[end.fileno()], end.recv(1 << 16).hex()]
        came.append(frame)
        if frame in awaited:
            awaited.remove(frame)
    if not ready:
        for end in sockets.values():
            end.send(FILLER)
print(json.dumps(came))
