# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch bridges and their ports. All changes of one call are one transaction."""

import json
from collections.abc import Iterable, Sequence

from orrery_twin.adapters.process import CommandFailed, run
from orrery_twin.domain.topology import EndPlan, LinkPlan, SwitchPlan

VSCTL = ["ovs-vsctl", "--timeout=10"]
TIMEOUT_S = 15
NO_QOS_CHANGES = "linux-noop"
"""A QoS of this type keeps Open vSwitch from removing a port's queueing disciplines."""


async def add(switches: Sequence[SwitchPlan]) -> dict[str, str]:
    command = []
    for switch in _bridged(switches):
        command += ["--", "--may-exist", "add-br", switch.bridge, "--", "set", "Bridge", switch.bridge]
        command += ["datapath_type=netdev", "fail_mode=secure", "protocols=OpenFlow15"]
        command += [f"other-config:datapath-id={switch.datapath_id}", "other-config:disable-in-band=true"]
        command += [f"external-ids:switch={switch.id}"]
    return await _change(command, switches)


async def remove(switches: Sequence[SwitchPlan]) -> dict[str, str]:
    command = []
    for switch in _bridged(switches):
        command += ["--", "--if-exists", "del-br", switch.bridge]
    return await _change(command, switches)


async def add_ports(links: Sequence[LinkPlan]) -> dict[str, str]:
    """The interface's external IDs contain the port's name in the infrastructure."""
    if not _ports(links):
        return {}
    qos = await _qos()
    command = []
    for _, end in _ports(links):
        command += ["--", "--may-exist", "add-port", _bridge_of(end), end.interface]
        command += ["--", "set", "Interface", end.interface, f"ofport_request={end.port}"]
        command += [f"external-ids:port={end.name}", "--", "set", "Port", end.interface, f"qos={qos}"]
    if failures := await _change(command, links):
        return failures
    # The transaction succeeds even if the daemon cannot open an interface.
    columns = ["--format=json", "--columns=name,ofport,error", "list", "Interface"]
    listing = await run([*VSCTL, *columns, *(end.interface for _, end in _ports(links))], timeout_s=TIMEOUT_S)
    rows = {name: (number, error) for name, number, error in json.loads(listing)["data"]}
    for link, end in _ports(links):
        number, error = rows[end.interface]
        if number != end.port:
            reason = error if isinstance(error, str) else f"it is port {number}"
            failures[link.id] = f"Open vSwitch did not add {end.interface} as port {end.port}: {reason}"
    return failures


async def remove_ports(links: Sequence[LinkPlan]) -> dict[str, str]:
    return await _without([end for _, end in _ports(links)], links)


async def unplug(links: Sequence[LinkPlan]) -> dict[str, str]:
    """Remove the ports of the links from every bridge that has them; their interfaces stay."""
    return await _without([end for link in links for end in (link.near, link.far) if end.port is not None], links)


async def _without(ends: Sequence[EndPlan], links: Sequence[LinkPlan]) -> dict[str, str]:
    command = []
    for end in ends:
        command += ["--", "--if-exists", "del-port", end.interface]
    return await _change(command, links)


async def _change(command: list[str], elements: Iterable[SwitchPlan | LinkPlan]) -> dict[str, str]:
    if not command:
        return {}
    try:
        await run([*VSCTL, *command], timeout_s=TIMEOUT_S)
    except CommandFailed as failure:
        return {element.id: str(failure) for element in elements}
    return {}


async def _qos() -> str:
    found = await run([*VSCTL, "--bare", "--columns=_uuid", "find", "QoS", f"type={NO_QOS_CHANGES}"])
    return (
        found.split()[0] if found.split() else (await run([*VSCTL, "create", "QoS", f"type={NO_QOS_CHANGES}"])).strip()
    )


def _ports(links: Iterable[LinkPlan]) -> list[tuple[LinkPlan, EndPlan]]:
    return [(link, end) for link in links for end in (link.near, link.far) if end.driver == "ovs"]


def _bridged(switches: Iterable[SwitchPlan]) -> list[SwitchPlan]:
    return [switch for switch in switches if switch.driver == "ovs"]


def _bridge_of(end: EndPlan) -> str:
    return end.interface.rpartition("p")[0]
