# SPDX-License-Identifier: Apache-2.0
"""Applications go on being supervised when something in twind fails."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orrery_twin.__main__ import until_stopped
from orrery_twin.applications.kind import Meter, Place, ReportMeter
from orrery_twin.contract.models import ApplicationsSpec
from orrery_twin.service import applications as module
from orrery_twin.service.application_journal import ApplicationJournal, Entry
from orrery_twin.service.applications import Applications
from orrery_twin.service.hub import Hub

LIMIT_S = 20


class Sleeper:
    name, ends, reports = "http-server", False, False

    def command(self, config: Any, place: Place) -> list[str]:
        return [sys.executable, "-c", "import time; time.sleep(60)"]

    def listens(self, config: Any) -> int | None:
        return None

    def meter(self, config: Any) -> Meter:
        return ReportMeter()


class FullDisk(ApplicationJournal):
    """Fails to write until there is space."""

    has_space = False

    def write(self, entries: dict[str, Entry]) -> None:
        if not self.has_space:
            raise OSError(28, "No space left on device")
        super().write(entries)


class Events(Hub):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, str]] = []

    def event(self, event: str, subject: str, message: str, severity: Any = "info") -> None:
        self.told.append((event, message))


class FakeTwin:
    def __init__(self) -> None:
        self.before_nodes_leave: list[Any] = []
        self.when_up: list[Any] = []
        self.fails = False
        self.network = SimpleNamespace(pid_of={"web-1": os.getpid()})

    @property
    def plan(self) -> Any:
        if self.fails:
            raise KeyError("a mistake")
        return SimpleNamespace(link_of=lambda _: SimpleNamespace(far=SimpleNamespace(interface="eth0")))


def spec(*names: str) -> ApplicationsSpec:
    config = {"port": 8080}
    definitions = [
        {"id": name, "kind": "http-server", "node": "web-1", "enabled": True, "config": config} for name in names
    ]
    return ApplicationsSpec.model_validate(
        {
            "generation": 1,
            "applications": [{"definition": each, "revision": 1, "address": None} for each in definitions],
        }
    )


class Bench:
    def __init__(self, folder: Path) -> None:
        self.twin, self.hub, self.journal = FakeTwin(), Events(), FullDisk(folder / "applications.json")
        twin: Any = self.twin
        pcaps: Any = None
        self.applications = Applications(twin, pcaps, self.hub, self.journal, folder / "logs")

    def states(self) -> dict[str, str]:
        return {each.id: each.state for each in self.applications.observed().applications}

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not is_so():
                await asyncio.sleep(0.02)

    def failures(self) -> list[str]:
        return [message for event, message in self.hub.told if event == "twin.applications-failed"]


def on_bench(folder: Path, monkeypatch: pytest.MonkeyPatch, test: Callable[[Bench], Awaitable[None]]) -> None:
    monkeypatch.setattr(module, "KINDS", {"http-server": Sleeper()})
    monkeypatch.setattr(module, "LOOK_INTERVAL_S", 0.05)

    async def run() -> None:
        bench = Bench(folder)
        task = asyncio.create_task(bench.applications.run())
        try:
            await test(bench)
            assert not task.done()
        finally:
            bench.applications.want(spec())
            if not task.done():
                await bench.until(lambda: not bench.applications._runs)
            task.cancel()

    asyncio.run(run())


def test_a_journal_that_cannot_be_written_is_reported_and_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        bench.applications.want(spec("one"))
        await bench.until(lambda: bench.states() == {"one": "running"})
        bench.applications.want(spec("one", "two"))
        await bench.until(lambda: bench.states() == {"one": "running", "two": "running"})
        assert len(bench.failures()) == 1 and "No space left" in bench.failures()[0]
        bench.journal.has_space = True
        await bench.until(lambda: set(bench.journal.read()) == {"one", "two"})

    on_bench(tmp_path, monkeypatch, test)


def test_an_unexpected_error_is_reported_once_and_supervision_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        bench.journal.has_space = bench.twin.fails = True
        bench.applications.want(spec("one"))
        await bench.until(lambda: bool(bench.failures()))
        await asyncio.sleep(0.2)
        assert len(bench.failures()) == 1 and "a mistake" in bench.failures()[0]
        bench.twin.fails = False
        await bench.until(lambda: bench.states() == {"one": "running"})

    on_bench(tmp_path, monkeypatch, test)


def test_twind_ends_when_a_background_task_ends() -> None:
    async def run() -> None:
        async def fail() -> None:
            raise KeyError("a mistake")

        goes_on = asyncio.create_task(asyncio.sleep(60))
        with pytest.raises(RuntimeError, match=r"fail.* ended"):
            await until_stopped(asyncio.Event(), [goes_on, asyncio.create_task(fail())])
        stopping = asyncio.Event()
        stopping.set()
        await until_stopped(stopping, [goes_on])
        goes_on.cancel()

    asyncio.run(run())
