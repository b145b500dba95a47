# SPDX-License-Identifier: Apache-2.0
"""What runs on hosts of role `server`: a web server on port 80."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from orrery_twin.adapters.process import BoundedLog, python_module
from orrery_twin.adapters.processes import is_listening
from orrery_twin.domain.topology import BuildPlan
from orrery_twin.service.hub import Hub
from orrery_twin.service.supervisor import Supervised

HTTP_PORT = 80
READY_TIMEOUT_S = 5.0


class HostServers:
    def __init__(self, log_directory: Path, hub: Hub, on_change: Callable[[], None]) -> None:
        self._log_directory = log_directory
        self._hub = hub
        self._on_change = on_change
        self._running: dict[str, Supervised] = {}

    def server(self, host: str) -> Supervised | None:
        return self._running.get(host)

    def start(self, plan: BuildPlan, pid_of: dict[str, int]) -> None:
        for node in plan.nodes:
            if not node.runs_servers:
                continue
            self._running[node.id] = Supervised(
                "web-server",
                node.id,
                lambda: python_module("orrery_twin.traffic.http_server", "--port", str(HTTP_PORT)),
                namespace_of=pid_of[node.id],
                log=BoundedLog(self._log_directory / f"web-{node.id}.log"),
                hub=self._hub,
                on_change=self._on_change,
            )
            self._running[node.id].start()

    async def until_ready(self, pid_of: dict[str, int]) -> None:
        """Waits until every server answers, so that traffic may start; one that stays away holds nobody up."""
        try:
            async with asyncio.timeout(READY_TIMEOUT_S):
                for host in self._running:
                    while not is_listening(pid_of[host], HTTP_PORT):
                        await asyncio.sleep(0.01)
        except TimeoutError:
            self._hub.event("web-server.late", "hosts", f"not ready after {READY_TIMEOUT_S:g} s", "warning")

    async def stop(self) -> None:
        for server in self._running.values():
            await server.stop()
        self._running = {}
