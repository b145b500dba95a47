# SPDX-License-Identifier: Apache-2.0
"""Find processes of an emulated node through its network namespace."""

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
    """Return whether a process listens on a TCP port in the network namespace of `pid`."""
    try:
        tables = [Path(f"/proc/{pid}/net/{table}").read_text() for table in ("tcp", "tcp6")]
    except OSError:
        return False
    sockets = [line.split() for table in tables for line in table.splitlines()[1:]]
    return any(int(fields[1].split(":")[1], 16) == port and fields[3] == TCP_LISTEN for fields in sockets)


def is_suspended(pid: int) -> bool:
    """Return whether a process is stopped by a signal (proc(5), state `T`)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] in "Tt"
