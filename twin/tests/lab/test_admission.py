# SPDX-License-Identifier: Apache-2.0
"""What hosts and servers may send, and chains that fail closed, with real frames and a real switch."""

import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Lab

HERE = Path(__file__).parent
MakeRule = Callable[..., dict[str, Any]]
TO_WEB = [{"field": "ip.proto", "value": 6}, {"field": "port.dst", "lo": 80, "hi": 80}]


class Listener:
    def __init__(self, lab: Lab, node: str, interface: str) -> None:
        command = lab.entering([sys.executable, str(HERE / "listener.py"), interface], node)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout and self.process.stdout.readline() == "ready\n"
        self.heard: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        self.heard.extend(line.strip() for line in self.process.stdout)


@pytest.fixture
def listen(lab: Lab) -> Iterator[Callable[[str, str], Listener]]:
    with contextlib.ExitStack() as stack:

        def start(node: str, interface: str) -> Listener:
            listener = Listener(lab, node, interface)
            stack.callback(listener.process.wait, 10)
            stack.callback(listener.process.kill)
            return listener

        yield start


def test_no_forged_frame_of_a_host_reaches_a_server_or_another_host(
    lab: Lab, rack: dict[str, Any], make_rule: MakeRule, listen: Callable[[str, str], Listener]
) -> None:
    rules = [
        make_rule("classify", from_hosts=["client-1"], match=TO_WEB),
        *(make_rule("hop", hop=hop, server=f"server-{hop}", from_servers=["server-1"]) for hop in (1, 2, 3)),
    ]
    assert lab.program(rack, *rules)["faults"] == []
    servers = [listen(f"server-{number}", "nic0") for number in (1, 2, 3)]
    hosts = [listen(node, "eth0") for node in ("client-2", "web-1", "web-2")]
    forge = [sys.executable, str(HERE / "forge.py"), "frames", "eth0", lab.address_of("web-1"), "3000", "7"]
    lab.inside(forge, "client-1")
    lab.until(lambda: any("genuine" in listener.heard for listener in hosts), "the last frame, which is allowed")
    assert [frame for listener in servers + hosts for frame in listener.heard] == ["genuine"]


FRAGMENTED = 200
WITHOUT_PORTS = TO_WEB[:1]


@pytest.mark.parametrize(("match", "reached"), [(TO_WEB, None), (WITHOUT_PORTS, "server-1")])
def test_fragments_of_a_class_reach_its_chain_or_nothing(
    lab: Lab,
    rack: dict[str, Any],
    make_rule: MakeRule,
    listen: Callable[[str, str], Listener],
    match: list[dict[str, Any]],
    reached: str | None,
) -> None:
    rules = [
        make_rule("classify", id="class", server="server-1", from_hosts=["client-1"], match=match),
        make_rule("fragment", id="fragment", from_hosts=["client-1"], match=match, targets=[]),
        make_rule("hop", hop=1, server="server-1"),
    ]
    assert lab.program(rack, *rules)["faults"] == []
    interfaces = {"client-2": "eth0", "web-1": "eth0", "web-2": "eth0", "server-1": "nic0", "server-2": "nic0"}
    listeners = {node: listen(node, interface) for node, interface in interfaces.items()}
    forge = [sys.executable, str(HERE / "forge.py"), "fragments", "eth0", lab.address_of("web-1"), str(FRAGMENTED), "7"]
    lab.inside(forge, "client-1")
    lab.until(lambda: "genuine" in listeners["web-1"].heard, "the last frame, which is whole")
    if reached is not None:
        lab.until(lambda: len(listeners[reached].heard) >= FRAGMENTED, "fragments at the chain's server")
    heard = {node for node, listener in listeners.items() if any(frame != "genuine" for frame in listener.heard)}
    assert heard == ({reached} if reached else set())
    entry = r"n_packets=(\d+),.*priority=100,tcp" + ("" if reached else ".*nw_frag=yes")

    def counted() -> int:
        flows = lab.inside(["ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "sw1", "table=1"])
        return sum(map(int, re.findall(entry, flows)))

    lab.until(lambda: counted() >= 2 * FRAGMENTED, "the fragments as the switch counts them")


def test_a_chain_that_fails_closed_is_not_passed_by_when_its_class_is_deleted(
    lab: Lab, rack: dict[str, Any], make_rule: MakeRule
) -> None:
    open_rules = [make_rule("classify", id="class", server="server-1", from_hosts=["client-1"], match=TO_WEB)]
    guard = make_rule("guard", id="guard", from_hosts=["client-1"], match=TO_WEB, targets=[])

    def answered() -> Any:
        status = lab.applications.run("http-client", "client-1", to="web-1", rate_per_s=20, count=5)
        return status["sent"], status["received"]

    def delete_class() -> None:
        lab.inside(["ovs-ofctl", "-O", "OpenFlow15", "del-flows", "sw1", "table=1,tcp,tp_dst=80"])

    lab.program(rack, *open_rules)
    delete_class()
    assert answered() == (5, 5), "an open chain is passed by"
    lab.program(rack, *open_rules, guard)
    delete_class()
    assert answered() == (5, 0)
    assert lab.program(rack, *open_rules, guard)["counts"]["guard"] > 0
