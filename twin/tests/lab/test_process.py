# SPDX-License-Identifier: Apache-2.0
"""Processes that start in the namespace of another, on a machine that takes its time."""

import asyncio
import os
import re
import shutil
from pathlib import Path

import pytest

from orrery_twin.adapters import process as processes
from orrery_twin.adapters.process import CommandFailed, end, spawn

SLOW_NSENTER = """#!/bin/sh
sleep 0.3
exec {nsenter} "$@"
"""

STOPPED_NSENTER = """#!/bin/sh
kill -STOP $$
"""


def network_of(pid: int) -> Path:
    return Path(f"/proc/{pid}/ns/net").readlink()


def test_a_process_is_in_its_namespace_when_its_pid_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "nsenter"
    slow.write_text(SLOW_NSENTER.format(nsenter=shutil.which("nsenter")))
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    async def run() -> tuple[Path, Path]:
        holder = await asyncio.create_subprocess_exec("unshare", "--net", "sleep", "60")
        async with asyncio.timeout(20):
            while network_of(holder.pid) == network_of(os.getpid()):
                await asyncio.sleep(0.01)
            process = await spawn(["sleep", "60"], namespace_of=holder.pid)
        entered, wanted = network_of(process.pid), network_of(holder.pid)
        await end(process, at_once=True)
        holder.kill()
        await holder.wait()
        return entered, wanted

    entered, wanted = asyncio.run(run())
    assert entered == wanted


def test_a_process_whose_namespace_is_gone_ends_by_itself() -> None:
    async def run() -> int:
        gone = await asyncio.create_subprocess_exec("true")
        await gone.wait()
        async with asyncio.timeout(20):
            process = await spawn(["sleep", "60"], namespace_of=gone.pid)
            return await process.wait()

    assert asyncio.run(run()) != 0


def test_a_process_that_stops_before_its_namespace_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = tmp_path / "nsenter"
    stopped.write_text(STOPPED_NSENTER)
    stopped.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(processes, "ENTERING_TIMEOUT_S", 0.5)
    started: list[int] = []
    before = processes._network_of

    def network_seen(pid: int) -> os.stat_result | None:
        started.append(pid)
        return before(pid)

    monkeypatch.setattr(processes, "_network_of", network_seen)

    async def run() -> None:
        holder = await asyncio.create_subprocess_exec("unshare", "--net", "sleep", "60")
        try:
            async with asyncio.timeout(20):
                while network_of(holder.pid) == network_of(os.getpid()):
                    await asyncio.sleep(0.01)
                with pytest.raises(CommandFailed, match=re.escape("not in its network namespace after 0.5 s")):
                    await spawn(["sleep", "60"], namespace_of=holder.pid)
        finally:
            holder.kill()
            await holder.wait()

    asyncio.run(run())
    assert not Path(f"/proc/{started[-1]}").exists()
    # 2, 4, 8, 16, 32, and then 50 ms apart.
    assert len(started) < 25
