# SPDX-License-Identifier: Apache-2.0
"""State of each node of the infrastructure: whether it is built, and whether what should run on it runs."""

from dataclasses import dataclass

from orrery_twin.adapters.ovs import SwitchDaemons
from orrery_twin.contract.models import Infrastructure, TwinNodeState
from orrery_twin.service.agents import Agents
from orrery_twin.service.boards import Boards
from orrery_twin.service.p4_switches import P4Switches
from orrery_twin.service.substrate import Substrate
from orrery_twin.service.supervisor import NodeState, Supervised


@dataclass(frozen=True)
class NodeStates:
    substrate: Substrate
    daemons: SwitchDaemons
    p4_switches: P4Switches
    agents: Agents
    boards: Boards

    def states(self, infrastructure: Infrastructure) -> list[TwinNodeState]:
        """States of all emulated nodes."""
        states = [self._switch(each.id) for each in infrastructure.switches if each.origin == "twin"]
        for server in infrastructure.servers:
            if server.origin == "twin":
                states.append(self._end(server.id, self.agents.agent(server.id), is_host=False))
        for host in infrastructure.hosts:
            if host.origin == "twin":
                states.append(self._end(host.id, None, is_host=True))
        return [*states, *(self._board(each.id) for each in infrastructure.boards if each.origin == "twin")]

    def _switch(self, switch_id: str) -> TwinNodeState:
        p4 = self.p4_switches.switch(switch_id)
        pid = p4.process.pid if p4 else self.daemons.switch_pid
        is_built = any(switch.id == switch_id for switch in self.substrate.built.switches)
        detail = self.substrate.failures.get(f"add-switch {switch_id}")
        state: NodeState = "up" if pid is not None else "failed"
        return TwinNodeState(
            id=switch_id,
            kind="switch",
            state=state if is_built else _unbuilt(detail),
            pid=pid,
            detail=detail or (p4.process.detail if p4 else None),
        )

    def _end(self, node_id: str, process: Supervised | None, is_host: bool) -> TwinNodeState:
        """`process`: the process that makes the node more than a namespace, if there is one."""
        detail = self.substrate.failures.get(f"add-node {node_id}")
        state: NodeState = "starting" if process and process.pid is None else "up"
        return TwinNodeState(
            id=node_id,
            kind="host" if is_host else "server",
            state=state if self.substrate.built.node(node_id) else _unbuilt(detail),
            pid=process.pid if process else self.substrate.network.pid_of.get(node_id),
            detail=process.detail if process else detail,
        )

    def _board(self, board_id: str) -> TwinNodeState:
        process = self.boards.process(board_id)
        return TwinNodeState(
            id=board_id,
            kind="board",
            state=self.boards.state(board_id) if process else "starting",
            pid=process.pid if process else None,
            detail=process.detail if process else None,
        )


def _unbuilt(failure: str | None) -> NodeState:
    return "starting" if failure is None else "failed"
