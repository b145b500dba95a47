# SPDX-License-Identifier: Apache-2.0
"""From an infrastructure to the plan of what to create.

Only nodes of origin `twin`, and the links between them, are emulated; `live` nodes are ignored.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from orrery_twin.contract.models import HostNode, Infrastructure, Link, LinkEnd, ServerNode
from orrery_twin.domain.boards import BoardPlan, board_faults, board_interface, boards_at_switches, plan_boards
from orrery_twin.domain.digest import fnv1a
from orrery_twin.domain.refusal import Refused
from orrery_twin.domain.shaping import LinkShape, shape_of
from orrery_twin.domain.topology_faults import live_nodes, topology_faults

GATEWAY_MAC = "02:0e:ff:ff:ff:fe"
GATEWAY_ADDRESS = "169.254.0.1"
GATEWAY_ADDRESS_V6 = "fe80::1"
"""Next hops of every host. They are never resolved (static neighbour entries) and never appear in packets."""


@dataclass(frozen=True)
class SwitchPlan:
    id: str
    number: int
    """Identifies its bridge and datapath; a switch keeps it for its whole life."""
    driver: str = "ovs"

    @property
    def bridge(self) -> str:
        return f"sw{self.number}"

    @property
    def datapath_id(self) -> str:
        return f"{self.number:016x}"


@dataclass(frozen=True)
class EndPlan:
    """One end of a link. `name` is the contract's port; `port` and `driver` the number that the switch knows it by and
    the switch's driver, None at a server or host; no driver alone: the switch does not have it as a port yet."""

    node: str
    name: str
    interface: str
    port: int | None
    mac: str | None = None
    addresses: tuple[str, ...] = ()
    is_default: bool = False
    """Default interface for packets that the node's programs send without a source address."""
    driver: str | None = None


@dataclass(frozen=True)
class LinkPlan:
    """`near` is at a switch, and is sampled there. `near_is_a`: it is the contract's end `a`."""

    id: str
    near: EndPlan
    far: EndPlan
    near_is_a: bool
    shape: LinkShape

    @property
    def bandwidth_bps(self) -> float:
        return self.shape.bandwidth_bps

    @property
    def line_ends(self) -> tuple[str, str]:
        """Interfaces of the delay line: the peers of `near` and of `far`."""
        return f"{self.near.interface}-n", f"{self.near.interface}-f"


@dataclass(frozen=True)
class NodePlan:
    """A server or a host: a network namespace. `first` is the interface with the node's own MAC address."""

    id: str
    kind: str
    first: str
    addresses: tuple[str, ...]

    @property
    def address(self) -> str | None:
        """The primary address: the first IPv4 address, or otherwise the first address."""
        return next((each for each in self.addresses if ":" not in each), next(iter(self.addresses), None))


@dataclass(frozen=True)
class BuildPlan:
    switches: tuple[SwitchPlan, ...] = ()
    nodes: tuple[NodePlan, ...] = ()
    links: tuple[LinkPlan, ...] = ()
    boards: tuple[BoardPlan, ...] = ()

    def node(self, node_id: str) -> NodePlan | None:
        return next((node for node in self.nodes if node.id == node_id), None)

    def link(self, link_id: str) -> LinkPlan | None:
        return next((link for link in self.links if link.id == link_id), None)

    def link_of(self, node_id: str) -> LinkPlan | None:
        """The link of a node's first interface."""
        node = self.node(node_id)
        own = (link for link in self.links if node and link.far.node == node.id)
        return next((link for link in own if node and link.far.interface == node.first), None)

    def ends_at(self, switch_id: str) -> Iterator[tuple[EndPlan, EndPlan]]:
        """Ports of a switch, each with its end of the link."""
        for link in self.links:
            if link.near.node == switch_id:
                yield link.near, link.far
            if link.far.node == switch_id:
                yield link.far, link.near


NOTHING = BuildPlan()
Key = TypeVar("Key")


def server_mac(server_id: str) -> str:
    """MAC address of a server's first interface, derived from its ID alone, as in the planner's NodeSpec."""
    digest = fnv1a(server_id)
    folded = (digest ^ (digest >> 16)) & 0xFFFF
    return f"02:0f:00:00:{folded >> 8:02x}:{folded & 0xFF:02x}"


def further_mac(node_id: str, port: str) -> str:
    """MAC address of any other interface, as in the planner."""
    return "02:0d:" + ":".join(f"{octet:02x}" for octet in fnv1a(f"{node_id} {port}").to_bytes(4, "big"))


@dataclass(frozen=True)
class Machine:
    """Capabilities of the machine.

    `no_delay_line`, `no_ipv6`: why links cannot have delay, jitter and loss, and nodes no IPv6 addresses; None if they
    can. `no_driver`: the same of a driver of switches, asked each time. `slots_of_profile`: the known board
    profiles, with their slots.
    """

    no_delay_line: str | None
    no_ipv6: str | None
    no_driver: Callable[[str], str | None]
    slots_of_profile: Mapping[str, int]


def plan_build(infrastructure: Infrastructure, machine: Machine, built: BuildPlan = NOTHING) -> BuildPlan:
    """What is in `built` keeps its bridges and ports.

    Raises Refused, naming every field at fault, if the twin cannot emulate the infrastructure.
    """
    faults = [*topology_faults(infrastructure, machine.no_delay_line, machine.no_ipv6, machine.no_driver)]
    faults += board_faults(infrastructure, machine.slots_of_profile)
    if faults:
        raise Refused("the twin cannot emulate this infrastructure", faults)

    emulated = {switch.id: switch.driver for switch in infrastructure.switches if switch.origin == "twin"}
    numbers = _numbered(list(emulated), {switch.id: switch.number for switch in built.switches})
    switches = tuple(SwitchPlan(switch_id, numbers[switch_id], driver) for switch_id, driver in emulated.items())
    emulated_links = _emulated_links(infrastructure)
    servers = [
        NodePlan(server.id, "server", server.nics[0].name, _addresses(server))
        for server in infrastructure.servers
        if server.origin == "twin"
    ]
    hosts = [
        NodePlan(host.id, "host", _first_port(host, emulated_links), _addresses(host))
        for host in infrastructure.hosts
        if host.origin == "twin"
    ]
    links = _plan_links(infrastructure, emulated_links, switches, built)
    return BuildPlan(switches, (*servers, *hosts), links, plan_boards(infrastructure))


def _numbered(wanted: list[Key], before: Mapping[Key, int]) -> dict[Key, int]:
    """Numbers from 1: existing ports keep theirs, others get the lowest number that is free and was not just freed."""
    taken = set(before.values())
    numbers: dict[Key, int] = {}
    free = 1
    for each in wanted:
        if each in before:
            numbers[each] = before[each]
            continue
        while free in taken:
            free += 1
        numbers[each] = free
        taken.add(free)
    return numbers


def _plan_links(
    infrastructure: Infrastructure, links: list[Link], switches: tuple[SwitchPlan, ...], built: BuildPlan
) -> tuple[LinkPlan, ...]:
    ports: dict[str, dict[str, int]] = {}
    for switch in switches:
        wanted = [end.port for link in links for end in (link.a, link.b) if end.node == switch.id]
        ports[switch.id] = _numbered(
            wanted, {near.name: near.port for near, _ in built.ends_at(switch.id) if near.port}
        )
    plan_of = {switch.id: switch for switch in switches}
    nodes: dict[str, HostNode | ServerNode] = {host.id: host for host in infrastructure.hosts}
    nodes |= {server.id: server for server in infrastructure.servers}
    boards = boards_at_switches(infrastructure)

    def end(link_end: LinkEnd) -> EndPlan:
        if switch := plan_of.get(link_end.node):
            number = ports[switch.id][link_end.port]
            return EndPlan(switch.id, link_end.port, f"{switch.bridge}p{number}", number, driver=switch.driver)
        if board := boards.get(link_end.node):
            return EndPlan(board.server, link_end.port, board_interface(board.id, link_end.port), None)
        return _node_end(nodes[link_end.node], link_end.port, links)

    plans = []
    for link in links:
        a, b = end(link.a), end(link.b)
        near_is_a = a.port is not None
        near, far = (a, b) if near_is_a else (b, a)
        plans.append(LinkPlan(link.id, near, far, near_is_a, shape_of(link)))
    return tuple(plans)


def _node_end(node: HostNode | ServerNode, port: str, links: list[Link]) -> EndPlan:
    first = _first_port(node, links)
    own_mac = node.mac if isinstance(node, HostNode) else server_mac(node.id)
    by_port = [(each.port or first, each.address) for each in node.addresses]
    return EndPlan(
        node.id,
        port,
        port,
        None,
        own_mac if port == first else further_mac(node.id, port),
        tuple(address for place, address in by_port if place == port),
        is_default=bool(by_port) and port == (first if first in dict(by_port) else by_port[0][0]),
    )


def _first_port(node: HostNode | ServerNode, links: list[Link]) -> str:
    if isinstance(node, ServerNode):
        return node.nics[0].name
    return next(end.port for link in links for end in (link.a, link.b) if end.node == node.id)


def _addresses(node: HostNode | ServerNode) -> tuple[str, ...]:
    return tuple(each.address for each in node.addresses)


def _emulated_links(infrastructure: Infrastructure) -> list[Link]:
    live = live_nodes(infrastructure)
    return [link for link in infrastructure.links if link.a.node not in live and link.b.node not in live]


def port_interfaces(infrastructure: Infrastructure, built: BuildPlan, switch_id: str) -> dict[str, str]:
    """Interface of each port of a switch, by the port's name in the infrastructure."""
    interfaces: dict[str, str] = {}
    for link in infrastructure.links:
        plan = built.link(link.id)
        if plan is None:
            continue
        near, far = (link.a, link.b) if plan.near_is_a else (link.b, link.a)
        for end, built_end in ((near, plan.near), (far, plan.far)):
            if end.node == switch_id:
                interfaces[end.port] = built_end.interface
    return interfaces


def _ports_between(plan: BuildPlan) -> dict[str, dict[str, int]]:
    result: dict[str, dict[str, int]] = {switch.id: {} for switch in plan.switches}
    for target in result:
        reached = {target}
        waiting = deque([target])
        while waiting:
            here = waiting.popleft()
            for switch in plan.switches:
                if switch.id in reached:
                    continue
                leading = [near.port for near, far in plan.ends_at(switch.id) if far.node == here and near.port]
                if leading:
                    result[switch.id][target] = min(leading)
                    reached.add(switch.id)
                    waiting.append(switch.id)
    return result
