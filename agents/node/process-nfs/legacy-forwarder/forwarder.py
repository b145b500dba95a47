# SPDX-License-Identifier: Apache-2.0
"""Forward frames between two interfaces over raw sockets, as an unmodified Linux NF does (E2 3.6, Table 3.1)."""

import argparse
import contextlib
import selectors
import socket

ETH_P_ALL = 0x0003
FRAME_LIMIT = 65536
BURST = 64


def open_interface(name: str) -> socket.socket:
    """Open a raw socket on one interface; it does not see frames sent by this machine."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    raw.bind((name, ETH_P_ALL))
    raw.setblocking(False)
    return raw


def forward_burst(source: socket.socket, target: socket.socket) -> None:
    """Forward the frames that wait, at most one burst, so that neither direction starves the other."""
    for _ in range(BURST):
        try:
            frame, address = source.recvfrom(FRAME_LIMIT)
        except BlockingIOError:
            return
        if address[2] != socket.PACKET_OUTGOING:
            with contextlib.suppress(BlockingIOError):
                target.send(frame)


def main() -> None:
    """Run until terminated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--near", required=True)
    parser.add_argument("--far", required=True)
    arguments = parser.parse_args()
    near, far = open_interface(arguments.near), open_interface(arguments.far)
    selector = selectors.DefaultSelector()
    selector.register(near, selectors.EVENT_READ, far)
    selector.register(far, selectors.EVENT_READ, near)
    while True:
        for key, _ in selector.select():
            forward_burst(key.fileobj, key.data)


if __name__ == "__main__":
    main()
