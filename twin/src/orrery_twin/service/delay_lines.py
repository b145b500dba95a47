# SPDX-License-Identifier: Apache-2.0
"""Links with a delay, jitter or loss: one process carries the frames of all of them."""

import asyncio
import os
import shlex
import shutil
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from orrery_twin.adapters.control_socket import ControlHung, ControlRefused, ControlSilent, ask
from orrery_twin.adapters.process import BoundedLog
from orrery_twin.domain.topology import LinkPlan
from orrery_twin.service.directories import Directories
from orrery_twin.service.hub import Hub
from orrery_twin.service.supervisor import Supervised

COMMAND_VARIABLE = "ORRERY_LINKD_COMMAND"
PROGRAM = Path(__file__).resolve().parents[3] / "linkd/build/orrery-linkd"
LOOK_INTERVAL_S = 0.5
ANSWER_TIMEOUT_S = 2.0
"""A process that is silent for longer counts as hung and is killed."""
START_TIMEOUT_S = 5.0


def program() -> list[str]:
    return shlex.split(os.environ.get(COMMAND_VARIABLE, "")) or [str(PROGRAM)]


def missing() -> str | None:
    """Return why there are no delay lines; None if there are."""
    name = program()[0]
    return None if shutil.which(name) else f"no program {name}"


class DelayLines:
    """A process that dies or hangs is restarted with the same links; until then they carry nothing."""

    def __init__(self, directories: Directories, hub: Hub, on_change: Callable[[], None]) -> None:
        self._socket = directories.run / "linkd.sock"
        self._hub = hub
        self._on_change = on_change
        self._links: tuple[LinkPlan, ...] = ()
        self._reports: dict[str, dict[str, Any]] = {}
        self._asking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._process = Supervised(
            "delay-line",
            "links",
            lambda: [*program(), "--control", str(self._socket)],
            namespace_of=None,
            log=BoundedLog(directories.state / "logs" / "linkd.log"),
            hub=hub,
            on_change=self._process_changed,
        )

    async def follow(self, links: Iterable[LinkPlan]) -> None:
        """Replace the set of carried links by those of `links` that need a delay line."""
        self._links = tuple(link for link in links if link.shape.needs_line)
        if not self._links:
            await self._stop()
            return
        self._process.start()
        if self._task is None:
            self._task = asyncio.create_task(self._keep())
        with suppress(TimeoutError):
            async with asyncio.timeout(START_TIMEOUT_S):
                while not await self._tell():
                    await asyncio.sleep(0.01)

    def carries(self, link: LinkPlan) -> bool:
        """False while a link that needs a delay line has none."""
        if not link.shape.needs_line:
            return True
        report = self._reports.get(link.id)
        return report is not None and report["failure"] is None

    def drops(self, link_id: str) -> int:
        """Frames lost, dropped at a full queue or rejected by an interface, since the process started."""
        report = self._reports.get(link_id)
        names = ("lost", "queue_drops", "memory_drops", "refused")
        return sum(report[direction][name] for direction in ("a_to_b", "b_to_a") for name in names) if report else 0

    async def _stop(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self._process.stop()
        self._reports = {}

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            await self._tell()

    async def _tell(self) -> bool:
        """Send the whole state each time: this reopens closed links. False if the process does not accept it."""
        async with self._asking:
            params = {"links": [_settings(link) for link in self._links]}
            try:
                answer = await ask(self._socket, "set-links", params, ANSWER_TIMEOUT_S)
            except ControlHung as failure:
                self._forget()
                if pid := self._process.pid:
                    self._hub.event("delay-line.hung", "links", f"{failure}: killing it", "error")
                    os.kill(pid, signal.SIGKILL)
                return False
            except ControlSilent:
                # Not up yet: the supervisor takes care of it.
                self._forget()
                return False
            except ControlRefused as refusal:
                self._forget()
                self._hub.event("delay-line.refused", "links", str(refusal), "error")
                return False
            self._take(answer["links"])
            return True

    def _take(self, reports: list[dict[str, Any]]) -> None:
        before = {name: report["failure"] for name, report in self._reports.items()}
        self._reports = {report["id"]: report for report in reports}
        for name, report in self._reports.items():
            failure = report["failure"]
            if failure is not None and before.get(name) != failure:
                self._hub.event("link.failed", name, failure, "error")
        if {name: report["failure"] for name, report in self._reports.items()} != before:
            self._on_change()

    def _forget(self) -> None:
        if self._reports:
            self._reports = {}
            self._on_change()

    def _process_changed(self) -> None:
        self._forget()
        self._on_change()


def _settings(link: LinkPlan) -> dict[str, Any]:
    to_near, to_far = link.line_ends
    shape = link.shape
    return {
        "id": link.id,
        "a": to_near,
        "b": to_far,
        "rate_bps": shape.bandwidth_bps,
        "delay_us": shape.delay_us,
        "jitter_us": shape.jitter_us,
        "loss": shape.loss,
        "queue_bytes": shape.queue_bytes,
    }
