# SPDX-License-Identifier: Apache-2.0
"""Pairs of interfaces within one namespace, by which a process takes the place of hardware."""

from collections.abc import Iterable

from orrery_twin.adapters.network import NO_IPV6, OFFLOADS_OFF
from orrery_twin.adapters.process import run
from orrery_twin.domain.boards import VethPlan


async def add_veths(veths: Iterable[VethPlan], namespace_of: int) -> None:
    """Up, and carrying frames as a wire would: at most MTU long, checksums filled in, none of the kernel's own."""
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
