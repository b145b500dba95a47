# SPDX-License-Identifier: Apache-2.0
"""Flows of the generator through a launched twin, counted one by one at the sink."""

from typing import Any

import pytest

from orrery_twin.applications.kind import CannotRun
from orrery_twin.applications.native_flows import flows_program

from .conftest import Lab


def missing() -> str | None:
    try:
        flows_program("sink", {})
    except CannotRun as error:
        return str(error)
    return None


pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def flows(lab: Lab, is_lossy: bool = False, **config: Any) -> tuple[Any, Any]:
    """What the generator sent, and what the sink had then received of it."""
    config = {"to": "web-1", "flows_per_s": 200, "mean_lifetime_s": 1, "packet_bytes": 200, "duration_s": 2, **config}
    applications = lab.applications
    applications.serve("flow-sink", "web-1", 9100)
    sent = applications.run("flow-generator", "client-1", **config)

    def has_arrived(status: Any) -> bool:
        sink = status["metrics"]
        if is_lossy:  # the last packets may be among the lost ones
            return bool(sink["received"] > 0 and sink["bits_per_second"] == 0)
        return bool(sink["received"] >= sent["sent"])

    return sent, applications.until("flow-sink-web-1-9100", has_arrived, "the packets")


@pytest.mark.parametrize("tcp_share", [0, 1])
def test_every_packet_of_every_flow_arrives_and_the_kernel_answers_none(lab: Lab, tcp_share: float) -> None:
    answered = sent_by(lab, "web-1")
    sent, status = flows(lab, rate_bps=4_000_000, tcp_share=tcp_share)
    sink = status["metrics"]
    assert sent["sent"] > 1000
    assert sent["flows_ended"] == sent["flows_started"] == sink["flows_ended"] == sink["flows_started"] > 200
    assert (sink["received"], sink["bytes"]) == (sent["sent"], sent["bytes"])
    assert [sink[name] for name in ("lost", "duplicates", "flows", "flows_with_loss", "errors")] == [0] * 5
    assert status["detail"] is None
    assert sent_by(lab, "web-1") - answered < 20


def sent_by(lab: Lab, host: str) -> int:
    """Packets that the interface of a host has sent."""
    lines = lab.inside(["cat", "/proc/net/dev"], node=host).splitlines()
    return int(next(line for line in lines if line.strip().startswith("eth0:")).split()[10])


def test_what_a_link_loses_is_missing_in_its_flows(lab: Lab, rack: dict[str, Any]) -> None:
    links = [link | ({"loss": 0.1} if link["id"] == "client-1-leaf-1" else {}) for link in rack["links"]]
    lab.put_spec(rack | {"links": links}, 60)
    sent, status = flows(lab, is_lossy=True, rate_bps=4_000_000)
    sink = status["metrics"]
    assert 0.05 < sink["lost"] / sent["sent"] < 0.15
    assert 0 < sink["flows_with_loss"] <= sink["flows_started"]
    assert " lost " in status["detail"]


def test_a_port_that_a_program_has_is_named(lab: Lab) -> None:
    applications = lab.applications
    applications.serve("http-server", "web-1", 9100)
    applications.declare("sink", "flow-sink", "web-1")
    status = applications.until_state("sink", "failed")
    assert "9100" in status["detail"]
