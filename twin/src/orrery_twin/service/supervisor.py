# SPDX-License-Identifier: Apache-2.0
"""Keep a process running: restart it after increasing delays until it stays up."""

import asyncio
import logging
import time
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping
from typing import Literal

from orrery_twin.adapters.process import BoundedLog, CommandFailed, end, spawn
from orrery_twin.service.hub import Hub

log = logging.getLogger(__name__)

FIRST_DELAY_S = 0.2
LAST_DELAY_S = 10.0
STABLE_AFTER_S = 10.0
LAST_WORDS_S = 0.2
LAST_WORDS_MAX = 300
NodeState = Literal["up", "starting", "failed", "down"]


class Supervised:
    """`kind` and `subject` name it in events: `<kind>.started`, `<kind>.exited`."""

    def __init__(
        self,
        kind: str,
        subject: str,
        command: Callable[[], list[str]],
        *,
        namespace_of: int | None,
        log: BoundedLog,
        hub: Hub,
        on_change: Callable[[], None],
        environment: Callable[[], Mapping[str, str]] = dict,
        umask: int | None = None,
    ) -> None:
        self.kind = kind
        self.subject = subject
        self.detail: str | None = None
        self._command = command
        self._namespace_of = namespace_of
        self._log = log
        self._hub = hub
        self._on_change = on_change
        self._environment = environment
        self._umask = umask
        self._process: Process | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.returncode is None else None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._keep())

    async def stop(self, at_once: bool = False) -> None:
        """`at_once`: without time to clean up."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self._end_process(at_once)

    async def _end_process(self, at_once: bool = False) -> None:
        if self._process:
            await end(self._process, at_once=at_once)
            self._process = None

    async def _keep(self) -> None:
        delay_s = FIRST_DELAY_S
        while True:
            started = time.monotonic()
            try:
                status = await self._run_once()
            except Exception as error:
                log.exception("%s %s: supervision failed", self.kind, self.subject)
                status = f"cannot be supervised: {error}"
                await self._end_process()
            if time.monotonic() - started > STABLE_AFTER_S:
                delay_s = FIRST_DELAY_S
            self.detail = f"{status}; restarting in {delay_s:g} s"
            self._hub.event(f"{self.kind}.exited", self.subject, self.detail, "warning")
            try:
                self._on_change()
            except Exception:
                log.exception("%s %s: its end could not be reported", self.kind, self.subject)
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, LAST_DELAY_S)

    async def _run_once(self) -> str:
        try:
            self._process = await spawn(
                self._command(),
                namespace_of=self._namespace_of,
                log=self._log,
                environment=self._environment(),
                umask=self._umask,
            )
        except (OSError, CommandFailed) as error:
            return f"cannot be started: {error}"
        self.detail = None
        self._hub.event(f"{self.kind}.started", self.subject, f"started (pid {self._process.pid} in the twin)")
        self._on_change()
        status = await self._process.wait()
        if status < 0:
            return f"killed by signal {-status}"
        await self._log.until_ended(LAST_WORDS_S)
        last_words = f": {self._log.last_line[:LAST_WORDS_MAX]}" if status and self._log.last_line else ""
        return f"exited with {status}{last_words}"
