# SPDX-License-Identifier: Apache-2.0
"""The daemons of Open vSwitch are kept running."""

import asyncio
import errno
from asyncio.subprocess import Process
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orrery_twin.adapters import ovs
from orrery_twin.adapters.process import CommandFailed, spawn


@pytest.fixture
def daemons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ovs.SwitchDaemons:
    monkeypatch.setattr(ovs, "RUN_DIRECTORY", tmp_path)
    (tmp_path / "db.sock").touch()
    monkeypatch.setattr(ovs, "spawn", stand_in())
    monkeypatch.setattr(ovs, "run", answer)

    async def restarted() -> None:
        raise OSError(errno.EAGAIN, "no process")

    return ovs.SwitchDaemons(tmp_path, restarted)


def stand_in(failures: int = 0) -> Callable[..., Any]:
    left = [True] * failures

    async def start(command: list[str], **_: Any) -> Process:
        if left:
            left.pop()
            raise OSError(errno.EAGAIN, "no process")
        return await spawn(["sleep", "60"])

    return start


async def answer(*_: Any, **__: Any) -> str:
    return ""


async def no_answer(command: list[str], **_: Any) -> str:
    if command[0] == "ovsdb-client":
        raise CommandFailed(command, None, "")
    return ""


async def until_restarted(daemons: ovs.SwitchDaemons, name: str) -> None:
    before = daemons._processes[name]
    async with asyncio.timeout(60):
        while daemons._processes[name] is before:
            await asyncio.sleep(0.01)


def test_a_daemon_that_cannot_be_started_is_tried_again(
    daemons: ovs.SwitchDaemons, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        await daemons.start()
        monkeypatch.setattr(ovs, "spawn", stand_in(failures=2))
        for _ in range(2):
            daemons._processes["ovs-vswitchd"].kill()
            await until_restarted(daemons, "ovs-vswitchd")
        await daemons.stop()

    asyncio.run(scenario())
    assert sum("ovs-vswitchd cannot be started" in record.getMessage() for record in caplog.records) == 2


def test_a_start_that_failed_is_repeated_as_a_whole(
    daemons: ovs.SwitchDaemons, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refusal(command: list[str], **_: Any) -> str:
        if command[0] == "ovs-vsctl":
            raise CommandFailed(command, 1, "no memory")
        return ""

    async def scenario() -> None:
        monkeypatch.setattr(ovs, "run", refusal)
        with pytest.raises(CommandFailed, match="no memory"):
            await daemons.start()
        monkeypatch.setattr(ovs, "run", answer)
        await daemons.start()
        assert daemons.switch_pid is not None
        await daemons.stop()

    asyncio.run(scenario())


def test_a_database_that_does_not_answer_is_restarted(
    daemons: ovs.SwitchDaemons, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ovs, "PROBE_INTERVAL_S", 0.01)

    async def scenario() -> None:
        await daemons.start()
        monkeypatch.setattr(ovs, "run", no_answer)
        switch = daemons.switch_pid
        await until_restarted(daemons, "ovsdb-server")
        assert daemons.switch_pid == switch
        await daemons.stop()

    asyncio.run(scenario())
