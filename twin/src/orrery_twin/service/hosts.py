# SPDX-License-Identifier: Apache-2.0
"""What runs on hosts of role `server`: a web server on port 80."""

from collections.abc import Callable
from pathlib import Path

from orrery_twin.adapters.process import BoundedLog, python_module
from orrery_twin.domain.topology import BuildPlan
from orrery_twin.service.hub import Hub
from orrery_twin.service.supervisor import Supervised

HTTP_PORT = 80


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

    async def stop(self) -> None:
        for server in self._running.values():
            await server.stop()
        self._running = {}
