# SPDX-License-Identifier: Apache-2.0
"""Finds processes of an emulated node by its network namespace."""

from pathlib import Path


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
