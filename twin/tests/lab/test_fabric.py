# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Lab

REFLECTOR = Path(__file__).with_name("reflector.py")
MakeRule = Callable[..., dict[str, Any]]


class Reflector:
    def __init__(self, lab: Lab, server: str, *hops: str) -> None:
        command = lab.entering([sys.executable, str(REFLECTOR), "nic0", *hops], server)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout and self.process.stdout.readline() == "ready\n"
        self.frames: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.frames.append(json.loads(line))

    def seen(self, **fields: Any) -> bool:
        return any(fields.items() <= frame.items() for frame in self.frames)


@pytest.fixture
def reflect(lab: Lab) -> Iterator[Callable[..., Reflector]]:
    with contextlib.ExitStack() as stack:

        def start(server: str, *hops: str) -> Reflector:
            reflector = Reflector(lab, server, *hops)
            stack.callback(reflector.process.wait, 10)
            stack.callback(reflector.process.kill)
            return reflector

        yield start


class Fabric:
    """Rules as the server defines them, lowered by the planner and written by the agent's driver."""

    def __init__(self, lab: Lab, rack: dict[str, Any]) -> None:
        self._lab, self._rack = lab, rack
        self._rules: tuple[dict[str, Any], ...] = ()

    def put(self, *rules: dict[str, Any]) -> Any:
        self._rules = rules
        answer = self._lab.program(self._rack, *rules)
        assert answer["faults"] == []
        return answer

    def counters(self) -> dict[str, int]:
        return self.put(*self._rules)["counts"]  # type: ignore[no-any-return]


@pytest.fixture
def fabric(lab: Lab, rack: dict[str, Any]) -> Fabric:
    return Fabric(lab, rack)


HTTP_ONCE = {"to": "web-1", "rate_per_s": 20, "count": 5}
TO_WEB = [{"field": "ip.proto", "value": 6}, {"field": "port.dst", "lo": 80, "hi": 80}]


def requests(lab: Lab, node: str = "client-1", **config: Any) -> Any:
    return lab.applications.run("http-client", node, **HTTP_ONCE | config)


def test_hosts_reach_each_other_without_any_rule(lab: Lab) -> None:
    status = requests(lab)
    assert (status["sent"], status["received"], status["state"]) == (5, 5, "completed")
    neighbours = requests(lab, "web-2")
    assert neighbours["received"] == 5


def test_a_class_crosses_two_hops_of_one_server_and_one_of_another(
    lab: Lab, fabric: Fabric, reflect: Callable[..., Reflector], make_rule: MakeRule
) -> None:
    first = reflect("server-1", "1=2", "2=3")
    second = reflect("server-2", "3=exit")
    fabric.put(
        make_rule("classify", from_hosts=["client-1"], match=TO_WEB),
        make_rule("hop", hop=1, server="server-1"),
        make_rule("hop", hop=2, server="server-1", from_servers=["server-1"]),
        make_rule("hop", hop=3, server="server-2", from_servers=["server-1"]),
    )

    assert requests(lab)["received"] == 5
    assert first.seen(dst="02:0e:00:01:00:00", src="02:00:0a:00:01:01", too_long=False)
    assert first.seen(dst="02:0e:00:02:00:00", src="06:00:00:00:00:aa")
    assert second.seen(dst="02:0e:00:03:00:00", src="06:00:00:00:00:aa")
    # A connection that is answered takes at least four packets: two of the handshake, the request and the end. Packets
    # that were lost and sent again are in some counters and not in others.
    passed = ("classify-1", "hop-2", "hop-3")
    lab.until(lambda: all(fabric.counters()[rule] >= 5 * 4 for rule in passed), "counters of the rules")

    before = len(second.frames)
    assert requests(lab, "client-2")["received"] == 5
    assert len(second.frames) == before, "another host's traffic must not enter the chain"


def test_bulk_tcp_through_a_server_arrives_in_frames_that_fit(
    lab: Lab, fabric: Fabric, reflect: Callable[..., Reflector], make_rule: MakeRule
) -> None:
    reflector = reflect("server-3", "1=exit")
    terms = [{"field": "ip.proto", "value": 6}]
    fabric.put(make_rule("classify", server="server-3", match=terms, from_hosts=["client-1", "web-1"]))
    bulk = {"to": "web-1", "protocol": "tcp", "rate_bps": 60e6, "duration_s": 2}
    status = lab.applications.run("iperf3-client", "client-1", **bulk)
    assert status["state"] == "completed", status
    assert status["sent"] > 1000
    assert reflector.seen(dst="02:0e:00:01:00:00") and not reflector.seen(too_long=True)


def test_replies_to_an_external_address_go_to_the_return_hop(
    lab: Lab, fabric: Fabric, reflect: Callable[..., Reflector], make_rule: MakeRule
) -> None:
    reflector = reflect("server-2")
    terms = [{"field": "ip.dst", "prefix": "198.18.0.0/15"}]
    fabric.put(make_rule("return", hop=7, server="server-2", match=terms))
    send = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('198.18.3.4', 53))"
    lab.inside([sys.executable, "-c", send], "web-1")
    lab.until(lambda: reflector.seen(dst="02:0e:00:07:00:00"), "the packet at the return hop")


def test_a_packet_that_is_never_restored_does_not_circle_for_ever(
    lab: Lab, fabric: Fabric, reflect: Callable[..., Reflector], make_rule: MakeRule
) -> None:
    reflect("server-2", "7=exit")
    terms = [{"field": "ip.dst", "prefix": "198.18.0.0/15"}]
    fabric.put(make_rule("return", hop=7, server="server-2", match=terms))
    send = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('198.18.3.4', 53))"
    lab.inside([sys.executable, "-c", send], "web-1")
    lab.until(lambda: fabric.counters()["return-7"] >= 64, "64 rounds")
    # A packet in a loop would go round thousands of times between two updates of the switch's statistics.
    assert [_rounds_counted(lab), _rounds_counted(lab)] == [64, 64]


def _rounds_counted(lab: Lab) -> int:
    """Packets matched by the return rules, read from the switch after it has updated all its counters."""
    for _ in range(2):  # The first wait may end with an update that had already passed the flow.
        lab.inside(["ovs-appctl", "revalidator/wait"])
    flows = lab.inside(["ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "sw1"])
    return sum(int(line.split("n_packets=")[1].split(",")[0]) for line in flows.splitlines() if "dec_ttl" in line)


def test_flows_spread_over_targets_and_stay_where_they_are(
    lab: Lab, fabric: Fabric, reflect: Callable[..., Reflector], make_rule: MakeRule
) -> None:
    reflect("server-1", "1=exit")
    reflect("server-2", "2=exit")
    targets = [(1, "server-1", 0, 32768), (2, "server-2", 32768, 65536)]
    rules = [make_rule("classify", targets=targets, match=TO_WEB, key=["ip.src", "port.src"])]
    rules += [make_rule("hop", hop=1), make_rule("hop", hop=2, server="server-2")]
    fabric.put(*rules)
    assert requests(lab, count=40, rate_per_s=100)["received"] == 40
    # A connection split over both would not complete; with 40 connections, neither stays empty.
    ports = lab.inside(["ovs-ofctl", "-O", "OpenFlow15", "dump-ports", "sw1"])
    sent = [int(line.split("pkts=")[1].split(",")[0]) for line in ports.splitlines() if "tx pkts=" in line]
    assert len(sent) >= 8
    group = lab.inside(["ovs-ofctl", "-O", "OpenFlow15", "dump-group-stats", "sw1"])
    shares = [int(part.split(":packet_count=")[1].split(",")[0]) for part in group.split("bucket")[1:]]
    assert len(shares) == 2 and all(share > 0 for share in shares), group


def test_unchanged_rules_keep_their_counters(lab: Lab, fabric: Fabric, make_rule: MakeRule) -> None:
    kept = make_rule("classify", id="kept", priority=50, match=[{"field": "ip.proto", "value": 6}], server="server-1")
    fabric.put(kept)
    lab.applications.start("http-client", "client-1", **HTTP_ONCE)
    counted = lab.until(lambda: fabric.counters()["kept"], "packets of the rule")
    fabric.put(kept, make_rule("hop", hop=5))
    assert fabric.counters()["kept"] >= counted
    fabric.put(kept)
    flows = lab.inside(["ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "sw1"])
    assert "02:0e:00:05" not in flows
    assert fabric.counters()["kept"] >= counted


def test_the_switch_agrees_with_the_terms(lab: Lab, fabric: Fabric, make_rule: MakeRule) -> None:
    terms = [
        {"field": "ip.dst", "prefix": "10.0.2.0/24"},
        {"field": "port.dst", "lo": 80, "hi": 90, "not": True},
        {"field": "ip.proto", "value": 1, "not": True},
    ]
    fabric.put(
        make_rule("classify", match=terms, from_hosts=["client-1"]),
        make_rule("fragment", match=terms, from_hosts=["client-1"], targets=[]),
    )

    def traced(packet: str) -> str:
        fields = f"{packet},in_port=4,dl_src=02:00:0a:00:01:01,dl_dst=02:0e:ff:ff:ff:fe,nw_src=10.0.1.1"
        trace = lab.inside(["ovs-appctl", "ofproto/trace", "sw1", fields])
        return trace.split("Datapath actions:")[1]

    def steered(packet: str) -> bool:
        return "02:0e:00:01:00:00" in traced(packet)

    assert steered("tcp,nw_dst=10.0.2.1,tp_dst=443,nw_ttl=64")
    assert steered("udp,nw_dst=10.0.2.1,udp_dst=79,nw_ttl=64")
    assert steered("ip,nw_dst=10.0.2.1,nw_proto=47,nw_ttl=64")
    assert steered("ip,nw_dst=10.0.2.1,nw_proto=47,nw_frag=later,nw_ttl=64")
    for part in ("first", "later"):
        assert traced(f"udp,nw_dst=10.0.2.1,nw_frag={part},nw_ttl=64").strip() == "drop"
        assert traced(f"udp,nw_dst=10.0.1.2,nw_frag={part},nw_ttl=64").strip() != "drop"
    assert not steered("tcp,nw_dst=10.0.2.1,tp_dst=85,nw_ttl=64")
    assert not steered("icmp,nw_dst=10.0.2.1,nw_ttl=64")
    assert not steered("tcp,nw_dst=10.0.1.2,tp_dst=443,nw_ttl=64")


def test_the_switch_holds_as_many_entries_as_planned(
    lab: Lab, fabric: Fabric, rack: dict[str, Any], make_rule: MakeRule
) -> None:
    not_web = [{"field": "port.dst", "lo": 80, "hi": 80, "not": True}]
    high = [{"field": "ip.proto", "value": 6}, {"field": "port.dst", "lo": 1024, "hi": 65535}]
    rules = [make_rule("classify", id="not-web", match=not_web, priority=90), make_rule("hop", hop=1)]
    planned = fabric.put(*rules, make_rule("classify", id="high", match=high, from_hosts=["client-1", "client-2"]))
    for number, switch in enumerate(rack["switches"], start=1):
        flows = lab.inside(["ovs-ofctl", "-O", "OpenFlow15", "dump-flows", f"sw{number}"])
        assert flows.count("cookie=") == planned["planned"][switch["id"]]
