# SPDX-License-Identifier: Apache-2.0
"""Processes with a log that cannot always be written."""

import asyncio
from pathlib import Path

import pytest

from orrery_twin.adapters.process import BoundedLog, spawn

VERBOSE = ["sh", "-c", "head -c 3000000 /dev/zero"]


async def run_to_end(log: BoundedLog) -> int:
    async with asyncio.timeout(60):
        process = await spawn(VERBOSE, log=log)
        status = await process.wait()
        await log.until_ended(60)
        return status


def test_a_full_disk_does_not_block_a_process(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "log"
    path.symlink_to("/dev/full")
    log = BoundedLog(path)
    assert asyncio.run(run_to_end(log)) == 0
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        f"{path} cannot be written, output is dropped"
    ]
    caplog.clear()
    path.unlink()
    log.write(b"again\n")
    assert path.read_bytes() == b"again\n"
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} is written again; 3000000 bytes of output were dropped"
    ]
