# SPDX-License-Identifier: Apache-2.0
import asyncio
import struct
from pathlib import Path

from orrery_twin.service.pcaps import FILES_MAX, Pcaps

CAPTURE = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + struct.pack("<IIII", 10, 0, 60, 60) + bytes(60)


def test_a_deleted_capture_leaves_nothing(tmp_path: Path) -> None:
    pcaps = Pcaps(tmp_path)
    kept = asyncio.run(pcaps.add("kept", CAPTURE))
    gone = asyncio.run(pcaps.add("gone", CAPTURE))
    assert pcaps.remove(gone.id)
    assert not pcaps.remove(gone.id)
    assert pcaps.all() == Pcaps(tmp_path).all() == [kept]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{kept.id}.json", f"{kept.id}.pcap"]


def test_a_deleted_capture_makes_room(tmp_path: Path) -> None:
    async def scenario() -> None:
        pcaps = Pcaps(tmp_path)
        infos = [await pcaps.add("one of many", CAPTURE) for _ in range(FILES_MAX)]
        assert pcaps.remove(infos[0].id)
        await pcaps.add("one more", CAPTURE)

    asyncio.run(scenario())
