# SPDX-License-Identifier: Apache-2.0
"""Faults that are made on purpose. A `link-down` lasts until it is removed; a kill is over at once."""

import asyncio
import os
import secrets
import signal
from contextlib import suppress

from orrery_twin.adapters.process import CommandFailed
from orrery_twin.adapters.processes import processes_in_namespace_of
from orrery_twin.contract.models import Fault, FaultRequest
from orrery_twin.domain.refusal import FieldFault, Refused
from orrery_twin.domain.topology import LinkPlan
from orrery_twin.service.hub import Hub, now_ms
from orrery_twin.service.twin import Twin

ENGINE_NAME = "orrery-engine"


class Faults:
    def __init__(self, twin: Twin, hub: Hub) -> None:
        self._twin = twin
        self._hub = hub
        # Requests for one link follow each other: the fault is listed only when the link is down.
        self._setting_links = asyncio.Lock()

    async def make(self, request: FaultRequest) -> Fault:
        if self._twin.plan is None:
            raise Refused("the twin is not up", status=409)
        fault = Fault(id="fault-" + secrets.token_hex(6), kind=request.kind, target=request.target, since_ms=now_ms())
        if request.kind == "link-down":
            link = self._twin.plan.link(request.target)
            if link is None:
                raise _unknown(f"there is no link {request.target}")
            async with self._setting_links:
                if any(other.target == request.target for other in self._twin.faults.values()):
                    raise Refused(f"{request.target} is already down", status=409)
                await self._take_down(link)
                self._twin.faults[fault.id] = fault
            self._hub.event("link.down", request.target, "taken down on purpose", "warning")
        else:
            self._kill(request)
        self._twin.publish()
        return fault

    async def remove(self, fault_id: str) -> bool:
        async with self._setting_links:
            fault = self._twin.faults.get(fault_id)
            link = self._twin.plan.link(fault.target) if fault and self._twin.plan else None
            if fault is None or link is None:
                return False
            await self._twin.network.set_link(link, up=True)
            self._twin.faults.pop(fault_id, None)
        self._hub.event("link.up", fault.target, "put back")
        self._twin.publish()
        return True

    async def _take_down(self, link: LinkPlan) -> None:
        """Both ends or, when that fails, none."""
        try:
            await self._twin.network.set_link(link, up=False)
        except CommandFailed:
            with suppress(CommandFailed):
                await self._twin.network.set_link(link, up=True)
            raise

    def _kill(self, request: FaultRequest) -> None:
        node = self._twin.plan.node(request.target) if self._twin.plan else None
        if node is None or node.kind != "server":
            raise _unknown(f"there is no server {request.target}")
        agent = self._twin.agents.agent(request.target)
        if request.kind == "agent-kill":
            victims = [agent.pid] if agent and agent.pid else []
        else:
            victims = processes_in_namespace_of(self._twin.network.pid_of[request.target], ENGINE_NAME)
        if not victims:
            raise Refused(f"no {request.kind.removesuffix('-kill')} runs on {request.target}", status=409)
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        what = request.kind.removesuffix("-kill")
        self._hub.event(f"{what}.killed", request.target, "killed on purpose", "warning")


def _unknown(detail: str) -> Refused:
    return Refused("the twin cannot make this fault", [FieldFault("/target", detail)])
