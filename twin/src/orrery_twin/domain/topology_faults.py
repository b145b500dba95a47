# SPDX-License-Identifier: Apache-2.0
"""The reasons why the twin cannot emulate an infrastructure, each with the field at fault."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from itertools import chain

from orrery_twin.contract.models import HostNode, Infrastructure, Link, LinkEnd, ServerNode
from orrery_twin.domain.boards import boards_at_switches, ports_of
from orrery_twin.domain.refusal import FieldFault, pointer
from orrery_twin.domain.shaping import shape_of

TAG_MAC_PREFIX = "02:0e:"
TIME_MAC_PREFIX = "06:"
INTERFACE_NAME_MAX = 15
LINKS_MAX = 256
"""Emulated links on one machine; each costs two queueing disciplines and a sample at 5 Hz."""
HELD_BYTES_MAX = 64 << 20
"""Memory for frames in transit in one direction of a link, as in the delay line."""
LINE_FIELDS = ("delay_us", "jitter_us", "loss")


def topology_faults(
    infrastructure: Infrastructure,
    no_delay_line: str | None,
    no_ipv6: str | None,
    no_driver: Callable[[str], str | None],
) -> Iterator[FieldFault]:
    """`no_delay_line`, `no_ipv6`, `no_driver`: why the machine has none."""
    return chain(
        _identity_faults(infrastructure),
        _node_faults(infrastructure, no_driver),
        _address_faults(infrastructure, no_ipv6),
        _link_faults(infrastructure, no_delay_line),
        _reach_faults(infrastructure),
    )


def live_nodes(infrastructure: Infrastructure) -> set[str]:
    live = {server.id for server in infrastructure.servers if server.origin == "live"}
    live |= {switch.id for switch in infrastructure.switches if switch.origin == "live"}
    live |= {board.id for board in infrastructure.boards if board.origin == "live"}
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
    yield from _repeats("hosts", "mac", [host.mac for host in infrastructure.hosts])


def _repeats(kind: str, field: str, values: list[str]) -> Iterator[FieldFault]:
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield FieldFault(pointer("infrastructure", kind, index, field), f"{value} is used twice")
        seen.add(value)


def _node_faults(infrastructure: Infrastructure, no_driver: Callable[[str], str | None]) -> Iterator[FieldFault]:
    for index, switch in enumerate(infrastructure.switches):
        if switch.origin == "twin" and (reason := no_driver(switch.driver)) is not None:
            place = pointer("infrastructure", "switches", index, "driver")
            yield FieldFault(place, f"driver {switch.driver} is not available here ({reason}): use ovs")
    for index, host in enumerate(infrastructure.hosts):
        place = pointer("infrastructure", "hosts", index, "mac")
        if int(host.mac[:2], 16) & 1:
            yield FieldFault(place, "a host needs a unicast address")
        elif host.mac.startswith((TAG_MAC_PREFIX, TIME_MAC_PREFIX)):
            yield FieldFault(place, f"{TAG_MAC_PREFIX}* and {TIME_MAC_PREFIX}* are the fabric's own addresses")


def _address_faults(infrastructure: Infrastructure, no_ipv6: str | None) -> Iterator[FieldFault]:
    ends = {(end.node, end.port) for link in infrastructure.links for end in (link.a, link.b)}
    seen: set[str] = set()
    for place_of_node, node in _ends(infrastructure):
        data_plane = node.nics[0].name if isinstance(node, ServerNode) else None
        for at, each in enumerate(node.addresses):
            place = place_of_node + pointer("addresses", at)
            if each.address in seen:
                yield FieldFault(place + "/address", f"{each.address} is used twice")
            seen.add(each.address)
            address = ip_address(each.address)
            if address.is_multicast or address.is_loopback or address.is_link_local or address.is_unspecified:
                yield FieldFault(place + "/address", "a host cannot have this address")
            if address.version == 6 and no_ipv6 is not None:
                yield FieldFault(place + "/address", f"no IPv6 on this machine: {no_ipv6}")
            if data_plane is not None and each.port in (None, data_plane):
                yield FieldFault(place + "/port", f"the data plane owns {data_plane}: use another interface")
            elif each.port is not None and (node.id, each.port) not in ends:
                yield FieldFault(place + "/port", f"{node.id} {each.port} has no link")


def _link_faults(infrastructure: Infrastructure, no_delay_line: str | None) -> Iterator[FieldFault]:
    if len(infrastructure.links) > LINKS_MAX:
        yield FieldFault(pointer("infrastructure", "links"), f"the twin emulates at most {LINKS_MAX} links")
        return
    switch_ports = {switch.id: switch.ports for switch in infrastructure.switches}
    nics = {server.id: {nic.name for nic in server.nics} for server in infrastructure.servers}
    nics |= {board.id: set(ports_of(board)) for board in boards_at_switches(infrastructure).values()}
    known = switch_ports.keys() | nics.keys() | {host.id for host in infrastructure.hosts}
    beside = {board.id for board in infrastructure.boards} - nics.keys()
    live = live_nodes(infrastructure)
    used: set[tuple[str, str]] = set()
    load: Counter[str] = Counter()
    for index, link in enumerate(infrastructure.links):
        if link.a.node in live or link.b.node in live:
            continue
        for side in ("a", "b"):
            end: LinkEnd = getattr(link, side)
            place = pointer("infrastructure", "links", index, side)
            if end.node not in known:
                is_beside = end.node in beside
                yield FieldFault(
                    place + "/node",
                    f"{end.node} is attached to its server: it has no link" if is_beside else f"no node {end.node}",
                )
                continue
            if (end.node, end.port) in used:
                yield FieldFault(place + "/port", f"{end.node} {end.port} already has a link")
            used.add((end.node, end.port))
            load[end.node] += 1
            yield from _end_faults(place, end, load, switch_ports, nics)
        if link.a.node not in switch_ports and link.b.node not in switch_ports:
            yield FieldFault(pointer("infrastructure", "links", index), "one end must be a switch")
        if link.a.node == link.b.node:
            yield FieldFault(pointer("infrastructure", "links", index), "both ends are at the same node")
        yield from _shape_faults(pointer("infrastructure", "links", index), link, no_delay_line)


def _end_faults(
    place: str,
    end: LinkEnd,
    load: Mapping[str, int],
    switch_ports: Mapping[str, int],
    nics: Mapping[str, set[str]],
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


def _shape_faults(place: str, link: Link, no_delay_line: str | None) -> Iterator[FieldFault]:
    if link.jitter_us > link.delay_us:
        yield FieldFault(place + "/jitter_us", f"is more than the delay of {link.delay_us:g} us")
    if no_delay_line is not None:
        for field in LINE_FIELDS:
            if getattr(link, field):
                yield FieldFault(f"{place}/{field}", f"not available on this machine ({no_delay_line}): use 0")
        return
    shape = shape_of(link)
    if shape.needs_line and shape.held_bytes > HELD_BYTES_MAX:
        detail = f"at this bandwidth more than {HELD_BYTES_MAX >> 20} MiB would be in transit"
        yield FieldFault(place + ("/delay_us" if shape.queue_bytes < HELD_BYTES_MAX else "/queue_bytes"), detail)


def _reach_faults(infrastructure: Infrastructure) -> Iterator[FieldFault]:
    """Hosts and servers have the links that they need, and any two of them are connected."""
    live = live_nodes(infrastructure)
    links = [link for link in infrastructure.links if link.a.node not in live and link.b.node not in live]
    ends = {(end.node, end.port) for link in links for end in (link.a, link.b)}
    linked = {node for node, _ in ends}
    switches = {switch.id for switch in infrastructure.switches}
    reached: set[str] | None = None
    for place, node in _ends(infrastructure):
        if node.id in live:
            continue
        if node.id not in linked:
            yield FieldFault(place, f"{node.id} has no link")
            continue
        if isinstance(node, ServerNode) and (node.id, node.nics[0].name) not in ends:
            yield FieldFault(place + "/nics/0", f"the data plane's interface {node.nics[0].name} has no link")
        if reached is None:
            reached = _reached_from(node.id, links, switches)
        elif node.id not in reached:
            needed = "its switch needs a link to another switch of the fabric"
            yield FieldFault(place, f"{node.id} is cut off from the nodes before it: {needed}")


def _ends(infrastructure: Infrastructure) -> Iterator[tuple[str, ServerNode | HostNode]]:
    """Servers and hosts, each with a pointer to it."""
    for index, server in enumerate(infrastructure.servers):
        yield pointer("infrastructure", "servers", index), server
    for index, host in enumerate(infrastructure.hosts):
        yield pointer("infrastructure", "hosts", index), host


def _reached_from(start: str, links: list[Link], switches: set[str]) -> set[str]:
    """Only switches forward."""
    reached = {start}
    grows = True
    while grows:
        grows = False
        for link in links:
            for here, there in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
                if here in reached and there not in reached and (here == start or here in switches):
                    reached.add(there)
                    grows = True
    return reached
