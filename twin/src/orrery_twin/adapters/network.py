# SPDX-License-Identifier: Apache-2.0
"""The emulated network: Mininet makes namespaces, veth pairs and bridges; offloads, shaping and addresses are set here.

Mininet blocks, and prints the errors of its commands instead of raising them. It therefore runs in a thread of its own
and is given only what can be checked afterwards; everything else is done by scripts that stop at the first error.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mininet.link import Link as MininetLink
from mininet.net import Mininet
from mininet.node import Node as MininetNode
from mininet.node import OVSSwitch

from orrery_twin.adapters.process import run
from orrery_twin.domain.shaping import shape_script
from orrery_twin.domain.topology import GATEWAY_ADDRESS, GATEWAY_MAC, BuildPlan, LinkPlan, NodePlan

log = logging.getLogger(__name__)

NO_IPV6 = (
    "for scope in all default; do"
    " [ ! -e /proc/sys/net/ipv6 ] || echo 1 > /proc/sys/net/ipv6/conf/$scope/disable_ipv6; done"
)
OFFLOADS_OFF = "tx off tso off gso off gro off"


class Network:
    """One emulated network at a time. `pid_of` a node is a process in whose network namespace the node lives."""

    def __init__(self) -> None:
        # Mininet would raise limits of the whole machine.
        Mininet.inited = True
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mininet")
        self._mininet: Any = None
        self._plan: BuildPlan | None = None
        self.pid_of: dict[str, int] = {}

    async def build(self, plan: BuildPlan) -> None:
        loop = asyncio.get_running_loop()
        await run(["sh", "-e"], stdin=NO_IPV6)
        try:
            await loop.run_in_executor(self._thread, self._make, plan)
        except SystemExit:
            raise RuntimeError("Mininet gave up: Open vSwitch does not answer") from None
        await self._add_bridges(plan)
        await asyncio.gather(*(self._configure_link(plan, link) for link in plan.links))

    async def tear_down(self) -> None:
        self.pid_of = {}
        self._plan = None
        if self._mininet is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._mininet.stop)
            self._mininet = None

    async def set_link(self, link: LinkPlan, up: bool) -> None:
        state = "up" if up else "down"
        await run(["ip", "link", "set", link.near.interface, state])
        far = self._plan.node(link.far.node) if self._plan else None
        if far is None:
            await run(["ip", "link", "set", link.far.interface, state])
            return
        script = f"ip link set {link.far.interface} {state}\n"
        if up:
            # Routes and neighbour entries went with the link.
            script += _address_script(far, link.far.interface)
        await run(["sh", "-e"], namespace_of=self.pid_of[far.id], stdin=script)

    def _make(self, plan: BuildPlan) -> None:
        net = Mininet(topo=None, build=False, controller=None)
        self._mininet = net
        self._plan = plan
        made: dict[str, Any] = {}
        for switch in plan.switches:
            made[switch.id] = net.addSwitch(
                switch.bridge, cls=OVSSwitch, dpid=switch.datapath_id, datapath="user", failMode="secure"
            )
        for node in plan.nodes:
            made[node.id] = net.addHost(node.id, cls=MininetNode, ip=None)
            # Before an interface comes up there: neighbour discovery would be the first thing on the wire.
            made[node.id].cmd(NO_IPV6)
            self.pid_of[node.id] = made[node.id].pid
        for link in plan.links:
            net.addLink(
                made[link.near.node],
                made[link.far.node],
                cls=MininetLink,
                port1=link.near.port,
                port2=link.far.port or 0,
                intfName1=link.near.interface,
                intfName2=link.far.interface,
            )

    async def _add_bridges(self, plan: BuildPlan) -> None:
        """As OVSSwitch.start does, but for all switches at once, and failing loudly."""
        # Without a `linux-noop` QoS, Open vSwitch removes the queueing disciplines of its ports.
        command = ["ovs-vsctl", "--timeout=10", "--id=@own", "create", "QoS", "type=linux-noop"]
        for switch in plan.switches:
            command += ["--", "add-br", switch.bridge, "--", "set", "Bridge", switch.bridge]
            command += ["datapath_type=netdev", "fail_mode=secure", "protocols=OpenFlow15"]
            command += [f"other-config:datapath-id={switch.datapath_id}", "other-config:disable-in-band=true"]
            for near, _ in plan.ends_at(switch.id):
                command += ["--", "add-port", switch.bridge, near.interface]
                command += ["--", "set", "Interface", near.interface, f"ofport_request={near.port}"]
                command += ["--", "set", "Port", near.interface, "qos=@own"]
        await run(command, timeout_s=15)

    async def _configure_link(self, plan: BuildPlan, link: LinkPlan) -> None:
        node = plan.node(link.far.node)
        for end, owner in ((link.near, None), (link.far, node)):
            name = end.interface
            script = [NO_IPV6, f"ip link set lo up\nip link set {name} address {owner.mac}"] if owner else []
            script.append(f"ip link set {name} up")
            if node and node.kind == "server":
                # The data plane takes frames as the wire would carry them: at most MTU long, checksums filled in.
                script.append(f"ethtool -K {name} {OFFLOADS_OFF} > /dev/null")
            if owner:
                script.append(_address_script(owner, name))
            script.append(shape_script(name, link.bandwidth_bps, link.delay_us))
            namespace = self.pid_of[owner.id] if owner else None
            await run(["sh", "-e"], namespace_of=namespace, stdin="\n".join(script))


def _address_script(node: NodePlan, interface: str) -> str:
    """A host sends everything to the gateway's MAC, which the fabric routes; nothing is ever resolved."""
    if node.address is None:
        return ""
    return "\n".join(
        [
            f"ip address replace {node.address}/32 dev {interface}",
            f"ip neighbour replace {GATEWAY_ADDRESS} lladdr {GATEWAY_MAC} dev {interface} nud permanent",
            f"ip route replace default via {GATEWAY_ADDRESS} dev {interface} onlink",
        ]
    )
