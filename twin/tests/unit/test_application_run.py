# SPDX-License-Identifier: Apache-2.0
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from orrery_twin.adapters.process import BoundedLog
from orrery_twin.applications.kind import Meter, Place, ReportMeter
from orrery_twin.service.application_run import ApplicationRun

LINE = json.dumps({"metrics": {"sent": 3}, "detail": "no route to host"})
UNUSED_PORT = 1


class EndsBeforeItIsReady:
    name, ends, reports = "ends-early", True, True

    def command(self, config: Any, place: Place) -> list[str]:
        return [sys.executable, "-c", f"print({LINE!r})"]

    def listens(self, config: Any) -> int:
        return UNUSED_PORT

    def meter(self, config: Any) -> Meter:
        return ReportMeter()


def test_a_program_that_ends_before_it_is_seen_to_be_ready_keeps_its_last_report(tmp_path: Path) -> None:
    async def run() -> ApplicationRun:
        ended = asyncio.Event()
        place = Place("eth0", None, lambda _: None)
        log = BoundedLog(tmp_path / "log")
        run = ApplicationRun(EndsBeforeItIsReady(), place, os.getpid(), log, lambda: {}, ended.set)
        async with asyncio.timeout(20):
            await ended.wait()
        await run.stop()
        return run

    observed = asyncio.run(run())
    assert (observed.state, observed.detail, observed.metrics) == ("completed", "no route to host", {"sent": 3})


class IsSilent:
    name, ends, reports = "is-silent", False, False

    def command(self, config: Any, place: Place) -> list[str]:
        return [sys.executable, "-c", "import time; print(5, flush=True); time.sleep(600)"]

    def listens(self, config: Any) -> None:
        return None

    def meter(self, config: Any) -> Meter:
        return SilenceMeter()


class SilenceMeter(Meter):
    def take(self, line: str) -> None:
        self.metrics = {"rate": float(line)}

    def silent(self, seconds: float) -> None:
        if self.metrics:
            self.metrics = {"rate": 0}


def test_a_program_that_writes_nothing_more_has_no_rate(tmp_path: Path) -> None:
    async def scenario() -> None:
        place = Place("eth0", None, lambda _: None)
        run = ApplicationRun(IsSilent(), place, os.getpid(), BoundedLog(tmp_path / "log"), lambda: {}, lambda: None)
        async with asyncio.timeout(60):
            while run.metrics != {"rate": 0}:
                await asyncio.sleep(0.02)
        await run.stop()

    asyncio.run(scenario())
