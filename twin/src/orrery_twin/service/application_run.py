# SPDX-License-Identifier: Apache-2.0
"""One application on one node: started, watched, and restarted after increasing delays until it is over or stopped."""

import asyncio
import time
from asyncio.subprocess import Process
from collections.abc import Callable
from typing import Any

from orrery_twin.adapters.process import BoundedLog, CommandFailed, end, spawn
from orrery_twin.adapters.processes import is_listening, is_suspended
from orrery_twin.applications.kind import CannotRun, Kind, Meter, Place
from orrery_twin.contract.models import ApplicationState
from orrery_twin.service.hub import now_ms

FIRST_DELAY_S = 0.5
LAST_DELAY_S = 15.0
STABLE_AFTER_S = 10.0
READY_LIMIT_S = 20.0
SILENT_LIMIT_S = 4.0
"""A program that should report each second and is silent for this long is unresponsive."""
WATCH_INTERVAL_S = 0.5
READY_INTERVAL_S = 0.02
LAST_WORDS_S = 0.2
DETAIL_MAX = 300


class ApplicationRun:
    """`remaining` returns the configuration for the rest of the run, None if it is over."""

    def __init__(
        self,
        kind: Kind,
        place: Place,
        namespace_of: int,
        log: BoundedLog,
        remaining: Callable[[], Any | None],
        on_state: Callable[[], None],
    ) -> None:
        self.state: ApplicationState = "starting"
        self.since_ms = now_ms()
        self.detail: str | None = None
        self.restarts = 0
        self.metrics: dict[str, float] = {}
        self._kind = kind
        self._place = place
        self._namespace_of = namespace_of
        self._log = log
        self._remaining = remaining
        self._on_state = on_state
        self._process: Process | None = None
        self._heard_at = 0.0
        self._not_ready: str | None = None
        self._task = asyncio.create_task(self._keep())

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.returncode is None else None

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _become(self, state: ApplicationState, detail: str | None = None) -> None:
        if (state, detail) == (self.state, self.detail):
            return
        if state != self.state:
            self.since_ms = now_ms()
        self.state, self.detail = state, detail
        self._on_state()

    async def _keep(self) -> None:
        delay_s = FIRST_DELAY_S
        while True:
            config = self._remaining()
            if config is None:
                return self._become("completed", "its time was up before it could be restarted")
            started = time.monotonic()
            failure = await self._run_once(config)
            if failure is None:
                return
            if time.monotonic() - started > STABLE_AFTER_S:
                delay_s = FIRST_DELAY_S
            self._become("failed", f"{failure[:DETAIL_MAX]}; restarting in {delay_s:g} s")
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, LAST_DELAY_S)
            self.restarts += 1
            self._become("starting")

    async def _run_once(self, config: Any) -> str | None:
        """None when its work is done and it has completed, otherwise what went wrong."""
        meter = self._kind.meter(config)
        self._not_ready = None
        try:
            command = self._kind.command(config, self._place)
            self._process = await spawn(command, namespace_of=self._namespace_of, capture_output=True)
        except (CannotRun, OSError, CommandFailed) as error:
            return str(error)
        assert self._process.stdout and self._process.stderr
        self._log.follow(self._process.stderr)
        watch = asyncio.create_task(self._watch(self._process, config, meter))
        try:
            return await self._follow(self._process, meter)
        finally:
            watch.cancel()
            await end(self._process)

    async def _follow(self, process: Process, meter: Meter) -> str | None:
        assert process.stdout
        try:
            while line := await process.stdout.readline():
                meter.take(line.decode(errors="replace"))
                self._heard_at = time.monotonic()
                self.metrics = meter.metrics
                if self.state == "running":
                    self._become("running", meter.detail)
        except (ValueError, KeyError, TypeError) as error:
            return f"its output cannot be parsed: {error}"
        status = await process.wait()
        if status == 0 and self._kind.ends:
            # It may end before it was seen to be ready.
            self._become("completed", meter.detail)
            return None
        if self._not_ready:
            return self._not_ready
        if status < 0:
            return f"killed by signal {-status}"
        await self._log.until_ended(LAST_WORDS_S)
        words = meter.detail or self._log.last_line
        return f"exited with {status}{': ' if words else ''}{words or ''}"

    async def _watch(self, process: Process, config: Any, meter: Meter) -> None:
        """Report when the program is ready and whether it responds."""
        self._heard_at = time.monotonic()
        port = self._kind.listens(config)
        deadline = time.monotonic() + READY_LIMIT_S
        while (self._kind.reports and not meter.metrics) or (port is not None and not is_listening(process.pid, port)):
            if time.monotonic() > deadline:
                self._not_ready = f"not ready after {READY_LIMIT_S:g} s"
                return await end(process)
            await asyncio.sleep(READY_INTERVAL_S)
        self._become("running", meter.detail)
        while True:
            await asyncio.sleep(WATCH_INTERVAL_S)
            silent_s = time.monotonic() - self._heard_at
            meter.silent(silent_s)
            self.metrics = meter.metrics
            if is_suspended(process.pid):
                self._become("unresponsive", "its process is suspended")
            elif self._kind.reports and silent_s > SILENT_LIMIT_S:
                self._become("unresponsive", f"it has not reported for more than {SILENT_LIMIT_S:g} s")
            elif self.state == "unresponsive":
                self._become("running", meter.detail)
