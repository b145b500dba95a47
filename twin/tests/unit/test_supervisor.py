# SPDX-License-Identifier: Apache-2.0
"""Supervision goes on after errors of its own."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from orrery_twin.adapters.process import BoundedLog
from orrery_twin.service.hub import Hub
from orrery_twin.service.supervisor import Supervised

SLEEP = ["sleep", "60"]


def supervised(log: Path, command: Callable[[], list[str]], on_change: Callable[[], None]) -> Supervised:
    return Supervised(
        "agent", "server-1", command, namespace_of=None, log=BoundedLog(log), hub=Hub(), on_change=on_change
    )


def failing_first(times: int) -> Callable[[], None]:
    left = [True] * times

    def call() -> None:
        if left:
            left.pop()
            raise RuntimeError("not now")

    return call


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():
            await asyncio.sleep(0.01)


def test_a_command_that_cannot_be_composed_is_retried(tmp_path: Path) -> None:
    fail = failing_first(2)

    def command() -> list[str]:
        fail()
        return SLEEP

    async def scenario() -> None:
        process = supervised(tmp_path / "log", command, lambda: None)
        process.start()
        await until(lambda: process.detail is not None)
        assert process.detail == "cannot be supervised: not now; restarting in 0.2 s"
        await until(lambda: process.pid is not None)
        await process.stop()

    asyncio.run(scenario())


def test_a_process_whose_start_or_end_cannot_be_reported_is_restarted(tmp_path: Path) -> None:
    pids: set[int] = set()
    fail = failing_first(2)

    async def scenario() -> None:
        def changed() -> None:
            if process.pid is not None:
                pids.add(process.pid)
            fail()

        process = supervised(tmp_path / "log", lambda: SLEEP, changed)
        process.start()
        await until(lambda: len(pids) == 2 and process.pid is not None)
        running = process.pid
        assert {pid for pid in pids if Path(f"/proc/{pid}").exists()} == {running}
        await process.stop()

    asyncio.run(scenario())
