# SPDX-License-Identifier: Apache-2.0
"""The emulated network: Mininet creates the namespaces of hosts and servers. Everything else is done by scripts that
stop at the first error, because Mininet prints the errors of its commands instead of raising them.

Mininet blocks, so it runs in a separate thread.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from mininet.net import Mininet
from mininet.node import Node as MininetNode

from orrery_twin.adapters import bridges
from orrery_twin.adapters.interfaces import (
    NO_IPV6,
    add_script,
    address_script,
    end_script,
    offload_script,
    remove_script,
)
from orrery_twin.adapters.p4_software import SOFTWARE
from orrery_twin.adapters.process import CommandFailed, run
from orrery_twin.domain.changes import Element, Verb
from orrery_twin.domain.shaping import reshape_script
from orrery_twin.domain.topology import EndPlan, LinkPlan, NodePlan, SwitchPlan

Failures = dict[str, str]
"""Why an element could not be created or removed, by its ID. An element that could not be created does not exist."""

AT_ONCE_MAX = 8
Plan = TypeVar("Plan", SwitchPlan, NodePlan, LinkPlan)


class Network:
    """`pid_of` a node is a process in the node's network namespace."""

    def __init__(self) -> None:
        # Mininet would raise limits of the whole machine.
        Mininet.inited = True
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mininet")
        self._mininet: Any = Mininet(topo=None, build=False, controller=None)
        self._kind_of: dict[str, str] = {}
        self.pid_of: dict[str, int] = {}

    async def do(self, verb: Verb, elements: Sequence[Element]) -> Failures:
        """Apply one verb to all of the elements. Nothing else is touched."""
        match verb:
            case "add-switch":
                await run(["sh", "-e"], stdin=NO_IPV6)
                return await bridges.add([each for each in elements if isinstance(each, SwitchPlan)])
            case "remove-switch":
                return await bridges.remove([each for each in elements if isinstance(each, SwitchPlan)])
            case "add-node" | "remove-node":
                change = self._add_node if verb == "add-node" else self._remove_node
                return await self._in_thread(change, [each for each in elements if isinstance(each, NodePlan)])
        links = [each for each in elements if isinstance(each, LinkPlan)]
        match verb:
            case "add-link":
                return await self._add_links(links)
            case "remove-link":
                return await self._remove_links(links)
            case "unplug-link":
                return await bridges.unplug(links)
            case "plug-link":
                return await self._plug(links)
            case "reshape-link":
                return await _each(self._reshape, links)

    async def set_link(self, link: LinkPlan, up: bool) -> None:
        state = "up" if up else "down"
        await run(["ip", "link", "set", link.near.interface, state])
        if link.far.port is not None:
            await run(["ip", "link", "set", link.far.interface, state])
            return
        if not up:
            # As with a cut cable, the node's own interface stays up and loses its carrier.
            return
        # Somebody may have set it down meanwhile; its routes and neighbour entries would have disappeared.
        script = f"ip link set {link.far.interface} up\n" + address_script(link.far)
        await run(["sh", "-e"], namespace_of=self.pid_of[link.far.node], stdin=script)

    async def _in_thread(self, change: Callable[[NodePlan], None], nodes: Sequence[NodePlan]) -> Failures:
        def all_of_them() -> Failures:
            failures: Failures = {}
            for node in nodes:
                try:
                    change(node)
                except Exception as error:
                    failures[node.id] = str(error) or type(error).__name__
                except SystemExit:
                    failures[node.id] = "Mininet failed"
            return failures

        return await asyncio.get_running_loop().run_in_executor(self._thread, all_of_them)

    def _add_node(self, node: NodePlan) -> None:
        made = self._mininet.addHost(node.id, cls=MininetNode, ip=None)
        try:
            # Before an interface comes up there: otherwise neighbour discovery would be the first traffic.
            made.cmd(f"{NO_IPV6}; ip link set lo up")
        except Exception:
            self._mininet.delHost(made)
            raise
        self.pid_of[node.id] = made.pid
        self._kind_of[node.id] = node.kind

    def _remove_node(self, node: NodePlan) -> None:
        del self.pid_of[node.id], self._kind_of[node.id]
        self._mininet.delHost(self._mininet.nameToNode[node.id])

    async def _add_links(self, links: Sequence[LinkPlan]) -> Failures:
        failures = await _each(self._make_pairs, links)
        made = [link for link in links if link.id not in failures]
        failures |= await bridges.add_ports(made)
        configured = [link for link in made if link.id not in failures]
        failures |= await _each(self._configure, configured)
        await self._remove_links([link for link in links if link.id in failures])
        return failures

    async def _remove_links(self, links: Sequence[LinkPlan]) -> Failures:
        failures = await bridges.remove_ports(links)
        return failures | await _each(lambda link: run(["sh", "-e"], stdin=remove_script([link.near.interface])), links)

    async def _plug(self, links: Sequence[LinkPlan]) -> Failures:
        """Make existing interfaces the ports of another driver, which expects its own offloads when it opens them."""
        failures = await _each(self._set_offloads, links)
        failures |= await bridges.add_ports([link for link in links if link.id not in failures])
        return failures | await _each(self._set_offloads, [link for link in links if link.id not in failures])

    async def _make_pairs(self, link: LinkPlan) -> None:
        await run(["sh", "-e"], stdin=add_script(link, self.pid_of.get(link.far.node)))

    async def _configure(self, link: LinkPlan) -> None:
        as_on_a_wire = self._is_as_on_a_wire(link)
        for end in (link.near, link.far):
            await self._run_at(end, end_script(end, link.shape, as_on_a_wire))

    async def _set_offloads(self, link: LinkPlan) -> None:
        as_on_a_wire = self._is_as_on_a_wire(link)
        for end in (link.near, link.far):
            await self._run_at(end, offload_script(end.interface, as_on_a_wire, link.shape))

    def _is_as_on_a_wire(self, link: LinkPlan) -> bool:
        """Data planes of servers and P4 switches take single frames only."""
        return self._kind_of.get(link.far.node) == "server" or any(
            end.driver in SOFTWARE for end in (link.near, link.far)
        )

    async def _run_at(self, end: EndPlan, script: str) -> None:
        namespace = self.pid_of[end.node] if end.port is None else None
        await run(["sh", "-e"], namespace_of=namespace, stdin=script)

    async def _reshape(self, link: LinkPlan) -> None:
        if link.shape.needs_line:
            return
        for end in (link.near, link.far):
            await self._run_at(end, reshape_script(end.interface, link.shape))


async def _each(change: Callable[[Plan], Awaitable[object]], plans: Sequence[Plan]) -> Failures:
    """Run several at once, but not so many that their commands time out together."""
    failures: Failures = {}
    turn = asyncio.Semaphore(AT_ONCE_MAX)

    async def one(plan: Plan) -> None:
        async with turn:
            try:
                await change(plan)
            except (CommandFailed, OSError) as failure:
                failures[plan.id] = str(failure)

    await asyncio.gather(*(one(plan) for plan in plans))
    return failures
