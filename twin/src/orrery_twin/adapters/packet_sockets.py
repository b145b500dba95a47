# SPDX-License-Identifier: Apache-2.0
"""The packet sockets by which the switch uses its ports: their buffers, and what did not fit."""

import ctypes
import os
import socket
import struct
from pathlib import Path

BUFFER_BYTES = 8 << 20
"""More than the queue of a link; with the kernel's default, 208 KiB, bursts are lost before they reach the queue."""

SYS_PIDFD_OPEN, SYS_PIDFD_GETFD = 434, 438
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST, NLM_F_DUMP = 1, 0x300
NETLINK_SOCK_DIAG = 4
PACKET_SHOW_INFO, PACKET_SHOW_MEMINFO = 0x01, 0x10
PACKET_DIAG_INFO, PACKET_DIAG_MEMINFO = 0, 6
SK_MEMINFO_DROPS = 8

libc = ctypes.CDLL(None, use_errno=True)


def enlarge_buffers(pid: int) -> int:
    """Enlarge the buffers of all packet sockets of a process for bursts; return how many there are."""
    process = _system_call(SYS_PIDFD_OPEN, pid, 0)
    count = 0
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                if not str(entry.readlink()).startswith("socket:"):
                    continue
                shared = socket.socket(fileno=_system_call(SYS_PIDFD_GETFD, process, int(entry.name), 0))
            except OSError:
                continue  # closed in the meantime
            with shared:
                if shared.family == socket.AF_PACKET:
                    for direction in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
                        shared.setsockopt(socket.SOL_SOCKET, direction, BUFFER_BYTES)
                    count += 1
    finally:
        os.close(process)
    return count


def overflow_by_interface() -> dict[int, int]:
    """Frames that did not fit into packet sockets of this network namespace, by interface index."""
    drops: dict[int, int] = {}
    show = PACKET_SHOW_INFO | PACKET_SHOW_MEMINFO
    body = struct.pack("BBHIIII", socket.AF_PACKET, 0, 0, 0, show, 0, 0)
    header = struct.pack("IHHII", 16 + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as diagnosis:
        diagnosis.settimeout(1.0)
        diagnosis.send(header + body)
        while True:
            data = diagnosis.recv(1 << 16)
            offset = 0
            while offset + 16 <= len(data):
                length, kind = struct.unpack_from("IH", data, offset)
                if kind != SOCK_DIAG_BY_FAMILY:
                    return drops
                attributes = dict(_attributes(data[offset + 32 : offset + length]))
                if PACKET_DIAG_INFO in attributes and PACKET_DIAG_MEMINFO in attributes:
                    (index,) = struct.unpack_from("I", attributes[PACKET_DIAG_INFO])
                    (dropped,) = struct.unpack_from("I", attributes[PACKET_DIAG_MEMINFO], 4 * SK_MEMINFO_DROPS)
                    drops[index] = drops.get(index, 0) + dropped
                offset += (length + 3) & ~3


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    found = []
    offset = 0
    while offset + 4 <= len(data):
        length, kind = struct.unpack_from("HH", data, offset)
        if length < 4:
            break
        found.append((kind, data[offset + 4 : offset + length]))
        offset += (length + 3) & ~3
    return found


def _system_call(number: int, *arguments: int) -> int:
    result = libc.syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)
