# SPDX-License-Identifier: Apache-2.0
"""Whatever is killed: nothing is left behind, and the same spec builds the same twin again."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import LAUNCHER, Lab

FAKE_AGENT = Path(__file__).with_name("fake_agent.py")


def processes_of(directory: Path) -> list[str]:
    """Command lines that mention the lab's directory, except our own."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(directory) in command:
                found.append(command)
    return found


def mounts_at(path: str) -> list[str]:
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if line.split()[4] == path]


def anyone_in(namespace: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str((entry / "ns/pid").readlink()) == namespace:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_launcher_leaves_nothing(own_lab: Lab, rack: dict[str, Any], number: signal.Signals) -> None:
    interfaces = set(Path("/sys/class/net").iterdir())
    run_mounts = mounts_at("/run")
    own_lab.put_spec(rack)
    own_lab.applications.start("http-client", "client-1", to="web-1")
    namespace = str(Path(f"/proc/{own_lab.init_pid}/ns/pid").readlink())
    assert len(anyone_in(namespace)) > 10

    own_lab.launcher.send_signal(number)
    own_lab.launcher.wait(10)
    own_lab.until_after_exit(lambda: not anyone_in(namespace), "the namespace to be empty")
    assert processes_of(own_lab.directory) == []
    assert set(Path("/sys/class/net").iterdir()) == interfaces
    assert mounts_at("/run") == run_mounts
    assert str(own_lab.directory) not in Path("/proc/self/mountinfo").read_text()
    if number != signal.SIGKILL:
        assert not own_lab.socket.exists()


def test_the_launcher_ends_with_twind_and_the_spec_builds_again(own_lab: Lab, rack: dict[str, Any]) -> None:
    own_lab.put_spec(rack)
    endless = own_lab.applications.start("http-client", "client-2", to="web-2")
    over = own_lab.applications.start("probe", "client-1", to="web-1", duration_s=0.2)
    ended = own_lab.applications.until_state(over, "completed")
    init = own_lab.init_pid
    (twind,) = Path(f"/proc/{init}/task/{init}/children").read_text().split()[:1]
    os.kill(int(twind), signal.SIGKILL)
    assert own_lab.launcher.wait(10) != 0

    own_lab.launch()
    state = own_lab.put_spec(rack, generation=5)
    assert state["build_ms"] > 0
    own_lab.applications.put()
    own_lab.applications.until(endless, lambda status: status["metrics"].get("received", 0) > 0, "requests again")
    assert own_lab.applications.status(over) == ended
    assert own_lab.applications.run("http-client", "client-1", to="web-1", count=2, rate_per_s=50)["received"] == 2


def test_a_launcher_that_is_told_to_ends_a_twind_that_hangs(own_lab: Lab) -> None:
    own_lab.launcher.send_signal(signal.SIGTERM)
    own_lab.launcher.wait(10)
    own_lab.launch("--hung-after", "3")
    init = own_lab.init_pid
    namespace = str(Path(f"/proc/{init}/ns/pid").readlink())
    (twind,) = Path(f"/proc/{init}/task/{init}/children").read_text().split()[:1]
    with pytest.raises(subprocess.TimeoutExpired):
        own_lab.launcher.wait(4)

    os.kill(int(twind), signal.SIGSTOP)
    assert own_lab.launcher.wait(10) == 1
    own_lab.until_after_exit(lambda: not anyone_in(namespace), "the namespace to be empty")
    assert "twind has not answered for 3 s" in (own_lab.directory / "log").read_text()
    assert not own_lab.socket.exists()


def test_the_socket_belongs_to_the_owner_of_its_directory(own_lab: Lab) -> None:
    own_lab.launcher.send_signal(signal.SIGTERM)
    own_lab.launcher.wait(10)
    os.chown(own_lab.directory / "run", 65_533, 65_532)
    own_lab.launch()
    own_lab.until(lambda: own_lab.socket.stat().st_uid == 65_533, "a socket of the owner")
    assert own_lab.socket.stat().st_gid == 65_532


def test_down_and_up_and_changed(own_lab: Lab, rack: dict[str, Any]) -> None:
    own_lab.put_spec(rack, generation=1)
    running = own_lab.applications.start("http-client", "client-1", to="web-1")
    down = own_lab.put_spec(None, generation=2)
    assert (down["nodes"], down["links"], down["build_ms"]) == ([], [], None)
    assert "sw1" not in own_lab.inside(["cat", "/proc/net/dev"])
    assert own_lab.applications.until_state(running, "stopped")["pid"] is None

    rack["hosts"] = rack["hosts"][:3]
    rack["links"] = rack["links"][:6]
    up = own_lab.put_spec(rack, generation=3)
    assert len(up["nodes"]) == 9
    own_lab.applications.clear()
    assert own_lab.applications.run("http-client", "client-1", to="web-1", count=2, rate_per_s=50)["received"] == 2


def test_the_same_spec_again_disturbs_nothing(own_lab: Lab, rack: dict[str, Any]) -> None:
    own_lab.put_spec(rack, generation=1)
    running = own_lab.applications.start("http-client", "client-1", to="web-1")
    before = own_lab.applications.until_state(running, "running")
    own_lab.put_spec(rack, generation=2)
    after = own_lab.applications.status(running)
    assert (after["state"], after["pid"]) == ("running", before["pid"])


@pytest.fixture
def agent_lab() -> Iterator[Lab]:
    lab = Lab({"ORRERY_AGENT_COMMAND": f"{sys.executable} {FAKE_AGENT}"})
    yield lab
    lab.close()


def node(lab: Lab, node_id: str) -> Any:
    return next(one for one in lab.ok("GET", "/state")["nodes"] if one["id"] == node_id)


def test_agents_run_in_their_servers_and_are_started_again(agent_lab: Lab, rack: dict[str, Any]) -> None:
    settings = {"server_url": "http://127.0.0.1:1", "join_tokens": {"server-1": "secret-1"}}
    agent_lab.put_spec(rack, agents=settings)
    state = agent_lab.directory / "state/agents/server-1"
    arguments = agent_lab.until(lambda: (state / "started").exists() and (state / "started").read_text(), "the agent")
    assert "--node server-1 " in arguments and "join token: secret-1" in arguments and "--iface nic0" in arguments
    other = agent_lab.directory / "state/agents/server-3/started"
    agent_lab.until(other.exists, "the other agent")
    assert "interfaces: lo nic0\njoin token: None" in other.read_text()
    assert "secret-1" not in arguments.splitlines()[0]

    before = agent_lab.until(lambda: node(agent_lab, "server-1")["state"] == "up" and node(agent_lab, "server-1"), "up")
    fault = agent_lab.ok("POST", "/faults", {"kind": "agent-kill", "target": "server-1"})
    assert fault["target"] == "server-1"
    agent_lab.until(lambda: node(agent_lab, "server-1")["pid"] not in (None, before["pid"]), "another agent process")
    assert agent_lab.call("POST", "/faults", {"kind": "engine-kill", "target": "server-1"})[0] == 409


def test_help_and_missing_things_are_explained(tmp_path: Path) -> None:
    shown = subprocess.run([LAUNCHER, "--help"], capture_output=True, text=True, check=True).stdout
    assert "--run-dir" in shown and "--state-dir" in shown

    def run(*arguments: str, launcher: Path = LAUNCHER, **options: Any) -> tuple[int, str]:
        command = [str(launcher), "--state-dir", str(tmp_path / "s"), *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10, **options)
        return result.returncode, result.stderr

    # The checkout may be where no other user can reach it, such as root's home directory.
    with tempfile.TemporaryDirectory() as reachable:
        Path(reachable).chmod(0o755)
        copy = Path(shutil.copy(LAUNCHER, reachable))
        code, message = run("--run-dir", str(tmp_path / "r"), launcher=copy, user=65534)
    assert code == 2 and "root" in message
    code, message = run("--run-dir", "/tmp/" + "x" * 90, "--python", sys.executable)
    assert code == 2 and "too long" in message
    code, message = run("--run-dir", "/tmp/r", "--python", "/no/python")
    assert code == 2 and "/no/python" in message
