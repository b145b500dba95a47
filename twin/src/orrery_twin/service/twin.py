# SPDX-License-Identifier: Apache-2.0
"""Brings the emulated network to the last spec, and says what there is."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Literal

from orrery_twin.adapters.board_build import BoardBuild
from orrery_twin.adapters.network import Network
from orrery_twin.adapters.ovs import SwitchDaemons, send_one_frame
from orrery_twin.adapters.packet_sockets import enlarge_buffers
from orrery_twin.adapters.process import CommandFailed
from orrery_twin.contract.models import FabricSpec, Fault, Infrastructure, TwinNodeState, TwinSpec, TwinState
from orrery_twin.domain.boards import BoardChanges
from orrery_twin.domain.refusal import Refused
from orrery_twin.domain.topology import BuildPlan, Machine, plan_build
from orrery_twin.service.agents import Agents
from orrery_twin.service.boards import Boards
from orrery_twin.service.containers import Containers
from orrery_twin.service.directories import Directories
from orrery_twin.service.fabric import FabricControl
from orrery_twin.service.hosts import HostServers
from orrery_twin.service.hub import Hub
from orrery_twin.service.links import LinkSampler
from orrery_twin.service.supervisor import NodeState

log = logging.getLogger(__name__)

FIRST_RETRY_S = 1.0
LAST_RETRY_S = 30.0
COUNTERS_INTERVAL_S = 2.0
Phase = Literal["down", "building", "up", "failed", "tearing-down"]
BOARD_FAULTS = ("board-kill", "slot-stuck")


class Twin:
    """`plan` and `infrastructure` are what exists: None unless the phase is `up`."""

    def __init__(
        self, directories: Directories, hub: Hub, machine: Machine, board_build: BoardBuild, containers: Containers
    ) -> None:
        self.hub = hub
        self.phase: Phase = "down"
        self.plan: BuildPlan | None = None
        self.infrastructure: Infrastructure | None = None
        self.network = Network()
        self.fabric = FabricControl(hub)
        self.boards = Boards(directories, board_build, hub, self.publish, self._board_lost_power)
        self.containers = containers
        self.agents = Agents(directories, hub, self.publish, self.boards.file_for_agent, containers.socket)
        self.faults: dict[str, Fault] = {}
        self.links = LinkSampler(hub)
        self._hosts = HostServers(directories.state / "logs", hub, self.publish)
        self._daemons = SwitchDaemons(directories.state / "logs", self._switch_restarted)
        self._machine = machine
        self._desired = TwinSpec(generation=0, infrastructure=None, agents=None)
        self._reached_generation = 0
        self._error: str | None = None
        self._build_ms: float | None = None
        self._work = asyncio.Event()
        self.before_tear_down: list[Callable[[], Awaitable[None]]] = []
        self.when_up: list[Callable[[], None]] = []

    def want(self, spec: TwinSpec) -> None:
        """Raises Refused when the twin cannot be so; else `reconcile` makes it so."""
        if spec.infrastructure is not None:
            plan_build(spec.infrastructure, self._machine)
        self._desired = spec
        self._work.set()

    async def want_fabric(self, spec: FabricSpec) -> None:
        """Raises Refused when the wanted infrastructure cannot carry the rules, and changes nothing then."""
        infrastructure = self._desired.infrastructure
        if infrastructure is None:
            raise Refused("there is no topology to apply rules to: PUT /spec first", status=409)
        self.fabric.check(infrastructure, plan_build(infrastructure, self._machine), spec)
        self.fabric.want(spec)
        if self.phase == "up" and self.plan and self.infrastructure:
            await self.fabric.apply(self.infrastructure, self.plan)
            self.publish()

    async def run(self) -> None:
        """Reconciles until cancelled; a failed build is tried again, later and later."""
        retry_s = FIRST_RETRY_S
        while True:
            await self._work.wait()
            self._work.clear()
            spec = self._desired
            try:
                await self._reconcile(spec)
            except Exception as error:
                log.exception("building the twin failed")
                self._error = str(error)[:2000]
                self._set_phase("failed")
                self.hub.event("twin.failed", "twin", self._error, "error")
                await self._wait_for_work(retry_s)
                retry_s = min(retry_s * 2, LAST_RETRY_S)
                self._work.set()
            else:
                retry_s = FIRST_RETRY_S

    async def publish_counters(self) -> None:
        """Tells watchers of changes that nobody made here: rule counters, links up or down. Runs until cancelled."""
        told: object = None
        while True:
            await asyncio.sleep(COUNTERS_INTERVAL_S)
            if not self.hub.is_watched or self.phase != "up":
                continue
            state = await self.state()
            now = ([link.up for link in state.links], state.fabric.rules)
            if now != told:
                told = now
                self.hub.state(state)

    def publish(self) -> None:
        self.hub.state(self.last_state())

    async def state(self) -> TwinState:
        await self.fabric.state()
        return self.last_state()

    def last_state(self) -> TwinState:
        infrastructure = self.infrastructure or self._desired.infrastructure
        return TwinState(
            generation=self._reached_generation,
            phase=self.phase,
            error=self._error,
            nodes=self._nodes(infrastructure) if infrastructure else [],
            links=self.links.latest,
            faults=list(self.faults.values()),
            fabric=self.fabric.last_state(),
            build_ms=self._build_ms,
        )

    async def _reconcile(self, spec: TwinSpec) -> None:
        if self.phase == "up" and _differ_by_boards_at_most(spec.infrastructure, self.infrastructure):
            await self._update(spec)
        elif spec.infrastructure != self.infrastructure or self.phase == "failed":
            if self.phase in ("up", "failed"):
                self._set_phase("tearing-down")
                await self._tear_down()
                self._set_phase("down")
            if spec.infrastructure is not None:
                await self._build(spec, spec.infrastructure)
        self._reached_generation = spec.generation
        self.publish()

    async def _build(self, spec: TwinSpec, infrastructure: Infrastructure) -> None:
        start = time.monotonic()
        self._error = None
        self._set_phase("building")
        plan = plan_build(infrastructure, self._machine)
        await self._daemons.start()
        await self.network.build(plan)
        self._hosts.start(plan, self.network.pid_of)
        await self._enlarge_switch_buffers(plan)
        await self.fabric.apply(infrastructure, plan)
        await self.links.start(plan, self.network.pid_of)
        await self._hosts.until_ready(self.network.pid_of)
        await self.boards.change(BoardChanges(gone=(), new=plan.boards), self.network.pid_of)
        self.plan, self.infrastructure = plan, infrastructure
        self.agents.start(infrastructure, self.network.pid_of, spec.agents)
        self._build_ms = round((time.monotonic() - start) * 1000, 1)
        self._set_phase("up")
        self.hub.event("twin.up", infrastructure.name, f"built in {self._build_ms:.0f} ms")
        for tell in self.when_up:
            tell()

    async def _update(self, spec: TwinSpec) -> None:
        """Of what may change while the network stays: boards and agents."""
        assert self.plan and spec.infrastructure
        plan = plan_build(spec.infrastructure, self._machine)
        changes = BoardChanges.between(self.plan.boards, plan.boards)
        await self.agents.stop_at(changes.servers)
        self._forget_faults(lambda fault: fault.kind in BOARD_FAULTS and fault.target in changes.boards)
        self.plan, self.infrastructure = plan, spec.infrastructure
        await self.boards.change(changes, self.network.pid_of)
        await self.agents.update(spec.infrastructure, self.network.pid_of, spec.agents)

    async def _tear_down(self) -> None:
        for stop in self.before_tear_down:
            await stop()
        self.plan = self.infrastructure = None
        self.faults.clear()
        await self.agents.stop()
        await self.containers.remove_all()
        await self.boards.stop()
        await self._hosts.stop()
        await self.links.stop()
        await self.network.tear_down()
        self.fabric.forget()
        self._build_ms = None

    def _board_lost_power(self, board_id: str) -> None:
        self._forget_faults(lambda fault: fault.kind == "slot-stuck" and fault.target == board_id)

    def _forget_faults(self, is_over: Callable[[Fault], bool]) -> None:
        for fault in [fault for fault in self.faults.values() if is_over(fault)]:
            del self.faults[fault.id]

    async def _switch_restarted(self) -> None:
        self.hub.event("switch.restarted", "openvswitch", "the switch daemon was started again", "warning")
        while self.plan and self.infrastructure:
            try:
                await self._enlarge_switch_buffers(self.plan)
                await self.fabric.apply(self.infrastructure, self.plan)
            except CommandFailed:
                await asyncio.sleep(FIRST_RETRY_S)
            else:
                break
        self.publish()

    async def _enlarge_switch_buffers(self, plan: BuildPlan) -> None:
        pid = self._daemons.switch_pid
        near = plan.links[0].near if plan.links else None
        switch = next((switch for switch in plan.switches if near and switch.id == near.node), None)
        if pid is None or near is None or near.port is None or switch is None:
            return
        await send_one_frame(switch.bridge, near.port)
        try:
            enlarge_buffers(pid)
        except OSError as error:
            # Bursts are lost then, and counted as drops of their link.
            self.hub.event("switch.small-buffers", "openvswitch", str(error), "warning")

    async def _wait_for_work(self, limit_s: float) -> None:
        try:
            await asyncio.wait_for(self._work.wait(), limit_s)
        except TimeoutError:
            pass

    def _set_phase(self, phase: Phase) -> None:
        self.phase = phase
        self.publish()

    def _nodes(self, infrastructure: Infrastructure) -> list[TwinNodeState]:
        states: dict[Phase, NodeState] = {"up": "up", "building": "starting", "failed": "failed"}
        state = states.get(self.phase, "down")
        switch_pid = self._daemons.switch_pid
        nodes = [
            TwinNodeState(
                id=switch.id,
                kind="switch",
                state="failed" if state == "up" and switch_pid is None else state,
                pid=switch_pid,
                detail=None,
            )
            for switch in infrastructure.switches
            if switch.origin == "twin"
        ]
        ends: list[tuple[str, Literal["server", "host"]]] = [
            (server.id, "server") for server in infrastructure.servers if server.origin == "twin"
        ]
        ends += [(host.id, "host") for host in infrastructure.hosts if host.origin == "twin"]
        for node_id, kind in ends:
            process = self.agents.agent(node_id) if kind == "server" else self._hosts.server(node_id)
            broken = state == "up" and process is not None and process.pid is None
            nodes.append(
                TwinNodeState(
                    id=node_id,
                    kind=kind,
                    state="starting" if broken else state,
                    pid=process.pid if process else self.network.pid_of.get(node_id),
                    detail=process.detail if process else None,
                )
            )
        return [
            *nodes,
            *(self._board_node(board.id, state) for board in infrastructure.boards if board.origin == "twin"),
        ]

    def _board_node(self, board_id: str, state: NodeState) -> TwinNodeState:
        process = self.boards.process(board_id)
        return TwinNodeState(
            id=board_id,
            kind="board",
            state=self.boards.state(board_id) if state == "up" else state,
            pid=process.pid if process else None,
            detail=process.detail if process else None,
        )


def _differ_by_boards_at_most(wanted: Infrastructure | None, present: Infrastructure | None) -> bool:
    if wanted is None or present is None:
        return False
    return wanted.model_copy(update={"boards": []}) == present.model_copy(update={"boards": []})
