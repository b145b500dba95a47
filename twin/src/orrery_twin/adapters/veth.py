# SPDX-License-Identifier: Apache-2.0
"""Pairs of interfaces in one namespace, through which a process emulates hardware."""

from collections.abc import Iterable

from orrery_twin.adapters.interfaces import NO_IPV6, OFFLOADS_OFF
from orrery_twin.adapters.process import run
from orrery_twin.domain.boards import VethPlan


async def add_veths(veths: Iterable[VethPlan], namespace_of: int) -> None:
    """Create them, up, and carrying frames as on a wire: at most MTU long, checksums filled in, none from the kernel
    itself.
    """
    script = [NO_IPV6]
    for veth in veths:
        script.append(f"ip link add {veth.engine} mtu 1500 type veth peer name {veth.board} mtu 1500")
        for name in (veth.engine, veth.board):
            script.append(f"ethtool -K {name} {OFFLOADS_OFF} > /dev/null")
            script.append(f"ip link set {name} up")
    await run(["sh", "-e"], namespace_of=namespace_of, stdin="\n".join(script))


async def remove_veths(veths: Iterable[VethPlan], namespace_of: int) -> None:
    script = [f"ip link del {veth.engine}" for veth in veths]
    await run(["sh", "-e"], namespace_of=namespace_of, stdin="\n".join(script))
