# SPDX-License-Identifier: Apache-2.0
"""Injected faults. A killed agent or engine is over at once; all others last until they are removed."""

import asyncio
import os
import secrets
import signal
from contextlib import suppress

from orrery_twin.adapters.control_socket import ControlRefused, ControlSilent
from orrery_twin.adapters.process import CommandFailed
from orrery_twin.adapters.processes import processes_in_namespace_of
from orrery_twin.contract.models import Fault, FaultRequest
from orrery_twin.domain.boards import BoardPlan
from orrery_twin.domain.refusal import FieldFault, Refused
from orrery_twin.domain.topology import BuildPlan
from orrery_twin.service.hub import Hub, now_ms
from orrery_twin.service.twin import Twin

ENGINE_NAME = "orrery-engine"


class Faults:
    def __init__(self, twin: Twin, hub: Hub) -> None:
        self._twin = twin
        self._hub = hub
        # Requests are serialized: a lasting fault is listed only once it is in effect.
        self._setting = asyncio.Lock()

    async def make(self, request: FaultRequest) -> Fault:
        _check_slot_is_given(request)
        async with self._setting:
            plan = self._twin.plan
            if plan is None:
                raise Refused("the twin is not up", status=409)
            fault = Fault(
                **request.model_dump(exclude_none=True), id="fault-" + secrets.token_hex(6), since_ms=now_ms()
            )
            if fault.kind == "link-down":
                await self._take_link_down(plan, fault)
            elif fault.kind == "board-kill":
                await self._switch_board_off(fault)
            elif fault.kind == "slot-stuck":
                await self._stick_slot(fault)
            else:
                self._kill(plan, fault)
        self._twin.publish()
        return fault

    async def remove(self, fault_id: str) -> bool:
        async with self._setting:
            fault = self._twin.faults.get(fault_id)
            plan = self._twin.plan
            if fault is None or plan is None:
                return False
            if fault.kind == "link-down":
                await self._put_link_up(plan, fault)
            elif fault.kind == "board-kill":
                self._twin.boards.switch_on(fault.target)
            else:
                await self._clear_slot(fault)
            self._twin.faults.pop(fault_id, None)
        self._twin.publish()
        return True

    async def _take_link_down(self, plan: BuildPlan, fault: Fault) -> None:
        """Both ends or, if that fails, none."""
        link = plan.link(fault.target)
        if link is None:
            raise _refused("/target", f"no link {fault.target}")
        if self._has(fault):
            raise Refused(f"{fault.target} is already down", status=409)
        try:
            await self._twin.network.set_link(link, up=False)
        except CommandFailed:
            with suppress(CommandFailed):
                await self._twin.network.set_link(link, up=True)
            raise
        self._twin.faults[fault.id] = fault
        self._hub.event("link.down", fault.target, "taken down by a fault", "warning")

    async def _put_link_up(self, plan: BuildPlan, fault: Fault) -> None:
        if link := plan.link(fault.target):
            await self._twin.network.set_link(link, up=True)
            self._hub.event("link.up", fault.target, "put back")

    async def _switch_board_off(self, fault: Fault) -> None:
        board = self._board(fault)
        if self._has(fault):
            raise Refused(f"{board.id} is already switched off", status=409)
        self._hub.event("board.killed", board.id, "switched off by a fault", "warning")
        await self._twin.boards.switch_off(board.id)
        if self._twin.boards.is_switched_off(board.id):
            self._twin.faults[fault.id] = fault

    async def _stick_slot(self, fault: Fault) -> None:
        board = self._board(fault)
        if fault.slot is None or fault.slot >= len(board.slots):
            raise _refused("/slot", f"{board.id} has the slots 0 to {len(board.slots) - 1}")
        if self._has(fault):
            raise Refused(f"slot {fault.slot} of {board.id} is already stuck", status=409)
        try:
            await self._twin.boards.stick_slot(board.id, fault.slot)
        except (ControlRefused, ControlSilent) as refusal:
            raise Refused(f"{board.id} refused: {refusal}", status=409) from None
        if self._twin.boards.plan(board.id) is board:
            self._twin.faults[fault.id] = fault
        self._hub.event("slot.stuck", board.id, f"slot {fault.slot} was made stuck by a fault", "warning")

    async def _clear_slot(self, fault: Fault) -> None:
        assert fault.slot is not None
        try:
            await self._twin.boards.clear_slot(fault.target, fault.slot)
        except ControlSilent as silence:
            raise Refused(f"{fault.target} failed: {silence}", status=409) from None
        self._hub.event("slot.cleared", fault.target, f"slot {fault.slot} works again")

    def _board(self, fault: Fault) -> BoardPlan:
        board = self._twin.boards.plan(fault.target)
        if board is None:
            raise _refused("/target", f"no board {fault.target}")
        return board

    def _has(self, fault: Fault) -> bool:
        wanted = (fault.kind, fault.target, fault.slot)
        return any((other.kind, other.target, other.slot) == wanted for other in self._twin.faults.values())

    def _kill(self, plan: BuildPlan, fault: Fault) -> None:
        node = plan.node(fault.target)
        if node is None or node.kind != "server":
            raise _refused("/target", f"no server {fault.target}")
        agent = self._twin.agents.agent(fault.target)
        if fault.kind == "agent-kill":
            victims = [agent.pid] if agent and agent.pid else []
        else:
            victims = processes_in_namespace_of(self._twin.network.pid_of[fault.target], ENGINE_NAME)
        what = fault.kind.removesuffix("-kill")
        if not victims:
            raise Refused(f"no {what} runs on {fault.target}", status=409)
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        self._hub.event(f"{what}.killed", fault.target, "killed by a fault", "warning")


def _check_slot_is_given(request: FaultRequest) -> None:
    if request.kind == "slot-stuck" and request.slot is None:
        raise _refused("/slot", "required for slot-stuck")
    if request.kind != "slot-stuck" and request.slot is not None:
        raise _refused("/slot", "only slot-stuck has a slot")


def _refused(pointer: str, detail: str) -> Refused:
    return Refused("the twin cannot inject this fault", [FieldFault(pointer, detail)])
