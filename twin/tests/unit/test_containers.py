# SPDX-License-Identifier: Apache-2.0
"""How Docker's daemons are started, which part of its API is used, and what is reported without Docker."""

import asyncio
import os
import signal
import sys
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from orrery_twin.adapters import docker_api
from orrery_twin.adapters.docker_api import DockerApi, DockerFailed
from orrery_twin.adapters.docker_daemons import COMMAND_VARIABLE, DockerDaemons
from orrery_twin.service import containers as containers_module
from orrery_twin.service.containers import Containers
from orrery_twin.service.directories import Directories
from orrery_twin.service.hub import Hub

Answer = Callable[[web.Request], web.Response]


def value_of(command: list[str], option: str) -> str:
    return command[command.index(option) + 1]


def test_dockerd_touches_neither_the_network_nor_the_machine_s_directories() -> None:
    daemons = DockerDaemons(("dockerd", "--debug"), Path("/var/lib/o"), "orrery-twin-1")
    command = daemons.dockerd(Path("/run/o/docker.new"))
    assert command[:2] == ["dockerd", "--debug"]
    assert value_of(command, "--host") == "unix:///run/o/docker.new"
    assert value_of(command, "--data-root") == "/var/lib/o/docker"
    assert value_of(command, "--cgroup-parent") == "/orrery-twin-1"
    assert value_of(command, "--bridge") == "none"
    assert {"--iptables=false", "--ip6tables=false", "--ip-forward=false", "--live-restore"} < set(command)
    for option in ("--exec-root", "--pidfile", "--containerd"):
        assert value_of(command, option).startswith("/run/")


def test_both_daemons_speak_of_the_same_socket_whatever_the_directory_is_called() -> None:
    daemons = DockerDaemons(("dockerd",), Path('/var/a "b" \\c'), "group")
    config = tomllib.loads(daemons.containerd_config())
    assert config["root"] == '/var/a "b" \\c/containerd'
    assert config["grpc"]["address"] == value_of(daemons.dockerd(Path("/s")), "--containerd")
    assert config["state"].startswith("/run/")
    assert config["plugins"]["io.containerd.internal.v1.opt"]["path"].startswith("/run/")


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for program in ("dockerd", "containerd"):
        (tmp_path / program).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(COMMAND_VARIABLE, raising=False)
    assert DockerDaemons.of_machine(tmp_path, "group").missing() == "not installed: runc (Debian package docker.io)"
    (tmp_path / "runc").touch(mode=0o755)
    assert DockerDaemons.of_machine(tmp_path, "group").missing() is None
    monkeypatch.setenv(COMMAND_VARIABLE, "/no/dockerd --debug")
    missing = DockerDaemons.of_machine(tmp_path, "group").missing()
    assert missing and "/no/dockerd" in missing and "--debug" not in missing


def containers(directory: Path, obstacle: str | None) -> Containers:
    daemons = DockerDaemons(("dockerd",), directory, "group")
    return Containers(daemons, Directories(directory, directory), Hub(), obstacle)


def test_without_an_engine_nothing_is_started_or_offered(tmp_path: Path) -> None:
    async def scenario() -> None:
        none = containers(tmp_path, "not installed: dockerd")
        none.start()
        await none.remove_at(["server-1"])
        assert none.socket is None
        told = none.capability()
        assert (told.available, told.detail) == (False, "not installed: dockerd")
        assert told.fallback == "no container NFs; NFs run in the engine"

    asyncio.run(scenario())


def test_an_engine_to_come_is_told_to_agents_and_not_yet_called_available(tmp_path: Path) -> None:
    coming = containers(tmp_path, None)
    assert coming.socket == tmp_path / "docker.sock"
    told = coming.capability()
    assert (told.available, told.detail) == (False, "dockerd is starting")


DOCKERD = """
import json, os, sys
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingUnixStreamServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        info = {"ServerVersion": "1", "Driver": "vfs"} if self.path == "/info" else []
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(info).encode())

    def address_string(self):
        return ""

server = ThreadingUnixStreamServer(sys.argv[1], Handler)
with open(sys.argv[2], "w") as file:
    file.write(str(os.getpid()))
server.serve_forever()
"""


class FakeDaemons(DockerDaemons):
    def containerd(self) -> list[str]:
        return ["sleep", "3600"]

    def dockerd(self, socket: Path) -> list[str]:
        return [sys.executable, "-c", DOCKERD, str(socket), str(self.state / "dockerd.pid")]


def test_an_engine_that_hangs_is_not_called_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers_module, "PROBE_S", 0.05)
    monkeypatch.setattr(docker_api, "TIMEOUT_S", 1.0)
    engine = Containers(FakeDaemons(("dockerd",), tmp_path, "g"), Directories(tmp_path, tmp_path), Hub(), None)

    async def becomes(available: bool) -> str:
        while engine.capability().available != available:
            await asyncio.sleep(0.02)
        return engine.capability().detail

    async def scenario() -> None:
        engine.start()
        assert await becomes(True) == "Docker 1, vfs"
        pid = int((tmp_path / "dockerd.pid").read_text())
        os.kill(pid, signal.SIGSTOP)
        assert await becomes(False) == "dockerd does not answer: no answer within 1 s"
        os.kill(pid, signal.SIGCONT)
        assert await becomes(True) == "Docker 1, vfs"

    async def limited() -> None:
        try:
            await asyncio.wait_for(scenario(), 60)
        finally:
            await asyncio.gather(engine._dockerd.stop(at_once=True), engine._containerd.stop(at_once=True))

    asyncio.run(limited())


async def serve_docker(socket: Path, answer: Answer) -> web.AppRunner:
    async def handle(request: web.Request) -> web.Response:
        return answer(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.UnixSite(runner, str(socket)).start()
    return runner


def with_docker(directory: Path, answer: Answer, scenario: Callable[[DockerApi], Awaitable[None]]) -> None:
    async def run() -> None:
        runner = await serve_docker(directory / "d", answer)
        try:
            await asyncio.wait_for(scenario(DockerApi(directory / "d")), 10)
        finally:
            await runner.cleanup()

    asyncio.run(run())


def test_all_containers_are_removed_even_those_that_others_remove(tmp_path: Path) -> None:
    present = {"a": 204, "b": 404, "c": 409}
    asked: list[str] = []

    def answer(request: web.Request) -> web.Response:
        if request.path == "/containers/json":
            assert request.query["all"] == "1"
            return web.json_response([{"Id": one} for one in present])
        assert request.method == "DELETE" and request.query["force"] == "1"
        one = request.path.removeprefix("/containers/")
        asked.append(one)
        status = present[one]
        # A removal in progress elsewhere completes by the second attempt.
        if status != 409 or asked.count(one) > 1:
            del present[one]
        return web.json_response({"message": "no"}, status=status) if status != 204 else web.Response(status=204)

    with_docker(tmp_path, answer, lambda api: api.remove_containers())
    assert (present, sorted(asked)) == ({}, ["a", "b", "c", "c"])


def test_a_refusal_says_what_docker_says(tmp_path: Path) -> None:
    def answer(request: web.Request) -> web.Response:
        if request.path == "/containers/json":
            return web.json_response([{"Id": "a"}])
        return web.json_response({"message": "device is busy"}, status=500)

    async def scenario(api: DockerApi) -> None:
        with pytest.raises(DockerFailed, match="device is busy"):
            await api.remove_containers()

    with_docker(tmp_path, answer, scenario)


def test_silence_and_nonsense_are_failures(tmp_path: Path) -> None:
    async def scenario(api: DockerApi) -> None:
        with pytest.raises(DockerFailed, match="500"):
            await api.info()
        with pytest.raises(DockerFailed):
            await DockerApi(tmp_path / "nobody").info()

    with_docker(tmp_path, lambda _: web.Response(text="nonsense", status=500), scenario)


ANSWERS = {
    "/info": {"ServerVersion": "20.10", "Driver": "overlay2"},
    "/containers/json": [{"Id": "a"}],
    "/images/json": [{"Id": "b", "Created": 1}],
}


@pytest.mark.parametrize("path", ANSWERS)
@pytest.mark.parametrize(
    "body",
    [
        None,
        "nonsense",
        "{",
        "null",
        "3",
        '"text"',
        "[]",
        "{}",
        "[{}]",
        "[null]",
        '[{"Id": 3}]',
        '[{"Id": "", "Created": 1}]',
    ],
)
def test_an_answer_without_what_is_asked_for_is_a_failure(tmp_path: Path, path: str, body: str | None) -> None:
    def answer(request: web.Request) -> web.Response:
        if request.path != path:
            return web.json_response(ANSWERS[request.path])
        if body is None:
            return web.Response(status=204)
        return web.Response(text=body, content_type="text/plain" if body == "nonsense" else "application/json")

    calls = {
        "/info": DockerApi.info,
        "/containers/json": DockerApi.remove_containers,
        "/images/json": remove_all_images,
    }

    async def scenario(api: DockerApi) -> None:
        if body == "[]" and path != "/info":
            await calls[path](api)
            return
        with pytest.raises(DockerFailed):
            await calls[path](api)

    with_docker(tmp_path, answer, scenario)


async def remove_all_images(api: DockerApi) -> None:
    await api.remove_images_but(0)


@pytest.mark.parametrize("body", ["[]", "null", '{"message": ""}', '"no"'])
def test_a_refusal_of_any_form_is_a_failure(tmp_path: Path, body: str) -> None:
    async def scenario(api: DockerApi) -> None:
        with pytest.raises(DockerFailed, match="GET /info: 503"):
            await api.info()

    answer = web.Response
    with_docker(tmp_path, lambda _: answer(text=body, status=503, content_type="application/json"), scenario)


class Asleep(DockerDaemons):
    """Processes that serve nothing: the test plays the part of dockerd."""

    def containerd(self) -> list[str]:
        return ["sleep", "60"]

    def dockerd(self, socket: Path) -> list[str]:
        return ["sleep", "60"]


class ReadyHub(Hub):
    def __init__(self) -> None:
        super().__init__()
        self.ready = asyncio.Event()

    def event(self, event: str, *rest: Any, **more: Any) -> None:
        super().event(event, *rest, **more)
        if event == "container-engine.ready":
            self.ready.set()


def test_an_engine_that_first_answers_nonsense_is_offered_as_soon_as_it_makes_sense(tmp_path: Path) -> None:
    details: list[str] = []
    infos: Iterator[Any] = iter([{}, [], None, {"ServerVersion": "20.10"}, ANSWERS["/info"]])

    async def scenario() -> None:
        hub = ReadyHub()
        engine = Containers(Asleep((), tmp_path, "group"), Directories(tmp_path, tmp_path), hub, None)

        def answer(request: web.Request) -> web.Response:
            details.append(engine.capability().detail)
            return web.json_response(next(infos) if request.path == "/info" else [])

        runner = await serve_docker(tmp_path / "docker.new", answer)
        engine.start()
        try:
            await asyncio.wait_for(hub.ready.wait(), 10)
            assert engine.capability().detail == "Docker 20.10, overlay2"
            assert engine.socket and engine.socket.is_socket()
        finally:
            await asyncio.gather(engine._dockerd.stop(at_once=True), engine._containerd.stop(at_once=True))
            await runner.cleanup()

    asyncio.run(scenario())
    assert "dockerd is starting: its answer has no Driver" in details


def test_the_newest_images_are_kept(tmp_path: Path) -> None:
    removed: list[str] = []

    def answer(request: web.Request) -> web.Response:
        if request.method == "GET":
            return web.json_response([{"Id": f"sha256:{age}", "Created": 100 - age} for age in (3, 0, 2, 1)])
        removed.append(request.path)
        return web.json_response([])

    with_docker(tmp_path, answer, lambda api: api.remove_images_but(newest=2))
    assert removed == ["/images/sha256:2", "/images/sha256:3"]
