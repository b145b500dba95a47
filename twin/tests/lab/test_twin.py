# SPDX-License-Identifier: Apache-2.0
"""The emulated network itself: shaping, faults, captures, refusals."""

import json
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Lab, UnixConnection

ATTACK = "/login?user=%27%20OR%201%3D1--"


def link(lab: Lab, link_id: str) -> Any:
    return next(sample for sample in lab.ok("GET", "/state")["links"] if sample["link_id"] == link_id)


def test_state_names_every_node_and_link(lab: Lab, rack: dict[str, Any]) -> None:
    def nodes_up() -> Any:
        state = lab.ok("GET", "/state")
        return state if all(node["state"] == "up" for node in state["nodes"]) else None

    state = lab.until(nodes_up, "all to be up")
    assert sorted((node["kind"], node["id"]) for node in state["nodes"]) == sorted(
        (kind, node["id"])
        for kind, nodes in [("switch", "switches"), ("server", "servers"), ("host", "hosts"), ("board", "boards")]
        for node in rack[nodes]
    )
    assert [sample["link_id"] for sample in state["links"]] == [link["id"] for link in rack["links"]]
    assert all(sample["up"] for sample in state["links"])


def test_a_check_refuses_as_a_spec_does_and_changes_nothing(lab: Lab, rack: dict[str, Any]) -> None:
    before = lab.ok("GET", "/state")["generation"]
    rack["links"][2]["delay_us"] = 9e6
    for method, path in (("POST", "/spec/check"), ("PUT", "/spec")):
        status, problem = lab.call(method, path, {"generation": 9, "infrastructure": rack, "agents": None})
        assert status == 422
        assert [error["pointer"] for error in problem["errors"]] == ["/infrastructure/links/2/delay_us"]
    rack["links"][2]["delay_us"] = 0
    assert lab.call("POST", "/spec/check", {"generation": 9, "infrastructure": rack, "agents": None})[0] == 204
    assert lab.ok("GET", "/state")["generation"] == before


def test_the_root_namespace_sees_none_of_it(lab: Lab) -> None:
    assert "sw1p1" in lab.inside(["ls", "/sys/class/net"])
    assert not any(path.name.startswith("sw1") for path in Path("/sys/class/net").iterdir())


def test_ping_between_all_hosts(lab: Lab, rack: dict[str, Any]) -> None:
    """An ICMP echo written by hand: the machine may have no ping."""
    program = (
        "import socket,struct,sys\n"
        "s=socket.socket(socket.AF_INET,socket.SOCK_RAW,socket.IPPROTO_ICMP);s.settimeout(3)\n"
        "m=struct.pack('!BBHHH',8,0,0xf7fd,1,1)\n"
        "for a in sys.argv[1:]:\n s.sendto(m,(a,0))\n while s.recvfrom(99)[1][0]!=a: pass\n"
    )
    for host in rack["hosts"]:
        others = [other["addresses"][0]["address"] for other in rack["hosts"] if other is not host]
        lab.inside([sys.executable, "-c", program, *others], host["id"])


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_bandwidth_holds(lab: Lab, rack: dict[str, Any], protocol: str) -> None:
    limit = next(one["bandwidth_bps"] for one in rack["links"] if one["id"] == "client-1-leaf-1")
    wanted = {"to": "web-1", "protocol": protocol, "rate_bps": 3 * limit, "duration_s": 2}
    status = lab.applications.run("iperf3-client", "client-1", **wanted)
    assert status["state"] == "completed", status
    assert status["received"] * 1400 * 8 / 2 < 1.3 * limit


def test_http_counts_a_missing_server_as_errors(lab: Lab) -> None:
    lab.inside(["ip", "route", "add", "unreachable", "10.0.2.1"], "client-1")
    try:
        status = lab.applications.run("http-client", "client-1", to="web-1", count=3, rate_per_s=100)
    finally:
        lab.inside(["ip", "route", "del", "unreachable", "10.0.2.1"], "client-1")
    assert (status["sent"], status["received"], status["errors"]) == (3, 0, 3)
    assert "unreachable" in status["detail"].lower() or "no route" in status["detail"].lower()


def test_an_attack_request_and_another_port_reach_the_server(lab: Lab) -> None:
    wanted = {"to": "web-2", "count": 3, "rate_per_s": 50}
    for changed in ({"path": ATTACK, "body": "id=1 UNION SELECT"}, {"port": 8080}):
        assert lab.applications.run("http-client", "client-2", **wanted | changed)["received"] == 3


def test_probe_measures_one_way_latency(lab: Lab) -> None:
    status = lab.applications.run("probe", "client-1", to="web-2", rate_per_s=100, duration_s=1)
    assert status["received"] == status["sent"] > 50
    assert 0 < status["latency_p50_us"] <= status["latency_p99_us"]


def test_an_application_without_end_runs_until_it_is_removed(lab: Lab) -> None:
    name = lab.applications.start("http-client", "client-1", to="web-1", rate_per_s=20)
    pid = lab.applications.until(name, lambda status: status["metrics"].get("received", 0) > 0, "replies")["pid"]
    lab.applications.remove(name)
    lab.until(lambda: lab.inside(["sh", "-c", f"test -e /proc/{pid} || echo gone"]), "the end of its process")


def test_a_link_goes_down_and_comes_back(lab: Lab) -> None:
    fault = lab.ok("POST", "/faults", {"kind": "link-down", "target": "web-1-leaf-1"})
    lab.until(lambda: not link(lab, "web-1-leaf-1")["up"], "the link to be down")
    assert [one["id"] for one in lab.ok("GET", "/state")["faults"]] == [fault["id"]]
    wanted = {"to": "web-1", "count": 2, "rate_per_s": 50}
    assert lab.applications.run("http-client", "client-1", **wanted)["received"] == 0
    assert lab.call("POST", "/faults", {"kind": "link-down", "target": "web-1-leaf-1"})[0] == 409

    lab.ok("DELETE", f"/faults/{fault['id']}")
    lab.until(lambda: link(lab, "web-1-leaf-1")["up"], "the link to be up")
    assert lab.applications.run("http-client", "client-1", **wanted)["received"] == 2
    assert lab.ok("GET", "/state")["faults"] == []
    assert lab.call("DELETE", f"/faults/{fault['id']}")[0] == 404


def test_capture_sees_what_the_host_sees(lab: Lab) -> None:
    capture = lab.ok("POST", "/captures", {"host": "web-1", "filter": "tcp dst port 80", "packets": 5})
    lab.applications.run("http-client", "client-1", to="web-1", count=3, rate_per_s=50)

    def completed() -> Any:
        status = lab.ok("GET", f"/captures/{capture['id']}")
        return status if status["state"] == "completed" else None

    packets = lab.until(completed, "the capture to complete")["packets"]
    assert len(packets) == 5
    assert {(one["src"], one["dst"], one["protocol"], one["dst_port"]) for one in packets} == {
        ("10.0.1.1", "10.0.2.1", "tcp", 80)
    }


def test_a_capture_filter_that_is_none_is_refused(lab: Lab) -> None:
    status, problem = lab.call("POST", "/captures", {"host": "web-1", "filter": "tcp port eighty"})
    assert (status, problem["errors"][0]["pointer"]) == (422, "/filter")


def pcap(*frames: bytes) -> bytes:
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    records = (struct.pack("<IIII", 1000 + n, 0, len(frame), len(frame)) + frame for n, frame in enumerate(frames))
    return header + b"".join(records)


def udp_frame(source_port: int) -> bytes:
    payload = b"replayed"
    udp = struct.pack("!HHHH", source_port, 9999, 8 + len(payload), 0) + payload
    ip = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, 10, 0, 1, 1, 10, 0, 2, 2)
    total = sum(struct.unpack("!10H", ip))
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    ip = ip[:10] + struct.pack("!H", checksum) + ip[12:]
    return bytes.fromhex("020000000099 020000000098 0800") + ip + udp


def test_an_uploaded_capture_is_replayed_as_it_is(lab: Lab) -> None:
    data = pcap(udp_frame(1001), udp_frame(1002))
    info = lab.ok("POST", "/pcaps?name=two%20packets", data)
    assert (info["packets"], info["duration_s"], info["link_type"]) == (2, 1.0, "ethernet")
    assert info in lab.ok("GET", "/pcaps")["items"]

    capture = lab.ok("POST", "/captures", {"host": "web-2", "filter": "udp port 9999", "packets": 4})
    status = lab.applications.run("pcap-replay", "client-1", pcap_id=info["id"], loops=2)
    assert (status["state"], status["sent"], status["errors"]) == ("completed", 4, 0)
    path = f"/captures/{capture['id']}"
    lab.until(lambda: lab.ok("GET", path)["state"] == "completed", "the replayed packets at their host")
    assert [one["src_port"] for one in lab.ok("GET", path)["packets"]] == [1001, 1002, 1001, 1002]


def test_a_capture_is_deleted_when_nothing_replays_it(lab: Lab) -> None:
    info = lab.ok("POST", "/pcaps?name=short-lived", pcap(udp_frame(1001)))
    path = f"/pcaps/{info['id']}"
    name = lab.applications.start("pcap-replay", "client-1", pcap_id=info["id"], rate_pps=1, loops=1000)
    assert lab.call("DELETE", path)[0] == 409
    lab.applications.remove(name)
    assert lab.call("DELETE", path)[0] == 204
    assert lab.call("DELETE", path)[0] == 404
    assert info not in lab.ok("GET", "/pcaps")["items"]


def pcapng(*frames: bytes) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    interface = block(1, struct.pack("<HHI", 1, 0, 65535))
    packets = (block(6, struct.pack("<IIIII", 0, 0, 1000, len(one), len(one)) + one) for one in frames)
    return section + interface + b"".join(packets)


def test_a_pcapng_file_is_converted(lab: Lab) -> None:
    info = lab.ok("POST", "/pcaps?name=from-wireshark", pcapng(udp_frame(1001), udp_frame(1002), udp_frame(1003)))
    assert (info["packets"], info["link_type"]) == (3, "ethernet")


@pytest.mark.parametrize(
    "data",
    [b"", b"hello world, this is no capture", pcap(udp_frame(1))[:-3], pcap(), b"\x0a\x0d\x0d\x0a" + bytes(40)],
    ids=["empty", "text", "cut short", "no packets", "broken pcapng"],
)
def test_what_is_no_capture_is_refused_and_not_kept(lab: Lab, data: bytes) -> None:
    before = lab.ok("GET", "/pcaps")
    status, problem = lab.call("POST", "/pcaps?name=bad", data)
    assert (status, problem["status"], len(problem["errors"])) == (422, 422, 1)
    assert lab.ok("GET", "/pcaps") == before


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "pointer"),
    [
        ("PUT", "/spec", {"generation": 1, "infrastructure": None}, 422, "/agents"),
        ("PUT", "/spec", {"generation": -1, "infrastructure": None, "agents": None}, 422, "/generation"),
        ("PUT", "/applications", {"generation": -1, "applications": []}, 422, "/generation"),
        ("PUT", "/applications", {"generation": 1, "applications": [{"revision": 1}]}, 422, "/applications/0/address"),
        ("POST", "/faults", {"kind": "link-down", "target": "no-link"}, 422, "/target"),
        ("POST", "/faults", {"kind": "agent-kill", "target": "web-1"}, 422, "/target"),
        ("POST", "/captures", {"host": "server-1"}, 422, "/host"),
        ("PUT", "/applications", b"{", 400, None),
        ("PUT", "/applications", b'"' + b"x" * (9 << 20), 413, None),
        ("GET", "/nothing", None, 404, None),
        ("DELETE", "/faults/none", None, 404, None),
        ("PATCH", "/spec", None, 405, None),
    ],
)
def test_bad_requests_name_the_field(
    lab: Lab, method: str, path: str, body: Any, status: int, pointer: str | None
) -> None:
    before = lab.ok("GET", "/state")["generation"]
    actual, problem = lab.call(method, path, body)
    assert (actual, problem["status"]) == (status, status)
    if pointer:
        assert pointer in [error["pointer"] for error in problem["errors"]]
    assert lab.ok("GET", "/state")["generation"] == before


class Watcher:
    """Lines of GET /watch, collected by a thread."""

    def __init__(self, lab: Lab) -> None:
        self.connection = UnixConnection(lab.socket)
        self.connection.request("GET", "/watch")
        self.reply = self.connection.getresponse()
        self.lines: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while line := self.reply.readline():
                self.lines.append(json.loads(line))
        except (OSError, AttributeError, ValueError):
            return  # closed by the test

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["type"] == kind]

    def events(self, name: str) -> list[dict[str, Any]]:
        return [line for line in self.of("event") if line["event"] == name]


@pytest.fixture
def watcher(lab: Lab) -> Iterator[Watcher]:
    watcher = Watcher(lab)
    yield watcher
    watcher.connection.close()


def test_watch_begins_with_the_state_and_follows_changes(lab: Lab, watcher: Watcher) -> None:
    lab.until(lambda: len(watcher.of("links")) >= 3, "link samples")
    assert watcher.lines[0]["type"] == "state" and watcher.lines[0]["state"]["phase"] == "up"
    fault = lab.ok("POST", "/faults", {"kind": "link-down", "target": "web-2-leaf-1"})
    lab.until(lambda: watcher.events("link.down"), "the event")
    lab.until(lambda: watcher.of("state")[-1]["state"]["faults"] == [fault], "the state with the fault")
    lab.ok("DELETE", f"/faults/{fault['id']}")
    lab.applications.run("http-client", "client-1", to="web-1", count=50, rate_per_s=100)
    lab.until(lambda: watcher.events("application.completed"), "the event of its end")
    rates = [sample["b_to_a_bps"] + sample["a_to_b_bps"] for line in watcher.of("links") for sample in line["links"]]
    assert max(rates) > 0
    assert {line["type"] for line in watcher.lines} == {"state", "links", "event", "applications"}
