# SPDX-License-Identifier: Apache-2.0
"""The node agents of the emulated servers: each runs in its server's network namespace, as on a real server."""

import os
import shlex
import shutil
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from orrery_twin.adapters.process import BoundedLog
from orrery_twin.contract.models import Infrastructure, ServerNode, TwinAgentSettings
from orrery_twin.service.directories import Directories
from orrery_twin.service.hub import Hub
from orrery_twin.service.supervisor import Supervised

COMMAND_VARIABLE = "ORRERY_AGENT_COMMAND"
# What the agent of all switches is called among the agents.
SWITCHES = "switches"
AGENT = Path(__file__).resolve().parents[4] / "agents/node/dist/agent.mjs"


class Agents:
    """`boards_file`: the description of a server's boards for its agent; None if it has none.

    `docker`: socket of the container engine; None if there is none.
    """

    def __init__(
        self,
        directories: Directories,
        hub: Hub,
        on_change: Callable[[], None],
        boards_file: Callable[[str], Path | None],
        docker: Path | None,
    ) -> None:
        self._directories = directories
        self._boards_file = boards_file
        self._docker = docker
        self._hub = hub
        self._on_change = on_change
        self._settings: TwinAgentSettings | None = None
        self._running: dict[str, Supervised] = {}

    def agent(self, server: str) -> Supervised | None:
        return self._running.get(server)

    def start(self, infrastructure: Infrastructure, pid_of: dict[str, int], settings: TwinAgentSettings | None) -> None:
        """Start the agents that are not running. Without settings, servers have no agents."""
        self._settings = settings
        self._forget_absent({server.id for server in infrastructure.servers})
        if settings is None:
            return
        for server in infrastructure.servers:
            if server.origin != "twin" or server.id not in pid_of:
                continue
            if server.id not in self._running:
                self._running[server.id] = self._supervise(server, pid_of[server.id])
            self._running[server.id].start()

    async def update(
        self, infrastructure: Infrastructure, pid_of: dict[str, int], settings: TwinAgentSettings | None
    ) -> None:
        """A new server address restarts the agents; new join tokens apply to agents that start later."""
        before = self._settings
        if (settings and settings.server_url) != (before and before.server_url):
            await self.stop()
        self.start(infrastructure, pid_of, settings)

    async def stop(self) -> None:
        for agent in self._running.values():
            await agent.stop()
        self._running = {}

    async def stop_at(self, servers: Iterable[str]) -> None:
        for server in servers:
            if agent := self._running.pop(server, None):
                await agent.stop()

    def _forget_absent(self, servers: Collection[str]) -> None:
        """Remove what the agents of servers that left the infrastructure kept: a server of that name is another one."""
        states = self._directories.state / "agents"
        for state in states.iterdir() if states.is_dir() else ():
            if state.name in servers or state.name == SWITCHES or state.name in self._running:
                continue
            for directory in (state, self._directories.run / "a" / state.name):
                shutil.rmtree(directory, ignore_errors=True)
            for log in (self._directories.state / "logs").glob(f"agent-{state.name}.log*"):
                log.unlink(missing_ok=True)

    def _supervise(self, server: ServerNode, pid: int) -> Supervised:
        run_directory = self._directories.run / "a" / server.id
        state_directory = self._directories.state / "agents" / server.id
        for path in (run_directory, state_directory):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Supervised(
            "agent",
            server.id,
            lambda: self._command(server, run_directory, state_directory),
            namespace_of=pid,
            log=BoundedLog(self._directories.state / "logs" / f"agent-{server.id}.log"),
            hub=self._hub,
            on_change=self._on_change,
            environment=lambda: self._environment(server.id),
        )

    def _command(self, server: ServerNode, run_directory: Path, state_directory: Path) -> list[str]:
        assert self._settings
        override = os.environ.get(COMMAND_VARIABLE)
        program = shlex.split(override) if override else [os.environ.get("NODE", "node"), str(AGENT)]
        command = [*program, "--server", self._settings.server_url, "--node", server.id, "--origin", "twin"]
        command += ["--iface", server.nics[0].name, "--memory", "no-huge", "--workers", str(_workers(server))]
        command += ["--run-dir", str(run_directory), "--state-dir", str(state_directory)]
        if boards := self._boards_file(server.id):
            command += ["--boards", str(boards)]
        if self._docker:
            command += ["--docker", str(self._docker)]
        return command

    def _environment(self, server: str) -> dict[str, str]:
        """The join token is passed in the environment: every user of the machine can read arguments."""
        assert self._settings
        token = self._settings.join_tokens.get(server)
        return {"ORRERY_JOIN_TOKEN": token} if token else {}


def _workers(server: ServerNode) -> int:
    """A worker for each core of the server, but not more than this machine has cores: several cores then share one."""
    return min(int(server.cores), len(os.sched_getaffinity(0)))
