# SPDX-License-Identifier: Apache-2.0
"""Shell scripts that create the interfaces of links, and configure addresses and routes of hosts and servers."""

from collections.abc import Iterable

from orrery_twin.domain.digest import fnv1a
from orrery_twin.domain.shaping import LinkShape, shape_script
from orrery_twin.domain.topology import GATEWAY_ADDRESS, GATEWAY_ADDRESS_V6, GATEWAY_MAC, EndPlan, LinkPlan

NO_IPV6 = (
    "for scope in all default; do"
    " [ ! -e /proc/sys/net/ipv6 ] || echo 1 > /proc/sys/net/ipv6/conf/$scope/disable_ipv6; done"
)
OFFLOADS_OFF = "tx off tso off gso off gro off"
OFFLOADS_ON = "tx on tso on gso on gro off"
"""As the kernel makes pairs of interfaces."""
FIRST_TABLE, TABLES = 1000, 1 << 20


def add_script(link: LinkPlan, far_pid: int | None) -> str:
    """One veth pair or, with a delay line in between, two. Replaces leftovers of an earlier attempt."""
    near, far = link.near.interface, link.far.interface
    place = "" if far_pid is None else f" netns {far_pid}"
    script = [remove_script([near])]
    if not link.shape.needs_line:
        script.append(f"ip link add {near} type veth peer name {far}{place}")
        return "\n".join(script)
    to_near, to_far = link.line_ends
    script.append(f"ip link add {near} type veth peer name {to_near}")
    script.append(f"ip link add {to_far} type veth peer name {far}{place}")
    for interface in (to_near, to_far):
        script.append(f"ip link set {interface} arp off up")
        if _carries_single_frames(link.shape):
            script.append(f"ethtool -K {interface} {OFFLOADS_OFF} > /dev/null")
    return "\n".join(script)


def remove_script(near_interfaces: Iterable[str]) -> str:
    """The other ends of the pairs go with them; the interfaces may already be gone."""
    script = []
    for near in near_interfaces:
        script += [f"if [ -e /sys/class/net/{name} ]; then ip link del {name}; fi" for name in (near, f"{near}-f")]
    return "\n".join(script)


def end_script(end: EndPlan, shape: LinkShape, as_on_a_wire: bool) -> str:
    """`as_on_a_wire`: an end needs its frames at most MTU long, with checksums filled in."""
    name = end.interface
    script = [f"ip link set {name} address {end.mac}"] if end.mac else []
    script.append(f"ip link set {name} up")
    if as_on_a_wire or _carries_single_frames(shape):
        script.append(f"ethtool -K {name} {OFFLOADS_OFF} > /dev/null")
    script.append(address_script(end))
    if not shape.needs_line:
        script.append(shape_script(name, shape))
    return "\n".join(script)


def offload_script(interface: str, as_on_a_wire: bool, shape: LinkShape) -> str:
    """For an interface that had the offloads of another driver's port."""
    offloads = OFFLOADS_OFF if as_on_a_wire or _carries_single_frames(shape) else OFFLOADS_ON
    return f"ethtool -K {interface} {offloads} > /dev/null"


def _carries_single_frames(shape: LinkShape) -> bool:
    """Offloaded frames would be lost as a whole."""
    return shape.loss > 0


def address_script(end: EndPlan) -> str:
    """A host sends everything to the gateway's MAC, which the fabric routes; nothing is ever resolved.

    A packet with a source address leaves by the interface that has it.
    """
    if not end.addresses:
        return ""
    name, table = end.interface, FIRST_TABLE + fnv1a(end.interface) % TABLES
    script = []
    families = {6 if ":" in address else 4 for address in end.addresses}
    if 6 in families:
        settings = {"accept_ra": 0, "accept_dad": 0, "addr_gen_mode": 1, "disable_ipv6": 0}
        script += [f"echo {value} > /proc/sys/net/ipv6/conf/{name}/{key}" for key, value in settings.items()]
        script.append("echo 0 > /proc/sys/net/ipv6/conf/lo/disable_ipv6")
    for address in end.addresses:
        version, length, flags = (6, 128, " nodad") if ":" in address else (4, 32, "")
        script.append(f"ip -{version} address replace {address}/{length} dev {name}{flags}")
        script.append(f"while ip -{version} rule del from {address} 2> /dev/null; do :; done")
        script.append(f"ip -{version} rule add from {address} lookup {table}")
    for version in sorted(families):
        gateway = GATEWAY_ADDRESS_V6 if version == 6 else GATEWAY_ADDRESS
        script.append(f"ip -{version} neighbour replace {gateway} lladdr {GATEWAY_MAC} dev {name} nud permanent")
        route = f"default via {gateway} dev {name} onlink"
        script.append(f"ip -{version} route replace {route} table {table}")
        if end.is_default:
            script.append(f"ip -{version} route replace {route}")
    return "\n".join(script)
