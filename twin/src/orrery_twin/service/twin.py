# SPDX-License-Identifier: Apache-2.0
"""Brings the emulated network to the last spec, and reports its state."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import Literal

from orrery_twin.adapters.board_build import BoardBuild
from orrery_twin.adapters.network import Network
from orrery_twin.adapters.ovs import SwitchDaemons, send_one_frame
from orrery_twin.adapters.packet_sockets import enlarge_buffers
from orrery_twin.adapters.process import CommandFailed
from orrery_twin.contract.models import Fault, Infrastructure, TwinSpec, TwinState
from orrery_twin.domain.boards import BoardChanges
from orrery_twin.domain.changes import steps_between, without
from orrery_twin.domain.topology import NOTHING, BuildPlan, Machine, NodePlan, plan_build
from orrery_twin.service.agents import Agents
from orrery_twin.service.boards import Boards
from orrery_twin.service.containers import Containers
from orrery_twin.service.delay_lines import DelayLines
from orrery_twin.service.directories import Directories
from orrery_twin.service.hub import Hub
from orrery_twin.service.links import LinkSampler
from orrery_twin.service.node_states import NodeStates
from orrery_twin.service.p4_switches import P4Switches
from orrery_twin.service.substrate import Substrate
from orrery_twin.service.switch_agent import SwitchAgent

log = logging.getLogger(__name__)

FIRST_RETRY_S = 1.0
LAST_RETRY_S = 30.0
LINKS_INTERVAL_S = 2.0
Phase = Literal["down", "building", "up", "failed", "tearing-down"]
BOARD_FAULTS = ("board-kill", "slot-stuck")


class Twin:
    """`plan` and `infrastructure` describe what exists: None before the first build and after the twin is shut down."""

    def __init__(
        self, directories: Directories, hub: Hub, machine: Machine, board_build: BoardBuild, containers: Containers
    ) -> None:
        self.hub = hub
        self.phase: Phase = "down"
        self.plan: BuildPlan | None = None
        self.infrastructure: Infrastructure | None = None
        self._substrate = Substrate()
        self._taken_up: BuildPlan = NOTHING
        self.boards = Boards(directories, board_build, hub, self.publish, self._board_lost_power)
        self.containers = containers
        self.agents = Agents(directories, hub, self.publish, self.boards.file_for_agent, containers.socket)
        self.p4_switches = P4Switches(directories, hub, self.publish)
        self._switch_agent = SwitchAgent(directories, hub, self.publish, self.p4_switches)
        self.faults: dict[str, Fault] = {}
        self.lines = DelayLines(directories, hub, self.publish)
        self.links = LinkSampler(hub, self.lines)
        self._daemons = SwitchDaemons(directories.state / "logs", self._switch_restarted)
        self._nodes = NodeStates(self._substrate, self._daemons, self.p4_switches, self.agents, self.boards)
        self._machine = machine
        self._desired = TwinSpec(generation=0, infrastructure=None, agents=None)
        self._reached_generation = 0
        self._error: str | None = None
        self._build_ms: float | None = None
        self._work = asyncio.Event()
        self.before_nodes_leave: list[Callable[[Collection[str]], Awaitable[None]]] = []
        self.when_up: list[Callable[[], None]] = []

    @property
    def network(self) -> Network:
        return self._substrate.network

    def check(self, infrastructure: Infrastructure) -> None:
        """Raises Refused if the twin cannot emulate the spec."""
        plan_build(infrastructure, self._machine, self._substrate.built)

    def want(self, spec: TwinSpec) -> None:
        """Set the spec; `run` applies it. Raises Refused if the twin cannot emulate it."""
        if spec.infrastructure is not None:
            self.check(spec.infrastructure)
        self._desired = spec
        self._work.set()

    async def run(self) -> None:
        """Reconcile until cancelled; retry a failed build after increasing delays."""
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

    async def publish_link_changes(self) -> None:
        """Report changes made elsewhere to watchers: links up or down. Runs until cancelled."""
        told: object = None
        while True:
            await asyncio.sleep(LINKS_INTERVAL_S)
            if not self.hub.is_watched or self.plan is None:
                continue
            now = [link.up for link in self.links.latest]
            if now != told:
                told = now
                self.publish()

    def publish(self) -> None:
        self.hub.state(self.state())

    def state(self) -> TwinState:
        infrastructure = self.infrastructure or self._desired.infrastructure
        return TwinState(
            generation=self._reached_generation,
            phase=self.phase,
            error=self._error,
            nodes=self._nodes.states(infrastructure) if infrastructure else [],
            links=self.links.latest,
            faults=list(self.faults.values()),
            build_ms=self._build_ms,
        )

    async def _reconcile(self, spec: TwinSpec) -> None:
        if spec.infrastructure is None:
            if self.phase != "down":
                self._set_phase("tearing-down")
                await self._tear_down()
                self._set_phase("down")
        else:
            await self._bring_up(spec, spec.infrastructure)
        self._reached_generation = spec.generation
        self.publish()

    async def _bring_up(self, spec: TwinSpec, infrastructure: Infrastructure) -> None:
        start = time.monotonic()
        if self.plan is None:
            self._error = None
            self._set_phase("building")
        await self._daemons.start()
        await self._change(spec, infrastructure)
        self._error = None
        if self._build_ms is None:
            self._build_ms = round((time.monotonic() - start) * 1000, 1)
            self.hub.event("twin.up", infrastructure.name, f"built in {self._build_ms:.0f} ms")
            for tell in self.when_up:
                tell()
        self._set_phase("up")

    async def _change(self, spec: TwinSpec, infrastructure: Infrastructure) -> None:
        """What does not change keeps carrying packets, even if something else fails."""
        wanted = plan_build(infrastructure, self._machine, self._substrate.built)
        boards = BoardChanges.between(self.boards.plans, wanted.boards)
        await self._release(wanted, boards)
        try:
            await self._substrate.bring_to(wanted)
        finally:
            await self._take_up(spec, infrastructure, boards)

    async def _release(self, wanted: BuildPlan, boards: BoardChanges) -> None:
        """Stop what runs on nodes, links and boards that are removed or changed."""
        steps = list(steps_between(self._substrate.built, wanted))
        nodes = {step.element.id for step in steps if step.verb == "remove-node"}
        links = {step.element.id for step in steps if step.verb == "remove-link"}
        # Tell the delay lines before their interfaces go, or they would report a failure.
        await self.lines.follow(link for link in self._substrate.built.links if link.id not in links)
        rewired = {
            node.id for node in self._substrate.built.nodes if _first_link_changes(node, links, self.plan, wanted)
        }
        if self.plan:
            # Nothing is started any more on removed elements.
            self.plan = without(self.plan, nodes, links - {link.id for link in wanted.links})
        for leave in self.before_nodes_leave:
            await leave(nodes)
        await self.agents.stop_at(nodes | rewired | boards.servers)
        self._forget_faults(lambda fault: fault.target in (boards.boards if fault.kind in BOARD_FAULTS else links))
        await self.boards.change(BoardChanges(boards.gone, ()), self.network.pid_of)
        if nodes:
            await self.containers.remove_at(nodes)

    async def _take_up(self, spec: TwinSpec, infrastructure: Infrastructure, boards: BoardChanges) -> None:
        """Start what belongs on the network as now built."""
        built, pid_of = self._substrate.built, self.network.pid_of
        if built != self._taken_up:
            await self.lines.follow(built.links)
            await self.p4_switches.follow(built)
            await self._enlarge_switch_buffers(built)
            await self.links.follow(built.links, pid_of)
            self._taken_up = built
        new = tuple(board for board in boards.new if board.server in pid_of)
        await self.boards.change(BoardChanges((), new), pid_of)
        self.plan, self.infrastructure = replace(built, boards=self.boards.plans), infrastructure
        await self.agents.update(infrastructure, pid_of, spec.agents)
        await self._switch_agent.update(infrastructure, built, spec.agents)

    async def _tear_down(self) -> None:
        await self._release(NOTHING, BoardChanges(self.boards.plans, ()))
        await self._switch_agent.stop()
        await self.boards.stop()
        self.plan = self.infrastructure = None
        self._taken_up = NOTHING
        await self.p4_switches.follow(NOTHING)
        await self.links.follow((), {})
        try:
            await self._substrate.bring_to(NOTHING)
        finally:
            self._build_ms = None

    def _board_lost_power(self, board_id: str) -> None:
        self._forget_faults(lambda fault: fault.kind == "slot-stuck" and fault.target == board_id)

    def _forget_faults(self, is_over: Callable[[Fault], bool]) -> None:
        for fault in [fault for fault in self.faults.values() if is_over(fault)]:
            del self.faults[fault.id]

    async def _switch_restarted(self) -> None:
        self.hub.event("switch.restarted", "openvswitch", "the switch daemon was restarted", "warning")
        while self.plan and self.infrastructure:
            try:
                await self._enlarge_switch_buffers(self.plan)
            except (CommandFailed, OSError):
                await asyncio.sleep(FIRST_RETRY_S)
            else:
                break
        self.publish()

    async def _enlarge_switch_buffers(self, plan: BuildPlan) -> None:
        pid = self._daemons.switch_pid
        bridges = {switch.id: switch.bridge for switch in plan.switches}
        ends = (end for link in plan.links for end in (link.near, link.far))
        end = next((end for end in ends if end.driver == "ovs"), None)
        if pid is None or end is None or end.port is None:
            return
        await send_one_frame(bridges[end.node], end.port)
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


def _first_link_changes(node: NodePlan, going: Collection[str], plan: BuildPlan | None, wanted: BuildPlan) -> bool:
    """An agent gets the interface of its server at its start, and its engine opens the interface then."""
    link = plan.link_of(node.id) if plan else None
    after = wanted.node(node.id)
    return (link is not None and link.id in going) or (after is not None and after.first != node.first)
