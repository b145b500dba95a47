# SPDX-License-Identifier: Apache-2.0
"""Links with delay, jitter and loss behave as configured. Upper limits allow for a busy machine."""

import signal
from typing import Any

import pytest

from orrery_twin.service.delay_lines import missing

from .conftest import Lab

pytestmark = pytest.mark.skipif(missing() is not None, reason=f"no delay line: {missing()}")
Rack = dict[str, Any]


def with_line(rack: Rack, link_id: str = "client-1-leaf-1", **fields: float) -> Rack:
    links = [link | fields if link["id"] == link_id else link for link in rack["links"]]
    return rack | {"links": links}


def link(lab: Lab, link_id: str = "client-1-leaf-1") -> Any:
    return next(sample for sample in lab.ok("GET", "/state")["links"] if sample["link_id"] == link_id)


def probe(lab: Lab, rate_per_s: int = 100, duration_s: float = 3) -> Any:
    return lab.applications.run("probe", "client-1", to="web-1", rate_per_s=rate_per_s, duration_s=duration_s)


def linkd_pid(lab: Lab) -> int:
    """PID in the twin's own namespace."""
    return int(lab.inside(["pgrep", "-x", "orrery-linkd"]))


def test_delay_is_what_was_asked_for_and_changes_in_place(lab: Lab, rack: Rack) -> None:
    before = probe(lab)["latency_p50_us"]
    for generation, delay_us in enumerate((20_000, 5000), start=10):
        lab.put_spec(with_line(rack, delay_us=delay_us), generation)
        status = probe(lab)
        assert status["received"] == status["sent"]
        assert delay_us <= status["latency_p50_us"] <= delay_us + before + 3000
    assert link(lab)["up"] and link(lab)["drops"] == 0
    lab.put_spec(rack, generation=12)
    assert probe(lab)["latency_p50_us"] < 5000


def test_loss_is_what_was_asked_for_and_is_counted(lab: Lab, rack: Rack) -> None:
    lab.put_spec(with_line(rack, loss=0.2), generation=20)
    status = probe(lab, rate_per_s=500, duration_s=4)
    share = 1 - status["received"] / status["sent"]
    # Six standard deviations of 2000 probes.
    assert 0.146 < share < 0.254, status
    lab.until(lambda: link(lab)["drops"] >= status["sent"] - status["received"], "the losses to be counted")
    # TCP loses single frames, not offloaded frames of 64 KiB, so a transfer still progresses.
    assert lab.applications.run("http-client", "client-1", to="web-1", count=5, rate_per_s=20)["received"] > 0


def test_a_rate_holds_beside_a_delay_for_tcp_and_udp(lab: Lab, rack: Rack) -> None:
    lab.put_spec(with_line(rack, delay_us=2000, jitter_us=500, bandwidth_bps=2e7), generation=30)
    for protocol in ("tcp", "udp"):
        wanted = {"to": "web-1", "protocol": protocol, "duration_s": 3, "rate_bps": 6e7}
        status = lab.applications.run("iperf3-client", "client-1", **wanted)
        received_bps = status["received"] * 1400 * 8 / 3
        assert 1.2e7 < received_bps < 2.4e7, status


def test_a_line_between_switches_carries_both_ways(lab: Lab, rack: Rack) -> None:
    two = rack | {"switches": [rack["switches"][0], rack["switches"][0] | {"id": "leaf-2"}]}
    moved = [one | {"b": one["b"] | {"node": "leaf-2"}} if "web" in one["id"] else one for one in rack["links"]]
    trunk = {"id": "trunk", "a": {"node": "leaf-1", "port": "up"}, "b": {"node": "leaf-2", "port": "up"}}
    two["links"] = [*moved, trunk | {"bandwidth_bps": 1e9, "delay_us": 10_000}]
    lab.put_spec(two, generation=40)
    status = probe(lab)
    assert status["received"] == status["sent"] and 10_000 <= status["latency_p50_us"] < 14_000
    status = lab.applications.run("http-client", "client-1", to="web-1", count=3, rate_per_s=20)
    # Handshake, then request and reply: two round trips.
    assert status["received"] == 3 and status["latency_p50_us"] > 40_000


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_line_that_dies_or_hangs_is_down_until_it_is_back(own_lab: Lab, rack: Rack, number: int) -> None:
    lab = own_lab
    lab.put_spec(with_line(rack, delay_us=5000))
    assert link(lab)["up"]
    first = linkd_pid(lab)
    lab.inside(["kill", f"-{int(number)}", str(first)])
    lab.until(lambda: not link(lab)["up"], "the link to be down")
    assert link(lab, "client-2-leaf-1")["up"]
    lab.until(lambda: link(lab)["up"], "the link to be up again")
    assert linkd_pid(lab) != first
    status = probe(lab, duration_s=1)
    assert status["received"] == status["sent"] and status["latency_p50_us"] >= 5000


def test_a_link_of_a_line_can_be_taken_down_and_put_back(lab: Lab, rack: Rack) -> None:
    lab.put_spec(with_line(rack, delay_us=1000), generation=50)
    fault = lab.ok("POST", "/faults", {"kind": "link-down", "target": "client-1-leaf-1"})
    assert probe(lab, duration_s=1)["received"] == 0
    lab.ok("DELETE", f"/faults/{fault['id']}")
    lab.until(lambda: link(lab)["up"], "the link to be up")
    assert probe(lab, duration_s=1)["received"] > 50
