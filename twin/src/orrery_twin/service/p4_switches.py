# SPDX-License-Identifier: Apache-2.0
"""P4 switches: one process for each, between the interfaces of its ports. Its agent programs it."""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from orrery_twin.adapters.control_socket import ControlHung, ControlRefused, ControlSilent
from orrery_twin.adapters.p4_software import SOFTWARE, P4Place, Ports
from orrery_twin.adapters.process import BoundedLog
from orrery_twin.domain.topology import BuildPlan, SwitchPlan
from orrery_twin.service.directories import Directories
from orrery_twin.service.hub import Hub
from orrery_twin.service.supervisor import Supervised

LOOK_INTERVAL_S = 0.5
ANSWER_TIMEOUT_S = 2.0
"""A process that is silent for longer counts as hung and is killed."""
START_TIMEOUT_S = 5.0


class P4Switch:
    """A process that dies or hangs is restarted with the same ports, and without entries: its agent writes them."""

    def __init__(self, plan: SwitchPlan, directory: Path, log: Path, hub: Hub, on_change: Callable[[], None]) -> None:
        self.plan = plan
        self.place = P4Place(directory, plan.number)
        self._software = SOFTWARE[plan.driver]
        self._hub = hub
        self._ports: Ports = []
        self._refusal: str | None = None
        self.process = Supervised(
            "switch",
            plan.id,
            lambda: self._software.command(self.place, self._ports),
            namespace_of=None,
            log=BoundedLog(log),
            hub=hub,
            on_change=on_change,
        )
        self._task: asyncio.Task[None] | None = None

    @property
    def has_control(self) -> bool:
        return self._software.has_control

    @property
    def has_thrift(self) -> bool:
        return self._software.has_thrift

    async def follow(self, ports: Ports) -> None:
        """Wait until the ports are open, but not for long."""
        if ports != self._ports and not self._software.has_control:
            if self._task is not None:
                told = "other links: it takes its ports at its start, so it starts anew and carries nothing meanwhile"
                self._hub.event("switch.restarted", self.plan.id, told, "warning")
            await self.process.stop()
        self._ports = ports
        self.place.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.process.start()
        if self._task is None:
            self._task = asyncio.create_task(self._keep())
        with suppress(TimeoutError):
            async with asyncio.timeout(START_TIMEOUT_S):
                while not await self._reach():
                    await asyncio.sleep(0.01)

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self.process.stop()
        shutil.rmtree(self.place.directory, ignore_errors=True)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            await self._reach()

    async def _reach(self) -> bool:
        """Whether it answers and has accepted its ports."""
        try:
            await self._software.reach(self.place, self._ports, ANSWER_TIMEOUT_S)
        except ControlHung as failure:
            if pid := self.process.pid:
                self._hub.event("switch.hung", self.plan.id, f"{failure}: killing it", "error")
                os.kill(pid, signal.SIGKILL)
        except ControlRefused as refusal:
            if str(refusal) != self._refusal:
                self._hub.event("switch.refused", self.plan.id, str(refusal), "error")
            self._refusal = str(refusal)
        except ControlSilent:
            pass
        else:
            self._refusal = None
            return True
        return False


class P4Switches:
    def __init__(self, directories: Directories, hub: Hub, on_change: Callable[[], None]) -> None:
        self._directories = directories
        self._hub = hub
        self._on_change = on_change
        self._switches: dict[str, P4Switch] = {}

    def switch(self, switch_id: str) -> P4Switch | None:
        return self._switches.get(switch_id)

    async def follow(self, built: BuildPlan) -> None:
        """Run the switches of the network as built, with their ports, and no others."""
        wanted = {switch.id: switch for switch in built.switches if switch.driver in SOFTWARE}
        for switch_id, switch in list(self._switches.items()):
            if wanted.get(switch_id) != switch.plan:
                await self._switches.pop(switch_id).stop()
        for plan in wanted.values():
            if plan.id not in self._switches:
                self._switches[plan.id] = self._make(plan)
        await asyncio.gather(*(switch.follow(_ports(built, switch.plan)) for switch in self._switches.values()))

    def _make(self, plan: SwitchPlan) -> P4Switch:
        directory = self._directories.run / "p4" / str(plan.number)
        log = self._directories.state / "logs" / f"p4-switch-{plan.id}.log"
        return P4Switch(plan, directory, log, self._hub, self._on_change)


def _ports(built: BuildPlan, plan: SwitchPlan) -> Ports:
    ends = [end for end, _ in built.ends_at(plan.id) if end.driver == plan.driver]
    return [{"number": end.port, "name": end.name, "interface": end.interface} for end in ends]
