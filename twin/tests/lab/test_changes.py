# SPDX-License-Identifier: Apache-2.0
"""Changes of a running twin: what they do not touch loses no packet, and failures are reported and retried."""

import json
import sys
from copy import deepcopy
from functools import partial
from typing import Any

from .conftest import Lab

PROBES = [("client-1", "web-1", 9001), ("client-2", "web-2", 9002)]
Rack = dict[str, Any]


def without(rack: Rack, kind: str, node_id: str) -> Rack:
    links = [link for link in rack["links"] if node_id not in (link["a"]["node"], link["b"]["node"])]
    boards = [board for board in rack["boards"] if board["server"] != node_id]
    return rack | {kind: [node for node in rack[kind] if node["id"] != node_id], "links": links, "boards": boards}


def with_spine(rack: Rack) -> Rack:
    """A second switch with two more links to the first."""
    larger = deepcopy(rack)
    larger["switches"].insert(0, rack["switches"][0] | {"id": "spine"})
    trunk = {"id": "trunk", "a": {"node": "spine", "port": "down"}, "b": {"node": "leaf-1", "port": "up"}}
    larger["links"].insert(0, trunk | {"bandwidth_bps": 1e9})
    return larger


def with_host_at_spine(rack: Rack) -> Rack:
    larger = with_spine(rack)
    larger["hosts"].append(
        rack["hosts"][0] | {"id": "new", "addresses": [{"address": "10.0.9.9"}], "mac": "02:00:00:00:00:99"}
    )
    link = {"id": "new", "a": {"node": "new", "port": "eth0"}, "b": {"node": "spine", "port": "p1"}}
    larger["links"].append(link | {"bandwidth_bps": 1e8})
    return larger


def slower(rack: Rack) -> Rack:
    changed = deepcopy(rack)
    next(link for link in changed["links"] if link["id"] == "client-3-leaf-1")["bandwidth_bps"] = 5e7
    return changed


def test_what_a_change_does_not_touch_loses_no_packet(own_lab: Lab, rack: Rack) -> None:
    lab = own_lab
    lab.put_spec(rack)
    namespaces = pids(lab)
    probes = [lab.applications.start("probe", a, to=b, port=port, rate_per_s=400) for a, b, port in PROBES]

    def received() -> list[int]:
        return [round(lab.applications.metric(probe, "received")) for probe in probes]

    def probed_for_a_while() -> None:
        before = received()
        lab.until(lambda: all(now > then + 200 for now, then in zip(received(), before, strict=True)), "probes")

    changes = [
        with_spine(rack),
        with_host_at_spine(rack),
        without(with_host_at_spine(rack), "servers", "server-2"),
        with_host_at_spine(rack),
        slower(with_host_at_spine(rack)),
        without(rack, "hosts", "client-4"),
        rack,
        without(rack, "servers", "server-3"),
        rack,
    ]
    probed_for_a_while()
    for generation, changed in enumerate(changes, start=2):
        lab.put_spec(changed, generation)
        if changed is changes[1]:
            status = lab.applications.run("http-client", "new", to="web-1", count=3, rate_per_s=50)
            assert status["received"] == 3, status
        probed_for_a_while()

    assert {name for name, pid in pids(lab).items() if pid != namespaces[name]} == {"client-4"}
    for probe in probes:
        status = lab.applications.status(probe)
        assert status["metrics"]["lost"] == 0, status


def test_what_fails_is_named_and_made_up_for_while_the_rest_works(own_lab: Lab, rack: Rack) -> None:
    lab = own_lab
    lab.put_spec(rack)
    before = pids(lab)
    lab.inside(["ip", "link", "add", "eth1", "type", "veth", "peer", "name", "in-the-way"], "client-1")
    wanted = with_host_at_spine(rack)
    second = {"id": "second", "a": {"node": "client-1", "port": "eth1"}, "b": {"node": "spine", "port": "p2"}}
    wanted["links"].append(second | {"bandwidth_bps": 1e8})
    wanted["hosts"][0]["addresses"].append({"address": "10.0.8.8", "port": "eth1"})
    lab.ok("PUT", "/spec", {"generation": 2, "infrastructure": wanted, "agents": None})

    def failed() -> Any:
        state = lab.ok("GET", "/state")
        return state if state["phase"] == "failed" else None

    state = lab.until(failed, "the change to fail")
    assert "second" in state["error"] and "exist" in state["error"].lower()
    assert state["generation"] == 1 and "second" not in [link["link_id"] for link in state["links"]]
    lab.program(wanted)
    for host in ("new", "client-1"):
        assert lab.applications.run("http-client", host, to="web-1", count=2, rate_per_s=50)["received"] == 2

    lab.inside(["ip", "link", "del", "eth1"], "client-1")
    lab.until(lambda: lab.ok("GET", "/state")["phase"] == "up", "the retry to make up for it")
    assert lab.ok("GET", "/state")["generation"] == 2
    assert pids(lab) | before == pids(lab)
    lab.program(wanted)
    program = (
        "import socket\n"
        "s=socket.create_connection(('10.0.2.1',80),3,('10.0.8.8',0))\n"
        "s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n');print(s.recv(12))\n"
    )
    assert "HTTP/1" in lab.inside([sys.executable, "-c", program], "client-1")


def test_a_switch_changes_its_driver_and_its_links_keep_interfaces_limits_and_faults(own_lab: Lab, rack: Rack) -> None:
    lab = own_lab
    with_delay = next(link for link in rack["links"] if link["id"] == "client-2-leaf-1")
    with_delay["delay_us"] = 1000
    lab.put_spec(rack)
    lab.ok("POST", "/faults", {"kind": "link-down", "target": "client-3-leaf-1"})
    switch_ends = [(None, f"sw1p{number}") for number in range(1, 10)]
    ends = [("client-1", "eth0"), ("client-2", "eth0"), ("server-1", "nic0"), *switch_ends]

    def kept() -> Any:
        """What stays, but for the counters."""
        links = [json.loads(lab.inside(["ip", "-j", "link", "show", name], node))[0] for node, name in ends]
        limits = [lab.inside(["tc", "class", "show", "dev", name], node) for node, name in ends]
        return [(link["ifindex"], link["operstate"]) for link in links], limits

    def offloads(node: str | None, name: str) -> bool:
        return "tcp-segmentation-offload: on" in lab.inside(["ethtool", "-k", name], node)

    before = kept()
    with_tso = [offloads(*end) for end in ends]
    assert with_tso[0] and not with_tso[2]
    for generation, driver in enumerate(("p4", "ovs", "p4", "ovs"), start=2):
        rack["switches"][0]["driver"] = driver
        lab.ok("PUT", "/spec", {"generation": generation, "infrastructure": rack, "agents": None})
        lab.until(partial(lab.state_if, "up", generation), f"the driver {driver}")
        ports = lab.inside(["ovs-vsctl", "--if-exists", "--columns=ports", "list", "Bridge", "sw1"])
        assert ("[" in ports) == (driver == "ovs")
        assert kept() == before
        assert [offloads(*end) for end in ends] == (with_tso if driver == "ovs" else [False] * len(ends))
    assert [fault["target"] for fault in lab.ok("GET", "/state")["faults"]] == ["client-3-leaf-1"]
    lab.program(rack)
    for host in ("client-1", "client-2"):
        assert lab.applications.run("http-client", host, to="web-1", count=2, rate_per_s=50)["received"] == 2


def pids(lab: Lab) -> dict[str, int]:
    return {node["id"]: node["pid"] for node in lab.ok("GET", "/state")["nodes"] if node["kind"] == "host"}
