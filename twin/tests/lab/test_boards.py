# SPDX-License-Identifier: Apache-2.0
"""Boards of the twin: a stand-in that only opens its sockets, and the real board if it is built."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orrery_twin.adapters.board_build import BoardBuild
from orrery_twin.adapters.control_socket import ControlRefused, ControlSilent
from orrery_twin.adapters.control_socket import ask as ask_program

from .conftest import FAKE_BOARD, Lab
from .test_lifecycle import FAKE_AGENT, processes_of
from .test_twin import Watcher

AGENTS = {"server_url": "http://127.0.0.1:1", "join_tokens": {}}


@pytest.fixture
def board_lab() -> Iterator[Lab]:
    lab = Lab({"ORRERY_AGENT_COMMAND": f"{sys.executable} {FAKE_AGENT}"})
    yield lab
    lab.close()


def node(lab: Lab, node_id: str) -> Any:
    return next(one for one in lab.ok("GET", "/state")["nodes"] if one["id"] == node_id)


def until_up(lab: Lab, node_id: str, not_pid: int | None = None) -> Any:
    def up() -> Any:
        one = node(lab, node_id)
        return one if one["state"] == "up" and one["pid"] != not_pid else None

    return lab.until(up, f"{node_id} to be up")


def interfaces_of(lab: Lab, server: str) -> list[str]:
    links = json.loads(lab.inside(["ip", "-j", "link"], server))
    return sorted(link["ifname"] for link in links if link["ifname"] not in ("lo", "nic0"))


def agent_arguments(lab: Lab, server: str) -> list[str]:
    started = lab.directory / "state/agents" / server / "started"
    lab.until(started.exists, f"the agent of {server}")
    return started.read_text().splitlines()[0].split()


def boards_file(lab: Lab, server: str) -> Any:
    arguments = agent_arguments(lab, server)
    return json.loads(Path(arguments[arguments.index("--boards") + 1]).read_text())


def answers(socket: Path) -> Callable[[], bool]:
    return lambda: socket.is_socket()


def host_pid(lab: Lab, pid: int) -> int:
    """A PID of the twin as this namespace knows it."""
    namespace = Path(f"/proc/{lab.init_pid}/ns/pid").readlink()
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or (entry / "ns/pid").readlink() != namespace:
                continue
            numbers = next(line for line in (entry / "status").read_text().splitlines() if line.startswith("NSpid:"))
        except OSError:
            continue
        if int(numbers.split()[-1]) == pid:
            return int(entry.name)
    raise AssertionError(f"no process {pid} in the twin")


def test_boards_have_their_ports_and_sockets_and_the_agent_learns_of_them(board_lab: Lab, rack: dict[str, Any]) -> None:
    board_lab.put_spec(rack, agents=AGENTS)
    until_up(board_lab, "board-1")
    (told,) = boards_file(board_lab, "server-1")
    assert (told["id"], told["backend"], len(told["slots"])) == ("board-1", "simulated", 2)
    for socket in (told["control"], told["events"]):
        assert len(socket) <= 107
        board_lab.until(answers(Path(socket)), socket)
    assert "--boards" not in agent_arguments(board_lab, "server-3")

    links = {link["ifname"]: link for link in json.loads(board_lab.inside(["ip", "-j", "link"], "server-1"))}
    ends = [end for slot in told["slots"] for end in (slot["near"], slot["far"])]
    assert sorted(links.keys() - {"lo", "nic0"}) == sorted([*ends, *(links[end]["link"] for end in ends)])
    for name in links.keys() - {"lo", "nic0"}:
        assert (links[name]["mtu"], links[name]["operstate"]) == (1500, "UP")
        no_ipv6 = ["cat", f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6"]
        assert not Path("/proc/sys/net/ipv6").exists() or board_lab.inside(no_ipv6, "server-1").strip() == "1"
        features = board_lab.inside(["ethtool", "-k", name], "server-1")
        for feature in ("tx-checksumming", "tcp-segmentation-offload", "generic-receive-offload"):
            assert f"{feature}: off" in features
    assert len(interfaces_of(board_lab, "server-2")) == 4
    assert interfaces_of(board_lab, "server-3") == []


def test_nothing_of_a_board_stays_when_the_twin_goes_down(board_lab: Lab, rack: dict[str, Any]) -> None:
    board_lab.put_spec(rack, generation=1)
    until_up(board_lab, "board-2")
    board_lab.put_spec(None, generation=2)
    assert not any(FAKE_BOARD in command for command in processes_of(board_lab.directory))
    assert not (board_lab.directory / "run/b").exists()
    board_lab.put_spec(rack, generation=3)
    until_up(board_lab, "board-2")


def test_a_board_that_dies_is_started_again(board_lab: Lab, rack: dict[str, Any]) -> None:
    board_lab.put_spec(rack)
    before = until_up(board_lab, "board-1")
    other = until_up(board_lab, "board-2")
    os.kill(host_pid(board_lab, before["pid"]), signal.SIGKILL)
    until_up(board_lab, "board-1", not_pid=before["pid"])
    assert node(board_lab, "board-2") == other


def test_a_killed_board_stays_down_until_the_fault_is_removed(board_lab: Lab, rack: dict[str, Any]) -> None:
    board_lab.put_spec(rack)
    before = until_up(board_lab, "board-1")
    watcher = Watcher(board_lab)
    fault = board_lab.ok("POST", "/faults", {"kind": "board-kill", "target": "board-1"})
    assert "slot" not in fault
    off = node(board_lab, "board-1")
    assert (off["state"], off["pid"], off["detail"]) == ("down", None, "switched off by a fault")
    assert board_lab.call("POST", "/faults", {"kind": "board-kill", "target": "board-1"})[0] == 409
    # A reconciliation does not switch it on either.
    board_lab.put_spec(rack, generation=2)
    assert node(board_lab, "board-1") == off
    assert board_lab.ok("GET", "/state")["faults"] == [fault]
    board_lab.until(lambda: watcher.events("board.killed"), "the event")
    board_lab.until(lambda: watcher.of("state")[-1]["state"]["faults"] == [fault], "the state with the fault")

    board_lab.ok("DELETE", f"/faults/{fault['id']}")
    until_up(board_lab, "board-1", not_pid=before["pid"])
    assert board_lab.ok("GET", "/state")["faults"] == []


def test_a_slot_is_stuck_until_the_fault_is_removed_or_power_is_lost(board_lab: Lab, rack: dict[str, Any]) -> None:
    board_lab.put_spec(rack, agents=AGENTS)
    (told,) = boards_file(board_lab, "server-1")
    board_lab.until(answers(Path(told["control"])), "the board")
    wanted = {"kind": "slot-stuck", "target": "board-1", "slot": 1}
    fault = board_lab.ok("POST", "/faults", wanted)
    assert fault["slot"] == 1
    assert board_lab.call("POST", "/faults", wanted)[0] == 409
    other = board_lab.ok("POST", "/faults", wanted | {"slot": 0})
    board_lab.ok("DELETE", f"/faults/{fault['id']}")
    assert board_lab.ok("GET", "/state")["faults"] == [other]
    # A slot that was emptied in the meantime has nothing to clear.
    assert ask(Path(told["control"]), "empty", {}) == {}
    board_lab.ok("DELETE", f"/faults/{other['id']}")
    board_lab.ok("POST", "/faults", wanted)

    before = until_up(board_lab, "board-1")
    os.kill(host_pid(board_lab, before["pid"]), signal.SIGKILL)
    until_up(board_lab, "board-1", not_pid=before["pid"])
    assert board_lab.ok("GET", "/state")["faults"] == []


@pytest.mark.parametrize(
    ("wanted", "pointer"),
    [
        ({"kind": "board-kill", "target": "server-1"}, "/target"),
        ({"kind": "slot-stuck", "target": "board-9", "slot": 0}, "/target"),
        ({"kind": "slot-stuck", "target": "board-1", "slot": 2}, "/slot"),
        ({"kind": "slot-stuck", "target": "board-1"}, "/slot"),
        ({"kind": "board-kill", "target": "board-1", "slot": 0}, "/slot"),
    ],
)
def test_faults_of_no_board_or_slot_are_refused_by_field(lab: Lab, wanted: dict[str, Any], pointer: str) -> None:
    status, problem = lab.call("POST", "/faults", wanted)
    assert (status, [error["pointer"] for error in problem["errors"]]) == (422, [pointer])


def test_a_changed_board_is_built_again_and_nothing_else(board_lab: Lab, rack: dict[str, Any]) -> None:
    board_lab.put_spec(rack, generation=1, agents=AGENTS)
    names = ("board-1", "board-2", "server-1", "server-2", "web-1")
    before = {name: until_up(board_lab, name)["pid"] for name in names}
    interfaces = interfaces_of(board_lab, "server-2")
    board_lab.ok("POST", "/faults", {"kind": "board-kill", "target": "board-1"})
    agent_arguments(board_lab, "server-1")

    rack["boards"][0] |= {"profile": "onetcard", "slots": 1}
    rack["boards"][1]["title"] = "Renamed"
    state = board_lab.put_spec(rack, generation=2, agents=AGENTS)
    assert state["faults"] == []
    until_up(board_lab, "board-1", not_pid=before["board-1"])
    until_up(board_lab, "server-1", not_pid=before["server-1"])
    for name in ("board-2", "server-2", "web-1"):
        assert node(board_lab, name)["pid"] == before[name]
    assert len(boards_file(board_lab, "server-1")[0]["slots"]) == 1
    assert len(interfaces_of(board_lab, "server-1")) == 4
    assert interfaces_of(board_lab, "server-2") == interfaces

    rack["boards"] = rack["boards"][:1]
    board_lab.put_spec(rack, generation=3, agents=AGENTS)
    assert interfaces_of(board_lab, "server-2") == []
    assert "board-2" not in [one["id"] for one in board_lab.ok("GET", "/state")["nodes"]]
    assert sorted(path.name for path in (board_lab.directory / "run/b").iterdir()) == ["board-1", "server-1.json"]
    until_up(board_lab, "server-2", not_pid=before["server-2"])
    board_lab.until(lambda: "--boards" not in agent_arguments(board_lab, "server-2"), "an agent without boards")


def ask(control: Path, method: str, params: dict[str, Any]) -> Any:
    return asyncio.run(ask_program(control, method, params))


@pytest.fixture
def real_lab() -> Iterator[Lab]:
    """Uses the board that is built; a modelled second of a load takes a millisecond."""
    build = BoardBuild.of_checkout()
    if build.missing() or not build.images_key.exists():
        pytest.skip("the board is not built")
    lab = Lab({"ORRERY_BOARD_COMMAND": f"{build.program[0]} --time-scale 0.001"})
    yield lab
    lab.close()


def test_the_real_board_runs_in_its_server(real_lab: Lab, rack: dict[str, Any]) -> None:
    real_lab.put_spec(rack)
    for board in rack["boards"]:
        before = until_up(real_lab, board["id"])
        described = real_lab.until(partial(describes, real_lab, board["id"]), "the board to answer")
        assert (described["id"], described["profile"], len(described["slots"])) == (
            board["id"],
            board["profile"],
            board["slots"],
        )
        status, problem = real_lab.call("POST", "/faults", {"kind": "slot-stuck", "target": board["id"], "slot": 0})
        assert status == 409 and "holds no module" in problem["title"]
        assert node(real_lab, board["id"])["pid"] == before["pid"]

    fault = real_lab.ok("POST", "/faults", {"kind": "board-kill", "target": "board-1"})
    assert node(real_lab, "board-1")["state"] == "down"
    real_lab.ok("DELETE", f"/faults/{fault['id']}")
    until_up(real_lab, "board-1")
    assert real_lab.until(lambda: describes(real_lab, "board-1"), "the board to answer")["id"] == "board-1"
    (capability,) = [one for one in real_lab.ok("GET", "/capabilities")["capabilities"] if one["id"] == "boards"]
    assert capability["available"] and "pass" in capability["detail"]


def test_a_stuck_slot_of_the_real_board_answers_no_more(real_lab: Lab, rack: dict[str, Any]) -> None:
    build = BoardBuild.of_checkout()
    images = sorted((build.images / "de5").glob("*-0.partial"))
    assert images, "no bitstreams: build the boards first"
    real_lab.put_spec(rack)
    real_lab.until(lambda: describes(real_lab, "board-1"), "the board to answer")
    control = real_lab.directory / "run/b/board-1/ctl.sock"
    ask(control, "load", {"slot": 0, "kind": "partial", "image": str(images[0]), "policy": "hold"})

    def slot_state() -> str:
        return str(ask(control, "status", {})["slots"][0]["state"])

    real_lab.until(lambda: slot_state() == "configuring", "the load to end")
    read_id = {"slot": 0, "addresses": [0]}
    identity = ask(control, "csr_read", read_id)

    wanted = {"kind": "slot-stuck", "target": "board-1", "slot": 0}
    fault = real_lab.ok("POST", "/faults", wanted)
    real_lab.ok("DELETE", f"/faults/{fault['id']}")
    assert ask(control, "csr_read", read_id) == identity
    real_lab.ok("POST", "/faults", wanted)
    with pytest.raises(ControlRefused):
        ask(control, "csr_read", read_id)
    assert slot_state() == "faulty"


def describes(lab: Lab, board: str) -> Any:
    try:
        return ask(lab.directory / "run/b" / board / "ctl.sock", "describe", {})
    except ControlSilent:
        return None


def test_without_a_board_program_the_twin_comes_up_with_failed_boards(rack: dict[str, Any]) -> None:
    lab = Lab({"ORRERY_BOARD_COMMAND": "/no/boardd"})
    try:
        lab.put_spec(rack)
        failed = node(lab, "board-1")
        assert (failed["state"], failed["pid"]) == ("failed", None)
        assert failed["detail"] == "the board is not built: no program /no/boardd"
        (capability,) = [one for one in lab.ok("GET", "/capabilities")["capabilities"] if one["id"] == "boards"]
        assert not capability["available"] and "/no/boardd" in capability["detail"] and capability["fallback"]
        wanted = {"kind": "slot-stuck", "target": "board-1", "slot": 0}
        assert lab.call("POST", "/faults", wanted)[0] == 409
    finally:
        lab.close()


def test_a_board_that_ends_at_once_has_failed_and_says_why(rack: dict[str, Any]) -> None:
    lab = Lab({"ORRERY_BOARD_COMMAND": "sh -c 'echo ready; echo the key is lost >&2; exit 3'"})
    try:
        lab.put_spec(rack)
        failed = lab.until(lambda: node(lab, "board-1")["state"] == "failed" and node(lab, "board-1"), "the failure")
        assert failed["detail"].startswith("exited with 3: the key is lost; restarting in")
    finally:
        lab.close()


def test_boards_wait_for_their_build_and_say_how_far_it_is(rack: dict[str, Any], tmp_path: Path) -> None:
    building = tmp_path / "building"
    building.write_text("7 of 54")
    lab = Lab(
        {
            "ORRERY_AGENT_COMMAND": f"{sys.executable} {FAKE_AGENT}",
            "ORRERY_BOARD_COMMAND": f"{sys.executable} {FAKE_BOARD}",
            "ORRERY_BOARD_BUILDING": str(building),
        }
    )
    try:
        lab.put_spec(rack, agents=AGENTS)

        def told(progress: str) -> Any:
            one = node(lab, "board-1")
            return one if one["state"] == "starting" and progress in (one["detail"] or "") else None

        lab.until(lambda: told("7 of 54"), "the progress of the build")
        building.write_text("8 of 54")
        lab.until(lambda: told("8 of 54"), "more progress")
        assert "being built" in next(
            one["detail"] for one in lab.ok("GET", "/capabilities")["capabilities"] if one["id"] == "boards"
        )
        building.unlink()
        until_up(lab, "board-1")
        until_up(lab, "board-2")
    finally:
        lab.close()
