# SPDX-License-Identifier: Apache-2.0
"""Room in a socket for what arrives while its process gets no processor time."""

import socket
from contextlib import suppress

SO_RCVBUFFORCE = 33
BUFFER_BYTES = 8 << 20
"""Probes of several seconds, so that a stall at either end does not count as loss on the way; the kernel's default
holds less than a second of 300 probes/s."""


def enlarge_buffer(receiver: socket.socket) -> None:
    """Without the right to it, the socket keeps its own size."""
    with suppress(PermissionError):
        receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
