# SPDX-License-Identifier: Apache-2.0
"""Numbered frames through packet sockets."""

import select
import socket
import struct
import threading
import time

HEADER = bytes.fromhex("020e0001000002000000000188b5")
ETH_P_ALL = 3
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35
PATIENCE_S = 20


def frame(number: int, length: int = 60) -> bytes:
    """Return a frame whose bytes are determined by its number and length."""
    body = struct.pack(">QH", number, length)
    return HEADER + body + bytes([number & 0xFF]) * (length - len(HEADER) - len(body))


def number_of(data: bytes) -> int:
    """Return the number of a frame; fail if the frame differs from frame()."""
    number, length = struct.unpack_from(">QH", data, len(HEADER))
    assert data == frame(number, length), f"frame {number} of {length} bytes was changed: {data.hex()}"
    return int(number)


def packet_socket(interface: str) -> socket.socket:
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    s.bind((interface, ETH_P_ALL))
    s.setblocking(False)
    return s


class Receiver:
    def __init__(self, interface: str) -> None:
        self._socket = packet_socket(interface)

    def take(self, frames: int, timeout_s: float = PATIENCE_S) -> list[bytes]:
        """Return that many frames; fewer if they do not arrive in time."""
        end = time.monotonic() + timeout_s
        out: list[bytes] = []
        while len(out) < frames and select.select([self._socket], [], [], max(0, end - time.monotonic()))[0]:
            out += self.waiting()
        return out

    def stamped(self) -> list[float]:
        """Arrival times of the waiting frames by the kernel, in seconds of time.time()."""
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        out = []
        while True:
            try:
                _, ((_, _, stamp),), _, _ = self._socket.recvmsg(65536, 64)
            except BlockingIOError:
                return out
            seconds, nanoseconds = struct.unpack("qq", stamp)
            out.append(seconds + nanoseconds * 1e-9)

    def waiting(self) -> list[bytes]:
        out = []
        while True:
            try:
                out.append(self._socket.recv(65536))
            except BlockingIOError:
                return out

    def close(self) -> None:
        self._socket.close()


class Sender(threading.Thread):
    """Send numbered frames at a steady rate until stopped, or the tests are over."""

    def __init__(self, interface: str, frames_per_s: float, lengths: tuple[int, ...] = (60,)) -> None:
        super().__init__(daemon=True)
        self._socket = packet_socket(interface)
        self._pace_s = 1 / frames_per_s
        self._lengths = lengths
        self._end = threading.Event()
        self.sent = 0

    def run(self) -> None:
        start = time.monotonic()
        while not self._end.is_set():
            due = int((time.monotonic() - start) / self._pace_s)
            while self.sent < due:
                try:
                    self._socket.send(frame(self.sent, self._lengths[self.sent % len(self._lengths)]))
                except (BlockingIOError, OSError):
                    break
                self.sent += 1
            time.sleep(min(self._pace_s, 0.001))

    def stop(self) -> int:
        self._end.set()
        self.join()
        self._socket.close()
        return self.sent
