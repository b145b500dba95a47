# SPDX-License-Identifier: Apache-2.0
"""Applications on the hosts of a launched twin: their programs really run, fail and are killed."""

import json
import os
import signal
import struct
from pathlib import Path
from typing import Any

import pytest

from .applications import Applications
from .conftest import Lab


@pytest.fixture
def applications(lab: Lab) -> Applications:
    return lab.applications


def host_pid(lab: Lab, pid: int) -> int:
    """The process as named outside the twin's namespaces."""
    namespace = Path(f"/proc/{lab.init_pid}/ns/pid").readlink()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = next(one for one in (entry / "status").read_text().splitlines() if one.startswith("NSpid:"))
            if int(line.split()[-1]) == pid and (entry / "ns/pid").readlink() == namespace:
                return int(entry.name)
        except OSError:
            continue
    raise AssertionError(f"no process {pid} in the twin")


def send(lab: Lab, pid: int, number: signal.Signals) -> None:
    os.kill(host_pid(lab, pid), number)


def test_requests_reach_a_declared_server_and_are_counted_at_both_ends(applications: Applications) -> None:
    client = applications.run("http-client", "client-1", to="web-1", port=8080, count=20, rate_per_s=100)
    assert client["metrics"]["received"] == 20
    assert client["metrics"]["errors"] == 0
    assert 0 < client["metrics"]["latency_p50_us"] <= client["metrics"]["latency_p99_us"]
    server = applications.until(
        "http-server-web-1-8080", lambda status: status["metrics"]["requests"] == 20, "requests"
    )
    assert server["restarts"] == 0


def test_probes_measure_one_way_and_lose_nothing(applications: Applications) -> None:
    status = applications.run("probe", "client-1", to="web-2", rate_per_s=100, duration_s=1)
    metrics = status["metrics"]
    assert metrics["sent"] > 50
    assert (metrics["received"], metrics["lost"]) == (metrics["sent"], 0)
    assert 0 < metrics["latency_p50_us"] <= metrics["latency_p99_us"] < 1e6


def test_probes_to_nobody_are_lost(applications: Applications) -> None:
    applications.declare("one", "probe", "client-1", to="web-2", port=9009, rate_per_s=50, duration_s=1)
    metrics = applications.until_state("one", "completed")["metrics"]
    assert metrics["received"] == 0
    assert metrics["lost"] == metrics["sent"] > 20


@pytest.mark.parametrize("protocol", ["udp", "tcp"])
def test_iperf3_streams_one_after_the_other_through_one_server(applications: Applications, protocol: str) -> None:
    wanted = {"to": "web-1", "protocol": protocol, "rate_bps": 5_000_000, "duration_s": 2}
    for _ in range(2):
        metrics = applications.run("iperf3-client", "client-1", **wanted)["metrics"]
        assert metrics["bits_per_second"] == pytest.approx(5e6, rel=0.3)
        assert metrics["received"] > 0.6 * metrics["sent"] > 0
    assert applications.status("iperf3-server-web-1-5201")["metrics"]["received"] > 0


def test_a_replay_sends_each_frame_as_often_as_asked(applications: Applications, lab: Lab) -> None:
    frame = bytes.fromhex("020effffff fe 0200000000010800".replace(" ", "")) + bytes(46)
    record = struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame
    capture = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + 5 * record
    info = lab.ok("POST", "/pcaps?name=five.pcap", capture)
    metrics = applications.run("pcap-replay", "client-1", pcap_id=info["id"], loops=3)["metrics"]
    assert (metrics["sent"], metrics["errors"]) == (15, 0)
    applications.declare("again", "pcap-replay", "client-1", pcap_id=info["id"], rate_pps=1, loops=100)
    assert lab.call("DELETE", f"/pcaps/{info['id']}")[0] == 409
    applications.remove("again")
    assert lab.call("DELETE", f"/pcaps/{info['id']}")[0] == 204


def test_a_killed_server_is_started_again_and_nothing_else_is_touched(applications: Applications, lab: Lab) -> None:
    applications.declare("web", "http-server", "web-1", port=8080)
    applications.declare("other", "http-server", "web-2", port=8080)
    web, other = applications.until_state("web", "running"), applications.until_state("other", "running")
    send(lab, web["pid"], signal.SIGKILL)
    back = applications.until("web", lambda s: s["restarts"] == 1 and s["state"] == "running", "a restart")
    assert back["pid"] != web["pid"]
    assert applications.status("other")["pid"] == other["pid"]


@pytest.mark.parametrize(
    ("kind", "config"), [("http-server", {"port": 8080}), ("iperf3-server", {}), ("probe", {"to": "web-1"})]
)
def test_a_suspended_program_is_unresponsive_and_recovers(
    applications: Applications, lab: Lab, kind: str, config: dict[str, Any]
) -> None:
    applications.declare("one", kind, "client-1", **config)
    pid = applications.until_state("one", "running")["pid"]
    send(lab, pid, signal.SIGSTOP)
    applications.until_state("one", "unresponsive", limit_s=5)
    send(lab, pid, signal.SIGCONT)
    assert applications.until_state("one", "running", limit_s=5)["pid"] == pid


def test_a_change_restarts_only_what_it_changes(applications: Applications) -> None:
    applications.declare("web", "http-server", "web-1", port=8080)
    applications.declare("load", "http-client", "client-1", to="web-1", port=8080, rate_per_s=5)
    web, load = applications.until_state("web", "running"), applications.until_state("load", "running")
    applications.declare("load", "http-client", "client-1", to="web-1", port=8080, rate_per_s=50)
    applications.until("load", lambda s: s["state"] == "running" and s["pid"] != load["pid"], "another process")
    assert applications.status("web")["pid"] == web["pid"]
    applications.declare("load", "http-client", "client-1", enabled=False, to="web-1", port=8080, rate_per_s=50)
    assert applications.until_state("load", "stopped")["pid"] is None
    assert applications.status("web")["pid"] == web["pid"]


def test_a_port_that_is_taken_is_said_and_tried_again(applications: Applications) -> None:
    applications.declare("first", "http-server", "web-1", port=8080)
    applications.until_state("first", "running")
    applications.declare("second", "iperf3-server", "web-1", port=8080)
    applications.until_state("second", "failed")
    applications.remove("first")
    applications.until_state("second", "running")


def test_a_host_that_is_not_there_is_named(applications: Applications) -> None:
    applications.declare("lost", "http-server", "web-9")
    assert "web-9" in applications.until_state("lost", "failed")["detail"]


def test_what_is_wrong_is_refused_with_its_field(lab: Lab, applications: Applications) -> None:
    spec = {
        "definition": {"id": "a", "kind": "http-server", "node": "web-1", "config": {}},
        "revision": 1,
        "address": None,
    }
    for body, status, place in [
        ({"generation": 1, "applications": [spec, spec]}, 422, "/applications/1/definition/id"),
        ({"generation": 1, "applications": [spec | {"revision": -1}]}, 422, "/applications/0/revision"),
    ]:
        answer, problem = lab.call("PUT", "/applications", body)
        assert (answer, problem["errors"][0]["pointer"]) == (status, place)
    assert lab.ok("GET", "/applications")["applications"] == []


def test_a_killed_twind_goes_on_with_the_rest_and_repeats_nothing(own_lab: Lab, rack: dict[str, Any]) -> None:
    own_lab.put_spec(rack)
    applications = own_lab.applications
    applications.declare("web", "http-server", "web-1", port=8080)
    applications.declare("done", "http-client", "client-1", to="web-1", port=8080, count=5, rate_per_s=50)
    applications.declare("long", "http-client", "client-1", to="web-1", port=8080, duration_s=3600, rate_per_s=20)
    done = applications.until_state("done", "completed")
    applications.until_state("long", "running")
    own_lab.launcher.kill()
    own_lab.launcher.wait()
    own_lab.launch()
    own_lab.put_spec(rack)
    applications.put()
    again = applications.until_state("done", "completed")
    assert (again["metrics"], again["pid"]) == (done["metrics"], None)
    applications.until_state("web", "running")
    pid = applications.until_state("long", "running")["pid"]
    settings = json.loads(Path(f"/proc/{host_pid(own_lab, pid)}/cmdline").read_bytes().split(b"\0")[-2])
    assert settings["duration_s"] < 3600 - 0.5
    # A new revision is a new run.
    applications.declare("done", "http-client", "client-1", to="web-1", port=8080, count=6, rate_per_s=50)
    assert applications.until("done", lambda s: s["metrics"].get("received") == 6, "another run")["state"]
