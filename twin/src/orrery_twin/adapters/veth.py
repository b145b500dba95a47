# SPDX-License-Identifier: Apache-2.0
"""Pairs of interfaces in one namespace, through which a process emulates hardware."""

from collections.abc import Iterable

from orrery_twin.adapters.interfaces import NO_IPV6, OFFLOADS_OFF
from orrery_twin.adapters.process import run
from orrery_twin.domain.boards import VethPlan

# The interface may already be gone; any other failure counts.
REMOVE = """remove() {
  said=$(ip link del "$1" 2>&1) && return
  case $said in *"Cannot find device"*) ;; *) echo "$said" >&2; return 1 ;; esac
}"""


async def add_veths(veths: Iterable[VethPlan], namespace_of: int) -> None:
    """Create them, up, and carrying frames as on a wire: at most MTU long, checksums filled in, none from the kernel
    itself. Replaces leftovers of an earlier attempt.
    """
    script = [NO_IPV6, REMOVE]
    for veth in veths:
        script.append(f"remove {veth.engine}")
        script.append(f"ip link add {veth.engine} mtu 1500 type veth peer name {veth.board} mtu 1500")
        for name in (veth.engine, veth.board):
            script.append(f"ethtool -K {name} {OFFLOADS_OFF} > /dev/null")
            script.append(f"ip link set {name} up")
    await run(["sh", "-e"], namespace_of=namespace_of, stdin="\n".join(script))


async def remove_veths(veths: Iterable[VethPlan], namespace_of: int) -> None:
    """They may already be gone."""
    script = [REMOVE, *(f"remove {veth.engine}" for veth in veths)]
    await run(["sh", "-e"], namespace_of=namespace_of, stdin="\n".join(script))
