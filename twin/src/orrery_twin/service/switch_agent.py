# SPDX-License-Identifier: Apache-2.0
"""The agent of the emulated switches: one process for all, beside what forwards, as on a real switch host."""

import json
import os
import shlex
from collections.abc import Callable
from typing import Any

from orrery_twin.adapters.process import BoundedLog
from orrery_twin.contract.models import Infrastructure, TwinAgentSettings
from orrery_twin.domain.topology import BuildPlan, SwitchPlan, port_interfaces
from orrery_twin.service.agents import AGENT, COMMAND_VARIABLE, SWITCHES
from orrery_twin.service.directories import Directories
from orrery_twin.service.hub import Hub
from orrery_twin.service.p4_switches import P4Switches
from orrery_twin.service.supervisor import Supervised


class SwitchAgent:
    def __init__(
        self, directories: Directories, hub: Hub, on_change: Callable[[], None], p4_switches: P4Switches
    ) -> None:
        self._p4_switches = p4_switches
        self._file = directories.run / "switches.json"
        self._state_directory = directories.state / "agents" / SWITCHES
        self._server_url = ""
        self._served: tuple[str, list[dict[str, Any]]] | None = None
        self._process = Supervised(
            "agent",
            SWITCHES,
            self._command,
            namespace_of=None,
            log=BoundedLog(directories.state / "logs" / f"agent-{SWITCHES}.log"),
            hub=hub,
            on_change=on_change,
        )

    async def update(
        self, infrastructure: Infrastructure, built: BuildPlan, settings: TwinAgentSettings | None
    ) -> None:
        """Other switches or ports restart it, which disturbs no packet; new join tokens apply from its next start."""
        switches = [self._settings_of(switch, infrastructure, built) for switch in built.switches]
        tokens = settings.join_tokens if settings else {}
        listed = [switch | {"join_token": tokens[switch["node"]]} for switch in switches if switch["node"] in tokens]
        self._file.write_text(json.dumps(listed if settings else switches))
        if settings is None or not listed:
            await self.stop()
            return
        self._server_url = settings.server_url
        served = (settings.server_url, switches)
        if self._served not in (None, served):
            await self._process.stop()
        self._served = served
        self._process.start()

    async def stop(self) -> None:
        self._served = None
        await self._process.stop()

    def _settings_of(self, plan: SwitchPlan, infrastructure: Infrastructure, built: BuildPlan) -> dict[str, Any]:
        """As its driver wants them."""
        interfaces = port_interfaces(infrastructure, built, plan.id)
        common = {"node": plan.id, "driver": plan.driver}
        switch = self._p4_switches.switch(plan.id)
        if switch is None:
            return {**common, "bridge": plan.bridge, "ports": interfaces}
        numbers = {end.interface: end.port for end, _ in built.ends_at(plan.id)}
        ports = {name: {"number": numbers[each], "interface": each} for name, each in interfaces.items()}
        control = {"control": str(switch.place.control)} if switch.has_control else {}
        thrift = {"thrift": f"127.0.0.1:{switch.place.thrift_port}"} if switch.has_thrift else {}
        p4runtime = {"p4runtime": switch.place.p4runtime, "device_id": plan.number}
        return {**common, **p4runtime, "ports": ports, **control, **thrift}

    def _command(self) -> list[str]:
        self._state_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        override = os.environ.get(COMMAND_VARIABLE)
        program = shlex.split(override) if override else [os.environ.get("NODE", "node"), str(AGENT)]
        return [
            *(*program, "switches", "--server", self._server_url, "--origin", "twin"),
            *("--switches", str(self._file), "--state-dir", str(self._state_directory)),
        ]
