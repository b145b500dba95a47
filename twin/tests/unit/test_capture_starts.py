# SPDX-License-Identifier: Apache-2.0
"""Captures that start at the same time, or while their host is removed."""

import asyncio
from asyncio.subprocess import Process
from types import SimpleNamespace
from typing import Any, cast

import pytest

from orrery_twin.adapters.process import spawn
from orrery_twin.contract.models import CaptureRequest
from orrery_twin.domain.refusal import Refused
from orrery_twin.service import captures as module
from orrery_twin.service.captures import RUNNING_MAX, Captures
from orrery_twin.service.hub import Hub
from orrery_twin.service.twin import Twin

TCPDUMP = ["sh", "-c", "echo listening on eth0 >&2; exec sleep 60"]
REQUEST = CaptureRequest(host="web-1", filter="", packets=10, duration_s=60)


class Bench:
    """`spawned` waits for `go`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = asyncio.Event()
        self.processes: list[Process] = []
        link = SimpleNamespace(far=SimpleNamespace(interface="eth0"))
        self.plan = SimpleNamespace(node=lambda _: SimpleNamespace(address="10.0.0.1"), link_of=lambda _: link)
        self.twin = SimpleNamespace(plan=self.plan, network=SimpleNamespace(pid_of={"web-1": 1}), before_nodes_leave=[])
        self.captures = Captures(cast(Twin, self.twin), Hub())
        monkeypatch.setattr(module, "spawn", self._spawn)

    async def _spawn(self, *_: Any, **__: Any) -> Process:
        await self.go.wait()
        self.processes.append(await spawn(TCPDUMP, capture_output=True))
        return self.processes[-1]


def test_captures_that_are_starting_count(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        bench = Bench(monkeypatch)
        starts = [asyncio.create_task(bench.captures.start(REQUEST)) for _ in range(RUNNING_MAX)]
        await asyncio.sleep(0)
        with pytest.raises(Refused, match="captures run at a time"):
            async with asyncio.timeout(20):
                await bench.captures.start(REQUEST)
        bench.go.set()
        assert len(await asyncio.gather(*starts)) == RUNNING_MAX
        await bench.captures.stop_at(["web-1"])

    asyncio.run(scenario())


def test_a_capture_that_is_stopped_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        bench = Bench(monkeypatch)
        bench.go.set()
        status = await bench.captures.start(REQUEST)
        stopped = await bench.captures.stop(status.id)
        assert stopped is status
        assert (status.state, status.stopped_by, status.detail) == ("completed", "user", None)
        assert status.elapsed_s is not None
        assert bench.processes[0].returncode is not None
        before = status.model_copy()
        assert await bench.captures.stop(status.id) == before
        assert await bench.captures.stop("capture-none") is None

    asyncio.run(scenario())


@pytest.mark.parametrize("change", ["removed", "replaced", "down"])
def test_a_host_that_goes_meanwhile_is_not_captured(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        bench = Bench(monkeypatch)
        start = asyncio.create_task(bench.captures.start(REQUEST))
        await asyncio.sleep(0)
        if change == "removed":
            bench.plan.node = lambda _: None
        elif change == "replaced":
            bench.twin.network.pid_of["web-1"] = 2
        else:
            bench.twin.plan = None
        bench.go.set()
        with pytest.raises(Refused, match="web-1 was removed"):
            await start
        assert bench.processes[0].returncode is not None
        assert bench.captures.all() == []

    asyncio.run(scenario())
