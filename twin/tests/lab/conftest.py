# SPDX-License-Identifier: Apache-2.0
"""A launched twin for the lab tests, driven as the server does, and commands inside its namespaces."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .applications import Applications

TWIN = Path(__file__).resolve().parents[2]
LAUNCHER = TWIN / "bin/twin-launcher"
FAKE_BOARD = f"{sys.executable} {Path(__file__).with_name('fake_board.py')}"
NO_DOCKER = {"ORRERY_DOCKERD_COMMAND": "/no/dockerd"}
PROGRAM = Path(__file__).with_name("program.mjs")
TOOLS = ("mnexec", "ovs-vswitchd", "tc", "ethtool", "tcpdump", "iperf3")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    reason = None
    if os.geteuid() != 0:
        reason = "creates network namespaces: needs root"
    elif missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        reason = f"programs are missing: {', '.join(missing)}"
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.lab)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("twind", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(str(self._path))


class Lab:
    """Boards are stand-ins and there is no container engine unless `environment` says otherwise."""

    def __init__(self, environment: dict[str, str] | None = None, parent: str = "/tmp") -> None:
        # Short, because of the length of unix socket paths.
        self.directory = Path(tempfile.mkdtemp(prefix="ot", dir=parent))
        self.socket = self.directory / "run/twind.sock"
        self.environment = {**os.environ, "ORRERY_BOARD_COMMAND": FAKE_BOARD, **NO_DOCKER, **(environment or {})}
        self.log = (self.directory / "log").open("wb")
        self.applications = Applications(self)
        self.infrastructure: Any = None
        self.launch()

    def launch(self, *more: str) -> None:
        # One that was just killed may still answer.
        self.socket.unlink(missing_ok=True)
        command = [str(LAUNCHER), "--python", sys.executable]
        command += ["--run-dir", str(self.directory / "run"), "--state-dir", str(self.directory / "state")]
        self.launcher = subprocess.Popen([*command, *more], stdout=self.log, stderr=self.log, env=self.environment)
        self.until(self._answers, "twind to answer")

    @property
    def init_pid(self) -> int:
        children = Path(f"/proc/{self.launcher.pid}/task/{self.launcher.pid}/children").read_text().split()
        return int(children[0])

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = UnixConnection(self.socket)
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(method, path, data)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return reply.status, json.loads(content) if content else None

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        status, reply = self.call(method, path, body)
        assert status < 300, reply
        return reply

    def put_spec(self, infrastructure: Any, generation: int = 1, agents: Any = None) -> Any:
        spec = {"generation": generation, "infrastructure": infrastructure, "agents": agents}
        self.infrastructure = infrastructure or self.infrastructure
        self.ok("PUT", "/spec", spec)
        wanted = "down" if infrastructure is None else "up"
        state = self.until(lambda: self.state_if(wanted, generation), f"phase {wanted}")
        if infrastructure is not None and agents is None:
            self.program(infrastructure)
        return state

    def state_if(self, phase: str, generation: int) -> Any:
        state = self.ok("GET", "/state")
        assert state["phase"] != "failed", state["error"]
        return state if (state["phase"], state["generation"]) == (phase, generation) else None

    def until(self, ready: Callable[[], Any], what: str, limit_s: float = 20.0) -> Any:
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if result := ready():
                return result
            if self.launcher.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"timed out waiting for {what}; log:\n{(self.directory / 'log').read_text()[-4000:]}")

    def until_after_exit(self, ready: Callable[[], Any], what: str, limit_s: float = 10.0) -> None:
        end = time.monotonic() + limit_s
        while not ready():
            assert time.monotonic() < end, f"timed out waiting for {what}"
            time.sleep(0.01)

    def inside(self, command: list[str], node: str | None = None, limit_s: float = 20.0) -> str:
        """Run a command in the twin's namespaces, or in those of a node; return its output."""
        result = subprocess.run(
            self.entering(command, node), capture_output=True, text=True, timeout=limit_s, check=False
        )
        assert result.returncode == 0, result.stderr + result.stdout
        return result.stdout

    def entering(self, command: list[str], node: str | None = None) -> list[str]:
        enter = ["nsenter", "-t", str(self.init_pid), "-n", "-m", "-p", "-u", "-r", "-w", "--"]
        if node:
            pid = self.until(lambda: self.pid_of(node), f"a process of {node}")
            enter += ["nsenter", f"--net=/proc/{pid}/ns/net", "--"]
        return [*enter, *command]

    def pid_of(self, node: str) -> int | None:
        return next(one["pid"] for one in self.ok("GET", "/state")["nodes"] if one["id"] == node)

    def program(self, infrastructure: Any, *rules: dict[str, Any]) -> Any:
        """Bring the switches to the rules; return the faults, the planned entries by switch and the packets by rule."""
        switches = str(self.directory / "run/switches.json")
        wanted = {"infrastructure": infrastructure, "rules": rules, "switches": switches}
        command = self.entering([os.environ.get("NODE", "node"), str(PROGRAM)])
        result = subprocess.run(
            command, input=json.dumps(wanted), capture_output=True, text=True, timeout=120, check=False
        )
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    def address_of(self, node: str) -> str:
        """Return the first address of a host; any other name is taken as an address."""
        hosts = {host["id"]: host["addresses"][0]["address"] for host in self.infrastructure["hosts"]}
        return str(hosts.get(node, node))

    def close(self) -> None:
        if self.launcher.poll() is None:
            self.launcher.send_signal(signal.SIGTERM)
            self.launcher.wait(10)
        self.log.close()
        shutil.rmtree(self.directory)

    def _answers(self) -> bool:
        try:
            return self.call("GET", "/health")[0] == 200
        except OSError:
            return False


@pytest.fixture(scope="session")
def shared_lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.close()


@pytest.fixture
def lab(shared_lab: Lab, rack: dict[str, Any]) -> Lab:
    """The rack, up, with no rules beyond routing. Shared by tests; a test that breaks it must use its own."""
    shared_lab.put_spec(rack)
    shared_lab.applications.clear()
    return shared_lab


@pytest.fixture
def own_lab() -> Iterator[Lab]:
    """In /run, which is private to the twin."""
    lab = Lab(parent="/run")
    yield lab
    lab.close()
