# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orrery_twin.contract.models import Infrastructure
from orrery_twin.domain.refusal import Refused
from orrery_twin.domain.topology import Machine, next_ports, plan_build, server_mac

Rack = dict[str, Any]
MACHINE = Machine(can_delay=False, slots_of_profile={"de5": 2, "onetcard": 1})


def test_the_rack_gets_numbered_ports_and_addresses(rack: Rack) -> None:
    plan = plan_build(Infrastructure.model_validate(rack), MACHINE)
    assert [switch.bridge for switch in plan.switches] == ["sw1"]
    assert [link.near.port for link in plan.links] == list(range(1, 10))
    server = plan.node("server-2")
    assert server and (server.kind, server.mac, server.address) == ("server", "02:0f:00:00:39:a3", None)
    client = plan.node("client-1")
    assert client and client.address == "10.0.1.1" and not client.runs_servers
    web = plan.node("web-1")
    assert web and web.runs_servers
    link = plan.link_of("server-2")
    assert link and link.far.interface == "nic0" and not link.near_is_a


def test_server_addresses_are_those_of_the_planner() -> None:
    assert [server_mac(name) for name in ("server-1", "server-3", "a")] == [
        "02:0f:00:00:39:fa",
        "02:0f:00:00:38:d4",
        "02:0f:00:00:cd:20",
    ]


def change(path: list[str | int], value: Any) -> Callable[[Rack], None]:
    def apply(rack: Rack) -> None:
        place: Any = rack
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value

    return apply


@pytest.mark.parametrize(
    ("spoil", "pointer"),
    [
        (change(["links", 2, "delay_us"], 5000), "/infrastructure/links/2/delay_us"),
        (change(["links", 0, "a", "node"], "nobody"), "/infrastructure/links/0/a/node"),
        (change(["links", 0, "a", "port"], "nic7"), "/infrastructure/links/0/a/port"),
        (change(["links", 1, "b", "port"], "p1"), "/infrastructure/links/1/b/port"),
        (change(["links", 3, "a", "port"], "much-too-long-name"), "/infrastructure/links/3/a/port"),
        (change(["links", 1, "id"], "server-1-leaf-1"), "/infrastructure/links/1/id"),
        (change(["links", 6, "b"], {"node": "server-1", "port": "nic0"}), "/infrastructure/links/6"),
        (change(["hosts", 1, "address"], "10.0.1.1"), "/infrastructure/hosts/1/address"),
        (change(["hosts", 0, "mac"], "02:0e:00:00:00:01"), "/infrastructure/hosts/0/mac"),
        (change(["hosts", 0, "mac"], "01:00:5e:00:00:01"), "/infrastructure/hosts/0/mac"),
        (change(["hosts", 0, "id"], "server-1"), "/infrastructure/hosts/0/id"),
        (change(["switches", 0, "driver"], "bmv2"), "/infrastructure/switches/0/driver"),
        (change(["switches", 0, "ports"], 3), "/infrastructure/links/3/b/node"),
        (lambda rack: rack["links"].pop(), "/infrastructure/hosts/5"),
    ],
)
def test_what_cannot_be_emulated_is_refused_by_field(rack: Rack, spoil: Callable[[Rack], None], pointer: str) -> None:
    spoil(rack)
    with pytest.raises(Refused) as refusal:
        plan_build(Infrastructure.model_validate(rack), MACHINE)
    assert pointer in [fault.pointer for fault in refusal.value.faults]


def test_a_delay_is_accepted_where_the_kernel_can(rack: Rack) -> None:
    rack["links"][2]["delay_us"] = 5000
    plan = plan_build(Infrastructure.model_validate(rack), replace(MACHINE, can_delay=True))
    assert plan.links[2].delay_us == 5000


def test_live_nodes_and_their_links_are_left_alone(rack: Rack) -> None:
    rack["servers"][1]["origin"] = rack["boards"][1]["origin"] = "live"
    rack["switches"].append(rack["switches"][0] | {"id": "core", "origin": "live", "driver": "bmv2"})
    uplink = {"id": "uplink", "a": {"node": "leaf-1", "port": "up"}, "b": {"node": "core", "port": "down"}}
    rack["links"].append(uplink | {"bandwidth_bps": 1e9, "delay_us": 500})
    plan = plan_build(Infrastructure.model_validate(rack), MACHINE)
    assert [switch.id for switch in plan.switches] == ["leaf-1"]
    assert plan.node("server-2") is None
    assert [link.id for link in plan.links] == [link["id"] for link in rack["links"] if "server-2" not in link["id"]][
        :-1
    ]


def two_leaves(rack: Rack) -> Rack:
    """Splits the rack: servers at leaf-1, hosts at leaf-2, one link between."""
    rack["switches"].append(rack["switches"][0] | {"id": "leaf-2"})
    for link in rack["links"][3:]:
        link["b"]["node"] = "leaf-2"
    trunk = {"id": "trunk", "a": {"node": "leaf-1", "port": "up"}, "b": {"node": "leaf-2", "port": "up"}}
    rack["links"].append(trunk | {"bandwidth_bps": 1e9, "delay_us": 0})
    return rack


def test_next_ports_lead_over_the_trunk(rack: Rack) -> None:
    plan = plan_build(Infrastructure.model_validate(two_leaves(rack)), MACHINE)
    ports = next_ports(plan)
    assert ports["leaf-1"]["server-1"] == 1
    assert ports["leaf-1"]["web-1"] == ports["leaf-1"]["leaf-2"] == 4
    assert ports["leaf-2"]["server-3"] == ports["leaf-2"]["leaf-1"] == 7
