# SPDX-License-Identifier: Apache-2.0
"""The container engine of the twin: Docker if it is installed, and a container that only sleeps."""

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from orrery_twin.adapters.docker_daemons import DockerDaemons

from .conftest import LAUNCHER, NO_DOCKER, Lab, UnixConnection
from .test_boards import agent_arguments
from .test_lifecycle import FAKE_AGENT, anyone_in, processes_of

AGENTS = {"server_url": "http://127.0.0.1:1", "join_tokens": {}}
HOLD = "#include <unistd.h>\nint main() { for (;;) pause(); }\n"
cgroup_name = runpy.run_path(str(LAUNCHER))["cgroup_of"]
IMAGE = "test/hold:1"
DIRECTORIES_OF_DOCKER = ("/etc/docker", "/opt", "/var/lib")
"""Where Docker keeps its files on a machine."""


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A root file system with nothing but the static program `/hold`."""
    compiler = shutil.which("cc")
    assert compiler, "no C compiler: install the Debian packages first"
    program = tmp_path_factory.mktemp("hold") / "hold"
    subprocess.run([compiler, "-static", "-Os", "-s", "-x", "c", "-o", program, "-"], input=HOLD, text=True, check=True)
    data = BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.add(program, "hold")
    return data.getvalue()


@pytest.fixture
def docker_lab() -> Iterator[Lab]:
    if missing := DockerDaemons(("dockerd",), Path("/"), "").missing():
        pytest.skip(missing)
    lab = Lab({"ORRERY_DOCKERD_COMMAND": "dockerd", "ORRERY_AGENT_COMMAND": f"{sys.executable} {FAKE_AGENT}"})
    yield lab
    lab.close()


def capability(lab: Lab) -> Any:
    (found,) = [one for one in lab.ok("GET", "/capabilities")["capabilities"] if one["id"] == "docker"]
    return found


def socket_of(lab: Lab) -> Path:
    return lab.directory / "run/docker.sock"


def docker(lab: Lab, method: str, path: str, body: Any = None, **query: str) -> Any:
    connection = UnixConnection(socket_of(lab))
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    kind = "application/x-tar" if isinstance(body, bytes) else "application/json"
    connection.request(method, f"{path}?{urlencode(query)}", data, {"Content-Type": kind})
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    assert reply.status < 300, content
    return json.loads(content) if content.strip() else None


def until_offered(lab: Lab) -> None:
    lab.until(lambda: capability(lab)["available"], "the container engine")


def import_image(lab: Lab, image: bytes) -> None:
    name, tag = IMAGE.split(":")
    entry = 'ENTRYPOINT ["/hold"]'
    docker(lab, "POST", "/images/create", image, fromSrc="-", repo=name, tag=tag, changes=entry)


def start_container(lab: Lab, name: str, server: str = "server-1") -> int:
    """Start a container as an agent does; its PID is in the twin's namespace."""
    limits = {"NetworkMode": "none", "CapDrop": ["ALL"], "CapAdd": ["NET_RAW"], "ReadonlyRootfs": True}
    limits |= {"Memory": 64 << 20, "NanoCpus": 10**9, "PidsLimit": 8, "SecurityOpt": ["no-new-privileges"]}
    wanted = {"Image": IMAGE, "Labels": {"orrery.node": server}, "HostConfig": limits}
    docker(lab, "POST", "/containers/create", wanted, name=name)
    docker(lab, "POST", f"/containers/{name}/start")
    return running_pid(lab, name)


def running_pid(lab: Lab, name: str) -> int:
    state = docker(lab, "GET", f"/containers/{name}/json")["State"]
    assert state["Status"] == "running"
    return int(state["Pid"])


def started_at(lab: Lab, pid: int) -> str:
    """Distinguishes a process from another with the same PID."""
    return lab.inside(["cat", f"/proc/{pid}/stat"]).rsplit(")", 1)[1].split()[19]


def daemon_pid(lab: Lab, name: str) -> int | None:
    command = lab.entering(["pgrep", "-o", "-x", name])
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return int(found) if found.strip() else None


def kill_daemon(lab: Lab, name: str) -> None:
    before = daemon_pid(lab, name)
    lab.inside(["kill", "-9", str(before)])
    lab.until(lambda: daemon_pid(lab, name) not in (None, before), f"another {name}")


def cgroups_of(lab: Lab) -> list[Path]:
    """One per hierarchy."""
    name = cgroup_name(str(lab.directory / "state"))
    return [group for pattern in (name, f"*/{name}") for group in Path("/sys/fs/cgroup").glob(pattern)]


def test_containers_run_in_the_twin_and_agents_learn_of_the_engine(
    docker_lab: Lab, rack: dict[str, Any], image: bytes
) -> None:
    docker_lab.put_spec(rack, agents=AGENTS)
    until_offered(docker_lab)
    told = capability(docker_lab)
    version = docker(docker_lab, "GET", "/version")["Version"]
    assert told["detail"].startswith(f"Docker {version}, ") and told["fallback"] is None
    arguments = agent_arguments(docker_lab, "server-1")
    assert arguments[arguments.index("--docker") + 1] == str(socket_of(docker_lab))

    import_image(docker_lab, image)
    pid = start_container(docker_lab, "one")
    assert list(cgroups_of(docker_lab)[0].iterdir())
    # The agent can give it an interface: they share the PID namespace.
    docker_lab.inside(["ip", "link", "add", "near-a", "type", "veth", "peer", "name", "near-b"], "server-1")
    docker_lab.inside(["ip", "link", "set", "near-b", "netns", str(pid), "name", "near"], "server-1")
    inside = docker_lab.inside(["nsenter", f"--net=/proc/{pid}/ns/net", "--", "ip", "-j", "link"])
    assert {link["ifname"] for link in json.loads(inside)} == {"lo", "near"}


def test_a_killed_daemon_comes_back_and_containers_never_stop(
    docker_lab: Lab, rack: dict[str, Any], image: bytes
) -> None:
    docker_lab.put_spec(rack)
    until_offered(docker_lab)
    import_image(docker_lab, image)
    pid = start_container(docker_lab, "one")
    birth = started_at(docker_lab, pid)
    for daemon in ("dockerd", "containerd", "dockerd"):
        kill_daemon(docker_lab, daemon)
        until_offered(docker_lab)
        assert (running_pid(docker_lab, "one"), started_at(docker_lab, pid)) == (pid, birth)
    docker(docker_lab, "POST", "/containers/one/kill")
    docker(docker_lab, "POST", "/containers/one/wait")
    docker(docker_lab, "POST", "/containers/one/start")
    assert running_pid(docker_lab, "one") != pid


def test_containers_end_with_their_servers(docker_lab: Lab, rack: dict[str, Any], image: bytes) -> None:
    docker_lab.put_spec(rack, generation=1)
    until_offered(docker_lab)
    import_image(docker_lab, image)
    pids = [start_container(docker_lab, f"of-{server}", server) for server in ("server-1", "server-2", "server-3")]
    docker_lab.put_spec(None, generation=2)
    assert docker(docker_lab, "GET", "/containers/json", all="1") == []
    assert all(not Path(f"/proc/{docker_lab.init_pid}/root/proc/{pid}").exists() for pid in pids)
    assert not any(path.is_dir() for group in cgroups_of(docker_lab) for path in group.iterdir())
    assert capability(docker_lab)["available"]

    # Down while the engine is down: they are gone when it is offered again.
    docker_lab.put_spec(rack, generation=3)
    start_container(docker_lab, "again")
    docker_lab.inside(["kill", "-9", str(daemon_pid(docker_lab, "dockerd"))])
    docker_lab.put_spec(None, generation=4)
    until_offered(docker_lab)
    assert docker(docker_lab, "GET", "/containers/json", all="1") == []


def test_a_frozen_engine_is_replaced_rather_than_leave_containers(
    docker_lab: Lab, rack: dict[str, Any], image: bytes
) -> None:
    docker_lab.put_spec(rack, generation=1)
    until_offered(docker_lab)
    import_image(docker_lab, image)
    start_container(docker_lab, "one")
    frozen = daemon_pid(docker_lab, "dockerd")
    docker_lab.inside(["kill", "-STOP", str(frozen)])
    docker_lab.put_spec(None, generation=2)
    until_offered(docker_lab)
    assert daemon_pid(docker_lab, "dockerd") != frozen
    assert docker(docker_lab, "GET", "/containers/json", all="1") == []


def end_launcher(lab: Lab, number: signal.Signals) -> None:
    lab.launcher.send_signal(number)


def end_namespace(lab: Lab, number: signal.Signals) -> None:
    os.kill(lab.init_pid, number)


@pytest.mark.parametrize(
    "end",
    [
        partial(end_launcher, number=signal.SIGTERM),
        partial(end_launcher, number=signal.SIGKILL),
        partial(end_namespace, number=signal.SIGKILL),
    ],
    ids=["launcher-term", "launcher-kill", "namespace-kill"],
)
def test_nothing_stays_but_images(
    docker_lab: Lab, rack: dict[str, Any], image: bytes, end: Callable[[Lab], None]
) -> None:
    docker_lab.put_spec(rack)
    until_offered(docker_lab)
    import_image(docker_lab, image)
    start_container(docker_lab, "one")
    namespace = str(Path(f"/proc/{docker_lab.init_pid}/ns/pid").readlink())
    end(docker_lab)
    docker_lab.launcher.wait(10)
    docker_lab.until_after_exit(lambda: not anyone_in(namespace), "the namespace to be empty")
    assert processes_of(docker_lab.directory) == []
    assert str(docker_lab.directory) not in Path("/proc/self/mountinfo").read_text()
    if docker_lab.launcher.returncode != -signal.SIGKILL:
        assert cgroups_of(docker_lab) == []

    docker_lab.launch()
    assert cgroups_of(docker_lab) == []
    until_offered(docker_lab)
    assert docker(docker_lab, "GET", "/containers/json", all="1") == []
    assert [one["RepoTags"] for one in docker(docker_lab, "GET", "/images/json")] == [[IMAGE]]
    docker_lab.put_spec(rack)
    start_container(docker_lab, "one")


def machine_directories() -> dict[str, list[Path]]:
    return {path: sorted(Path(path).iterdir()) if Path(path).is_dir() else [] for path in DIRECTORIES_OF_DOCKER}


@pytest.fixture
def directories_before() -> dict[str, list[Path]]:
    return machine_directories()


def test_the_directories_of_the_machine_are_left_alone(
    directories_before: dict[str, list[Path]], docker_lab: Lab
) -> None:
    until_offered(docker_lab)
    assert machine_directories() == directories_before
    # They may have existed before, so nothing new would be seen.
    assert docker_lab.inside(["ls", "/run/containerd/opt"]).split()
    if Path("/etc/docker").is_dir():
        assert docker_lab.inside(["stat", "-f", "-c", "%T", "/etc/docker"]).strip() == "tmpfs"


def test_users_of_containers_pass_through_what_the_daemons_make_and_nobody_else_reaches_the_twin(
    docker_lab: Lab,
) -> None:
    until_offered(docker_lab)

    def umask_of(pid: int | None) -> str:
        (line,) = [line for line in docker_lab.inside(["cat", f"/proc/{pid}/status"]).splitlines() if "Umask" in line]
        return line.split()[1]

    assert [umask_of(daemon_pid(docker_lab, name)) for name in ("containerd", "dockerd")] == ["0022", "0022"]
    assert docker_lab.inside(["stat", "-c", "%a", "/run/containerd"]).strip() == "711"
    assert docker_lab.socket.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (docker_lab.directory / "state/logs").iterdir())


def test_without_docker_the_twin_says_so_and_works(rack: dict[str, Any]) -> None:
    lab = Lab({"ORRERY_AGENT_COMMAND": f"{sys.executable} {FAKE_AGENT}"} | NO_DOCKER)
    try:
        lab.put_spec(rack, agents=AGENTS)
        told = capability(lab)
        assert not told["available"] and "not installed: /no/dockerd" in told["detail"]
        assert told["fallback"] == "no container NFs; NFs run in the engine"
        assert "--docker" not in agent_arguments(lab, "server-1")
        assert not socket_of(lab).exists() and daemon_pid(lab, "containerd") is None
        lab.put_spec(None, generation=2)
    finally:
        lab.close()


def test_an_engine_that_cannot_start_says_why_and_the_twin_works(rack: dict[str, Any]) -> None:
    if missing := DockerDaemons(("dockerd",), Path("/"), "").missing():
        pytest.skip(missing)
    lab = Lab({"ORRERY_DOCKERD_COMMAND": "dockerd --storage-driver nonsense"})
    try:
        lab.put_spec(rack)
        lab.until(lambda: "driver not supported; restarting" in capability(lab)["detail"], "the reason")
        assert not capability(lab)["available"]
    finally:
        lab.close()
