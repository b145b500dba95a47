# SPDX-License-Identifier: Apache-2.0
import os
import socket

from orrery_twin.adapters.packet_sockets import BUFFER_BYTES, enlarge_buffers, overflow_by_interface

ALL_PROTOCOLS = 3


def test_buffers_of_packet_sockets_are_enlarged_and_others_are_left() -> None:
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as packets,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        before = other.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        assert enlarge_buffers(os.getpid()) == 1
        assert packets.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= BUFFER_BYTES
        assert packets.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= BUFFER_BYTES
        assert other.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == before


def test_overflow_is_counted_at_its_interface() -> None:
    loopback = socket.if_nametoindex("lo")
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)) as tap:
        tap.bind(("lo", 0))
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        before = overflow_by_interface().get(loopback, 0)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(100):
                sender.sendto(bytes(1000), ("127.0.0.1", 9))
        assert overflow_by_interface()[loopback] > before
