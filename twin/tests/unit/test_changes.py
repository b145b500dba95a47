# SPDX-License-Identifier: Apache-2.0
"""The steps from one network to another: minimal, in a feasible order, and complete."""

import random
from itertools import pairwise
from typing import Any

import pytest

from orrery_twin.contract.models import Infrastructure
from orrery_twin.domain.changes import after, can_be_done, settled, steps_between
from orrery_twin.domain.topology import NOTHING, BuildPlan, LinkPlan, Machine, plan_build

Rack = dict[str, Any]
MACHINE = Machine(
    no_delay_line=None, no_ipv6=None, no_driver=lambda driver: None, slots_of_profile={"de5": 2, "onetcard": 1}
)


def plan(rack: Rack, built: BuildPlan = NOTHING) -> BuildPlan:
    return plan_build(Infrastructure.model_validate(rack), MACHINE, built)


def verbs(built: BuildPlan, wanted: BuildPlan) -> list[str]:
    return [f"{step.verb} {step.element.id}" for step in steps_between(built, wanted)]


def without(rack: Rack, kind: str, node_id: str) -> Rack:
    links = [link for link in rack["links"] if node_id not in (link["a"]["node"], link["b"]["node"])]
    boards = [board for board in rack["boards"] if board["server"] != node_id]
    return rack | {kind: [node for node in rack[kind] if node["id"] != node_id], "links": links, "boards": boards}


def test_the_first_build_makes_everything_and_a_second_nothing(rack: Rack) -> None:
    wanted = plan(rack)
    steps = [step.verb for step in steps_between(NOTHING, wanted)]
    assert steps == ["add-switch"] + ["add-node"] * 9 + ["add-link"] * 9
    assert verbs(wanted, plan(rack, wanted)) == []


def test_a_host_that_goes_takes_its_link_and_no_more(rack: Rack) -> None:
    built = plan(rack)
    fewer = plan(without(rack, "hosts", "web-1"), built)
    assert verbs(built, fewer) == ["remove-link web-1-leaf-1", "remove-node web-1"]
    assert verbs(fewer, plan(rack, fewer)) == ["add-node web-1", "add-link web-1-leaf-1"]


def test_what_stays_keeps_its_bridge_and_ports(rack: Rack) -> None:
    built = plan(rack)
    rack["switches"].insert(0, rack["switches"][0] | {"id": "spine"})
    trunk = {"id": "trunk", "a": {"node": "spine", "port": "down"}, "b": {"node": "leaf-1", "port": "up"}}
    rack["links"].insert(0, trunk | {"bandwidth_bps": 1e9})
    wanted = plan(rack, built)
    assert verbs(built, wanted) == ["add-switch spine", "add-link trunk"]
    trunk_plan = wanted.link("trunk")
    assert trunk_plan and (trunk_plan.near.interface, trunk_plan.far.interface) == ("sw2p1", "sw1p10")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"bandwidth_bps": 5e8}, ["reshape-link client-1-leaf-1"]),
        ({"delay_us": 9}, ["remove-link client-1-leaf-1", "add-link client-1-leaf-1"]),
        ({"a": {"node": "client-1", "port": "e"}}, ["remove-link client-1-leaf-1", "add-link client-1-leaf-1"]),
    ],
)
def test_a_link_is_made_anew_only_when_its_interfaces_change(
    rack: Rack, fields: dict[str, Any], expected: list[str]
) -> None:
    built = plan(rack)
    rack["links"][3] |= fields
    assert verbs(built, plan(rack, built)) == expected


def test_a_delay_that_changes_is_changed_in_place(rack: Rack) -> None:
    rack["links"][3]["delay_us"] = 1000
    built = plan(rack)
    rack["links"][3] |= {"delay_us": 2000, "jitter_us": 50}
    assert verbs(built, plan(rack, built)) == ["reshape-link client-1-leaf-1"]


def test_a_link_changes_from_one_driver_to_another_with_its_interfaces(rack: Rack) -> None:
    built = plan(rack)
    rack["switches"][0]["driver"] = "p4"
    rack["links"][3]["bandwidth_bps"] = 5e8
    steps = verbs(built, plan(rack, built))
    links = [link["id"] for link in rack["links"]]
    assert steps == [
        *(f"unplug-link {link}" for link in links),
        "remove-switch leaf-1",
        "add-switch leaf-1",
        *(f"plug-link {link}" for link in links),
        f"reshape-link {links[3]}",
    ]


def random_rack(rack: Rack, choose: random.Random) -> Rack:
    """Some of the hosts and servers of the rack, on some of three switches in a row."""
    switches = choose.randint(1, 3)
    names = [f"s{number}" for number in choose.sample(range(1, 4), switches)]
    servers = choose.sample(rack["servers"], choose.randint(1, 3))
    hosts = choose.sample(rack["hosts"], choose.randint(0, 6))
    links = []
    for node in (*servers, *hosts):
        port = "nic0" if "nics" in node else "eth0"
        place = {"node": choose.choice(names), "port": f"to-{node['id']}"}
        delay_us = choose.choice([0, 0, 5, 10])
        link = {"id": node["id"], "a": {"node": node["id"], "port": port}, "b": place, "delay_us": delay_us}
        links.append(link | {"bandwidth_bps": choose.choice([1e8, 2e8])})
    for one, other in pairwise(names):
        ends = {"a": {"node": one, "port": f"to-{other}"}, "b": {"node": other, "port": f"to-{one}"}}
        links.append({"id": f"{one}-{other}", "bandwidth_bps": 1e9} | ends)
    used = [rack["switches"][0] | {"id": name, "driver": choose.choice(["ovs", "ovs", "p4"])} for name in names]
    return rack | {"servers": servers, "hosts": hosts, "switches": used, "links": links, "boards": []}


@pytest.mark.parametrize("seed", range(200))
def test_any_failures_leave_what_a_retry_makes_whole(rack: Rack, seed: int) -> None:
    """Each step finds what it needs, and no interface ever has two links."""
    choose = random.Random(seed)
    built = NOTHING
    for _ in range(4):
        wanted = plan(random_rack(rack, choose), built)
        for chance in (0.3, 0.0):
            for step in steps_between(built, wanted):
                if not can_be_done(step, built) or choose.random() < chance:
                    continue
                built = after(built, step)
                ports = [end.interface for link in built.links for end in (link.near, link.far) if end.port]
                assert len(ports) == len(set(ports))
            built = settled(built, wanted)
        # Failed removals may have kept others from being added: once more.
        for step in steps_between(built, wanted):
            assert can_be_done(step, built)
            built = after(built, step)
        built = settled(built, wanted)
        assert built.nodes == wanted.nodes and set(built.switches) == set(wanted.switches)
        assert by_id(built.links) == by_id(wanted.links)
        assert verbs(built, wanted) == []


def by_id(links: tuple[LinkPlan, ...]) -> dict[str, LinkPlan]:
    return {link.id: link for link in links}
