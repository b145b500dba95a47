# SPDX-License-Identifier: Apache-2.0
"""Counters of interfaces and queues, read without starting a process."""

import ctypes
import os
import socket
import struct
from pathlib import Path

CLONE_NEWNET = 0x40000000
RTM_NEWQDISC, RTM_GETQDISC = 36, 38
NLM_F_REQUEST, NLM_F_DUMP = 1, 0x300
NLMSG_DONE = 3
TCA_STATS2, TCA_STATS_QUEUE = 7, 3
NLA_TYPE_MASK = 0x3FFF
TC_H_ROOT = 0xFFFFFFFF


def interface_bytes() -> dict[str, tuple[int, int]]:
    """Received and sent bytes by interface in this process's network namespace."""
    result = {}
    for line in Path("/proc/net/dev").read_text().splitlines()[2:]:
        name, _, rest = line.partition(":")
        fields = rest.split()
        result[name.strip()] = (int(fields[0]), int(fields[8]))
    return result


def is_up(interface: str) -> bool:
    """Return whether both ends of the link are up."""
    try:
        return Path(f"/sys/class/net/{interface}/operstate").read_text().strip() == "up"
    except OSError:
        return False


class QueueDrops:
    """Packets dropped by the queues of one network namespace, by interface index.

    The root queue is left out: it repeats the counts of its children.
    """

    def __init__(self, namespace_of: int | None) -> None:
        """Blocks briefly to enter the namespace; call it outside the event loop's thread."""
        here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            if namespace_of is not None:
                with Path(f"/proc/{namespace_of}/ns/net").open("rb") as there:
                    _set_namespace(there.fileno())
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            self.index_of = {name: index for index, name in socket.if_nameindex()}
        finally:
            _set_namespace(here)
            os.close(here)
        self._socket.settimeout(1.0)

    def close(self) -> None:
        self._socket.close()

    def read(self) -> dict[int, int]:
        request = struct.pack("IHHIIBxxxiIII", 36, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, 1, 0, 0, 0, 0, 0, 0)
        self._socket.send(request)
        drops: dict[int, int] = {}
        while True:
            data = self._socket.recv(1 << 16)
            offset = 0
            while offset + 16 <= len(data):
                length, kind = struct.unpack_from("IH", data, offset)
                if kind != RTM_NEWQDISC:
                    return drops
                index, _, parent = struct.unpack_from("iII", data, offset + 20)
                if parent != TC_H_ROOT:
                    dropped = _dropped(data[offset + 36 : offset + length])
                    drops[index] = drops.get(index, 0) + dropped
                offset += (length + 3) & ~3


def _dropped(attributes: bytes) -> int:
    statistics = _attribute(attributes, TCA_STATS2)
    queue = _attribute(statistics, TCA_STATS_QUEUE)
    return int(struct.unpack_from("III", queue)[2]) if len(queue) >= 12 else 0


def _attribute(data: bytes, wanted: int) -> bytes:
    offset = 0
    while offset + 4 <= len(data):
        length, kind = struct.unpack_from("HH", data, offset)
        if length < 4:
            break
        if kind & NLA_TYPE_MASK == wanted:
            return data[offset + 4 : offset + length]
        offset += (length + 3) & ~3
    return b""


def _set_namespace(handle: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(handle, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "cannot enter a network namespace")
