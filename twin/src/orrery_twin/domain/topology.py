# SPDX-License-Identifier: Apache-2.0
"""From an infrastructure to what must be made for it, in order, or to the reasons why it cannot be made.

Only nodes of origin `twin` are emulated, and the links between them: what is `live` is not the twin's business.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orrery_twin.contract.models import Infrastructure, LinkEnd
from orrery_twin.domain.boards import BoardPlan, board_faults, plan_boards
from orrery_twin.domain.digest import fnv1a
from orrery_twin.domain.refusal import FieldFault, Refused, pointer

GATEWAY_MAC = "02:0e:ff:ff:ff:fe"
GATEWAY_ADDRESS = "169.254.0.1"
"""Next hop of every host. It is never resolved (static neighbour entry) and never seen in a packet."""

TAG_MAC_PREFIX = "02:0e:"
TIME_MAC_PREFIX = "06:"
INTERFACE_NAME_MAX = 15
LINKS_MAX = 256
"""Emulated links on one machine; each costs two queueing disciplines and a sample at 5 Hz."""


@dataclass(frozen=True)
class SwitchPlan:
    id: str
    bridge: str
    datapath_id: str


@dataclass(frozen=True)
class EndPlan:
    """One end of a link. `port` is the OpenFlow port number; None at a server or host."""

    node: str
    interface: str
    port: int | None


@dataclass(frozen=True)
class LinkPlan:
    """`near` is at a switch, and sampled there. `near_is_a`: it is the contract's end `a`."""

    id: str
    near: EndPlan
    far: EndPlan
    near_is_a: bool
    bandwidth_bps: float
    delay_us: float


@dataclass(frozen=True)
class NodePlan:
    """A server or a host: a network namespace. A host has an address and routes everything to the gateway."""

    id: str
    kind: str
    mac: str
    address: str | None
    runs_servers: bool


@dataclass(frozen=True)
class BuildPlan:
    switches: tuple[SwitchPlan, ...]
    nodes: tuple[NodePlan, ...]
    links: tuple[LinkPlan, ...]
    boards: tuple[BoardPlan, ...]

    def node(self, node_id: str) -> NodePlan | None:
        return next((node for node in self.nodes if node.id == node_id), None)

    def link(self, link_id: str) -> LinkPlan | None:
        return next((link for link in self.links if link.id == link_id), None)

    def link_of(self, node_id: str) -> LinkPlan | None:
        return next((link for link in self.links if link.far.node == node_id), None)

    def ends_at(self, switch_id: str) -> Iterator[tuple[EndPlan, EndPlan]]:
        """Ports of a switch, each with the end that it leads to."""
        for link in self.links:
            if link.near.node == switch_id:
                yield link.near, link.far
            if link.far.node == switch_id:
                yield link.far, link.near


def server_mac(server_id: str) -> str:
    """Address of a server's first interface, from its id alone (FNV-1a), as the planner gives it in NodeSpec."""
    digest = fnv1a(server_id)
    folded = (digest ^ (digest >> 16)) & 0xFFFF
    return f"02:0f:00:00:{folded >> 8:02x}:{folded & 0xFF:02x}"


@dataclass(frozen=True)
class Machine:
    """What the machine offers: whether it can delay packets on a link, and its board profiles with their slots."""

    can_delay: bool
    slots_of_profile: Mapping[str, int]


def plan_build(infrastructure: Infrastructure, machine: Machine) -> BuildPlan:
    """Raises Refused, naming every field at fault, when the twin cannot emulate the infrastructure."""
    faults = [*_identity_faults(infrastructure), *_node_faults(infrastructure), *_link_faults(infrastructure)]
    faults += board_faults(infrastructure, machine.slots_of_profile)
    if not machine.can_delay:
        faults += _delay_faults(infrastructure)
    if faults:
        raise Refused("the twin cannot emulate this infrastructure", faults)

    switches = tuple(
        SwitchPlan(switch.id, f"sw{number}", f"{number:016x}")
        for number, switch in enumerate(infrastructure.switches, start=1)
        if switch.origin == "twin"
    )
    servers = [
        NodePlan(server.id, "server", server_mac(server.id), None, runs_servers=False)
        for server in infrastructure.servers
        if server.origin == "twin"
    ]
    hosts = [
        NodePlan(host.id, "host", host.mac, host.address, runs_servers=host.role == "server")
        for host in infrastructure.hosts
        if host.origin == "twin"
    ]
    links = _plan_links(infrastructure, switches)
    return BuildPlan(switches, (*servers, *hosts), links, plan_boards(infrastructure))


def _plan_links(infrastructure: Infrastructure, switches: tuple[SwitchPlan, ...]) -> tuple[LinkPlan, ...]:
    bridges = {switch.id: switch.bridge for switch in switches}
    ports: Counter[str] = Counter()

    def end(link_end: LinkEnd) -> EndPlan:
        if link_end.node not in bridges:
            return EndPlan(link_end.node, link_end.port, None)
        ports[link_end.node] += 1
        number = ports[link_end.node]
        return EndPlan(link_end.node, f"{bridges[link_end.node]}p{number}", number)

    live = _live_nodes(infrastructure)
    links = []
    for link in infrastructure.links:
        if link.a.node in live or link.b.node in live:
            continue
        a, b = end(link.a), end(link.b)
        near_is_a = a.port is not None
        near, far = (a, b) if near_is_a else (b, a)
        links.append(LinkPlan(link.id, near, far, near_is_a, link.bandwidth_bps, link.delay_us))
    return tuple(links)


def _live_nodes(infrastructure: Infrastructure) -> set[str]:
    live = {server.id for server in infrastructure.servers if server.origin == "live"}
    live |= {switch.id for switch in infrastructure.switches if switch.origin == "live"}
    return live | {host.id for host in infrastructure.hosts if host.origin == "live"}


def _identity_faults(infrastructure: Infrastructure) -> Iterator[FieldFault]:
    first_use: dict[str, str] = {}
    for kind in ("servers", "switches", "hosts", "boards"):
        for index, node in enumerate(getattr(infrastructure, kind)):
            place = pointer("infrastructure", kind, index, "id")
            if node.id in first_use:
                yield FieldFault(place, f"{node.id} is already the name of {first_use[node.id]}")
            first_use.setdefault(node.id, place)
    yield from _repeats("links", "id", [link.id for link in infrastructure.links])
    yield from _repeats("hosts", "address", [host.address for host in infrastructure.hosts])
    yield from _repeats("hosts", "mac", [host.mac for host in infrastructure.hosts])


def _repeats(kind: str, field: str, values: list[str]) -> Iterator[FieldFault]:
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield FieldFault(pointer("infrastructure", kind, index, field), f"{value} is used twice")
        seen.add(value)


def _node_faults(infrastructure: Infrastructure) -> Iterator[FieldFault]:
    for index, switch in enumerate(infrastructure.switches):
        if switch.origin == "twin" and switch.driver != "ovs":
            place = pointer("infrastructure", "switches", index, "driver")
            yield FieldFault(place, f"driver {switch.driver} is not available here: use ovs")
    for index, host in enumerate(infrastructure.hosts):
        place = pointer("infrastructure", "hosts", index, "mac")
        if int(host.mac[:2], 16) & 1:
            yield FieldFault(place, "a host needs a unicast address")
        elif host.mac.startswith((TAG_MAC_PREFIX, TIME_MAC_PREFIX)):
            yield FieldFault(place, f"{TAG_MAC_PREFIX}* and {TIME_MAC_PREFIX}* are the fabric's own addresses")


def _link_faults(infrastructure: Infrastructure) -> Iterator[FieldFault]:
    if len(infrastructure.links) > LINKS_MAX:
        yield FieldFault(pointer("infrastructure", "links"), f"the twin emulates at most {LINKS_MAX} links")
        return
    switch_ports = {switch.id: switch.ports for switch in infrastructure.switches}
    nics = {server.id: {nic.name for nic in server.nics} for server in infrastructure.servers}
    hosts = {host.id for host in infrastructure.hosts}
    live = _live_nodes(infrastructure)
    used: set[tuple[str, str]] = set()
    load: Counter[str] = Counter()
    for index, link in enumerate(infrastructure.links):
        if link.a.node in live or link.b.node in live:
            continue
        for side in ("a", "b"):
            end: LinkEnd = getattr(link, side)
            place = pointer("infrastructure", "links", index, side)
            if end.node not in switch_ports and end.node not in nics and end.node not in hosts:
                yield FieldFault(place + "/node", f"there is no node {end.node}")
                continue
            if (end.node, end.port) in used:
                yield FieldFault(place + "/port", f"{end.node} {end.port} already has a link")
            used.add((end.node, end.port))
            load[end.node] += 1
            yield from _end_faults(place, end, load, switch_ports, nics, hosts)
        if link.a.node not in switch_ports and link.b.node not in switch_ports:
            yield FieldFault(pointer("infrastructure", "links", index), "one end must be a switch")
        if link.a.node == link.b.node:
            yield FieldFault(pointer("infrastructure", "links", index), "both ends are at the same node")
    ends = [("servers", [server.id for server in infrastructure.servers])]
    ends.append(("hosts", [host.id for host in infrastructure.hosts]))
    for kind, node_ids in ends:
        for index, node_id in enumerate(node_ids):
            if load[node_id] == 0 and node_id not in live:
                yield FieldFault(pointer("infrastructure", kind, index), f"{node_id} has no link")


def _end_faults(
    place: str,
    end: LinkEnd,
    load: Mapping[str, int],
    switch_ports: Mapping[str, int],
    nics: Mapping[str, set[str]],
    hosts: set[str],
) -> Iterator[FieldFault]:
    if end.node in switch_ports:
        if load[end.node] > switch_ports[end.node]:
            yield FieldFault(place + "/node", f"{end.node} has only {switch_ports[end.node]} ports")
        return
    if len(end.port) > INTERFACE_NAME_MAX or end.port == "lo":
        yield FieldFault(
            place + "/port", f"an interface name has at most {INTERFACE_NAME_MAX} characters and is not lo"
        )
    if end.node in nics and end.port not in nics[end.node]:
        yield FieldFault(place + "/port", f"{end.node} has no interface {end.port}")
    if load[end.node] > 1:
        kind = "host" if end.node in hosts else "server"
        yield FieldFault(place + "/node", f"the twin gives a {kind} one link")


def _delay_faults(infrastructure: Infrastructure) -> Iterator[FieldFault]:
    live = _live_nodes(infrastructure)
    for index, link in enumerate(infrastructure.links):
        if link.delay_us == 0 or link.a.node in live or link.b.node in live:
            continue
        place = pointer("infrastructure", "links", index, "delay_us")
        yield FieldFault(place, "this machine's kernel cannot delay a link (no netem): use 0")


def next_ports(plan: BuildPlan) -> dict[str, dict[str, int]]:
    """For each switch, the port that leads to each other node by a shortest path; ties go to the lower port."""
    switch_ids = {switch.id for switch in plan.switches}
    result: dict[str, dict[str, int]] = {switch.id: {} for switch in plan.switches}
    for target in [*switch_ids, *(node.id for node in plan.nodes)]:
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
