# SPDX-License-Identifier: Apache-2.0
"""Conversion of captures by tcpdump."""

import tempfile
from pathlib import Path

from orrery_twin.adapters.process import run


async def convert_to_pcap(data: bytes, directory: Path) -> bytes:
    """Convert a pcapng file to libpcap's format. Raises CommandFailed if tcpdump cannot read all of it."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        source, target = Path(folder, "in"), Path(folder, "out")
        source.write_bytes(data)
        await run(["tcpdump", "-Z", "root", "-r", str(source), "-w", str(target)], timeout_s=30)
        return target.read_bytes()
