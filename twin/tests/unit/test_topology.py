# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orrery_twin.contract.models import Infrastructure
from orrery_twin.domain.refusal import Refused
from orrery_twin.domain.topology import Machine, further_mac, plan_build, port_interfaces, server_mac

Rack = dict[str, Any]
MACHINE = Machine(
    no_delay_line="none",
    no_ipv6=None,
    no_driver={"bmv2": "no program"}.get,
    slots_of_profile={"de5": 2, "onetcard": 1},
)


def test_the_rack_gets_numbered_ports_and_addresses(rack: Rack) -> None:
    plan = plan_build(Infrastructure.model_validate(rack), MACHINE)
    assert [switch.bridge for switch in plan.switches] == ["sw1"]
    assert [link.near.port for link in plan.links] == list(range(1, 10))
    server = plan.node("server-2")
    assert server and (server.kind, server.address) == ("server", None)
    client = plan.node("client-1")
    assert client and client.address == "10.0.1.1"
    link = plan.link_of("server-2")
    assert link and link.far.interface == "nic0" and not link.near_is_a
    assert link.far.mac == "02:0f:00:00:39:a3"


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


def cut_off(rack: Rack) -> None:
    """Give the last host its own switch."""
    rack["switches"].append(rack["switches"][0] | {"id": "island"})
    rack["links"][-1]["b"]["node"] = "island"


@pytest.mark.parametrize(
    ("spoil", "pointer"),
    [
        (change(["links", 2, "delay_us"], 5000), "/infrastructure/links/2/delay_us"),
        (change(["links", 0, "a", "node"], "nobody"), "/infrastructure/links/0/a/node"),
        (change(["links", 0, "a", "port"], "nic7"), "/infrastructure/links/0/a/port"),
        (change(["links", 1, "b", "port"], "p1"), "/infrastructure/links/1/b/port"),
        (change(["links", 3, "a", "port"], "much-too-long-name"), "/infrastructure/links/3/a/port"),
        (change(["links", 1, "id"], "server-1-leaf-1"), "/infrastructure/links/1/id"),
        (change(["links", 3, "jitter_us"], 1), "/infrastructure/links/3/jitter_us"),
        (change(["links", 3, "loss"], 0.1), "/infrastructure/links/3/loss"),
        (change(["links", 6, "b"], {"node": "server-1", "port": "nic0"}), "/infrastructure/links/6"),
        (change(["hosts", 1, "addresses"], [{"address": "10.0.1.1"}]), "/infrastructure/hosts/1/addresses/0/address"),
        (change(["hosts", 1, "addresses"], [{"address": "224.0.0.1"}]), "/infrastructure/hosts/1/addresses/0/address"),
        (
            change(["hosts", 1, "addresses"], [{"address": "10.0.1.2"}, {"address": "10.9.9.9", "port": "eth9"}]),
            "/infrastructure/hosts/1/addresses/1/port",
        ),
        (change(["servers", 1, "addresses"], [{"address": "10.9.9.9"}]), "/infrastructure/servers/1/addresses/0/port"),
        (lambda rack: cut_off(rack), "/infrastructure/hosts/5"),
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


def test_a_link_with_a_delay_has_a_line_where_there_is_one(rack: Rack) -> None:
    rack["links"][2]["delay_us"] = 5000
    plan = plan_build(Infrastructure.model_validate(rack), replace(MACHINE, no_delay_line=None))
    assert [link.id for link in plan.links if link.shape.needs_line] == [rack["links"][2]["id"]]
    assert plan.links[2].line_ends == ("sw1p3-n", "sw1p3-f")


def test_a_line_holds_no_more_than_its_memory(rack: Rack) -> None:
    rack["links"][2] |= {"delay_us": 1_000_000}
    with pytest.raises(Refused) as refusal:
        plan_build(Infrastructure.model_validate(rack), replace(MACHINE, no_delay_line=None))
    assert [fault.pointer for fault in refusal.value.faults] == ["/infrastructure/links/2/delay_us"]


def test_addresses_are_on_the_interface_that_they_name(rack: Rack) -> None:
    rack["hosts"][0]["addresses"] = [{"address": "10.0.1.9", "port": "eth1"}, {"address": "fd00::1"}]
    second = rack["links"][3] | {"id": "second", "a": {"node": "client-1", "port": "eth1"}}
    rack["links"].append(second | {"b": {"node": "leaf-1", "port": "p16"}})
    plan = plan_build(Infrastructure.model_validate(rack), MACHINE)
    first, further = [link.far for link in plan.links if link.far.node == "client-1"]
    assert (first.addresses, first.is_default, first.mac) == (("fd00::1",), True, "02:00:0a:00:01:01")
    assert (further.addresses, further.is_default) == (("10.0.1.9",), False)
    assert further.mac == further_mac("client-1", "eth1") == "02:0d:21:32:cc:26"
    node = plan.node("client-1")
    assert node and node.address == "10.0.1.9" and plan.link_of("client-1") == plan.links[3]


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
    """Split the rack: servers at leaf-1, hosts at leaf-2, one link between."""
    rack["switches"].append(rack["switches"][0] | {"id": "leaf-2"})
    for link in rack["links"][3:]:
        link["b"]["node"] = "leaf-2"
    trunk = {"id": "trunk", "a": {"node": "leaf-1", "port": "up"}, "b": {"node": "leaf-2", "port": "up"}}
    rack["links"].append(trunk | {"bandwidth_bps": 1e9, "delay_us": 0})
    return rack


def test_each_port_of_a_switch_has_an_interface(rack: Rack) -> None:
    infrastructure = Infrastructure.model_validate(two_leaves(rack))
    plan = plan_build(infrastructure, MACHINE)
    near, far = (port_interfaces(infrastructure, plan, switch) for switch in ("leaf-1", "leaf-2"))
    assert near == {"p1": "sw1p1", "p2": "sw1p2", "p3": "sw1p3", "up": "sw1p4"}
    assert far["up"] == "sw2p7" and len(far) == 7
