# SPDX-License-Identifier: Apache-2.0
"""Looks at processes of an emulated node through its network namespace."""

from pathlib import Path

TCP_LISTEN = "0A"


def processes_in_namespace_of(pid: int, program: str) -> list[int]:
    """Processes whose executable file has this name and whose network namespace is that of `pid`."""
    wanted = Path(f"/proc/{pid}/ns/net").readlink()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if (entry / "ns/net").readlink() == wanted and (entry / "exe").readlink().name.split(" ")[0] == program:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def is_listening(pid: int, port: int) -> bool:
    """Whether anyone listens on a TCP port (IPv4) in the network namespace of a process."""
    try:
        lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    except OSError:
        return False
    return any(int(line.split()[1].split(":")[1], 16) == port and line.split()[3] == TCP_LISTEN for line in lines)
