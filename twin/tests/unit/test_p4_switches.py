# SPDX-License-Identifier: Apache-2.0
"""A P4 switch without a control socket is replaced when it hangs: ORRERY_BMV2 where it is set, else a gRPC server."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from orrery_twin.adapters import p4_software
from orrery_twin.adapters.control_socket import ControlHung, ControlSilent
from orrery_twin.adapters.grpc_server import greet
from orrery_twin.adapters.p4_software import BMV2_COMMAND_VARIABLE
from orrery_twin.domain.topology import SwitchPlan
from orrery_twin.service import p4_switches
from orrery_twin.service.hub import Hub
from orrery_twin.service.p4_switches import P4Switch

STAND_IN = f"{sys.executable} {Path(__file__).with_name('grpc_program.py')}"
LIMIT_S = 60


class Events(Hub):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def event(self, event: str, *rest: object, **more: object) -> None:
        self.names.append(event)


@pytest.fixture
def software(monkeypatch: pytest.MonkeyPatch) -> None:
    if BMV2_COMMAND_VARIABLE not in os.environ:
        monkeypatch.setenv(BMV2_COMMAND_VARIABLE, STAND_IN)
    # A program that starts on a loaded machine is waited for.
    monkeypatch.setattr(p4_switches, "START_TIMEOUT_S", LIMIT_S)


def test_a_switch_that_is_being_built_says_so_and_names_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(p4_software.P4_COMMAND_VARIABLE, raising=False)
    monkeypatch.setattr(p4_software, "P4_PROGRAM", tmp_path / "orrery-p4-switch")
    building = tmp_path / "building"
    monkeypatch.setattr(p4_software, "P4_BUILDING", building)
    assert p4_software.missing_software("p4") == "not built: no program orrery-p4-switch"
    building.write_text("5 of 23")
    assert p4_software.missing_software("p4") == "being built: 5 of 23"
    os.utime(building, (0, 0))
    assert p4_software.missing_software("p4") == "not built: no program orrery-p4-switch"


def make(directory: Path, hub: Hub) -> P4Switch:
    plan = SwitchPlan("leaf-1", 1, "bmv2")
    return P4Switch(plan, directory / "p4", directory / "log", hub, lambda: None)


async def answers(switch: P4Switch) -> None:
    async with asyncio.timeout(LIMIT_S):
        while True:
            try:
                await greet(switch.place.p4runtime_socket, LIMIT_S)
                return
            except ControlSilent:
                await asyncio.sleep(0.01)


async def stop_all_threads(pid: int) -> None:
    """A thread that runs when the signal comes goes on for a moment."""
    os.kill(pid, signal.SIGSTOP)
    async with asyncio.timeout(LIMIT_S):
        while any(
            stat.read_text().rpartition(")")[2].split()[0] != "T" for stat in Path(f"/proc/{pid}/task").glob("*/stat")
        ):
            await asyncio.sleep(0.01)


@pytest.mark.usefixtures("software")
def test_a_switch_that_hangs_is_replaced_and_one_that_answers_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    greetings: asyncio.Queue[Path] = asyncio.Queue()

    async def greet_and_tell(socket: Path, timeout_s: float) -> None:
        await greet(socket, timeout_s)
        greetings.put_nowait(socket)

    monkeypatch.setattr(p4_software, "greet", greet_and_tell)

    async def scenario() -> None:
        hub = Events()
        switch = make(tmp_path, hub)
        try:
            await switch.follow([])
            first = switch.process.pid
            assert first
            while not greetings.empty():
                greetings.get_nowait()
            async with asyncio.timeout(LIMIT_S):
                for _ in range(2):
                    await greetings.get()
            assert switch.process.pid == first
            assert hub.names == ["switch.started"]
            os.kill(first, signal.SIGSTOP)
            async with asyncio.timeout(LIMIT_S):
                while switch.process.pid in (None, first):
                    await asyncio.sleep(0.01)
            await answers(switch)
            assert hub.names == ["switch.started", "switch.hung", "switch.exited", "switch.started"]
        finally:
            await switch.stop()

    asyncio.run(scenario())


@pytest.mark.usefixtures("software")
def test_a_switch_that_starts_anew_for_other_ports_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        hub = Events()
        switch = make(tmp_path, hub)
        try:
            await switch.follow([])
            await switch.follow([])
            assert hub.names == ["switch.started"]
            await switch.follow([{"number": 1, "interface": "lo"}])
            assert hub.names[1] == "switch.restarted"
            assert hub.names[-1] == "switch.started"
        finally:
            await switch.stop()

    asyncio.run(scenario())


@pytest.mark.usefixtures("software")
def test_a_stopped_server_hangs_and_one_that_goes_on_answers(tmp_path: Path) -> None:
    async def scenario() -> None:
        switch = make(tmp_path, Events())
        switch.place.directory.mkdir()
        switch.process.start()
        try:
            await answers(switch)
            assert switch.process.pid
            await stop_all_threads(switch.process.pid)
            with pytest.raises(ControlHung, match=r"no answer within 0\.2 s"):
                await greet(switch.place.p4runtime_socket, 0.2)
            os.kill(switch.process.pid, signal.SIGCONT)
            await greet(switch.place.p4runtime_socket, LIMIT_S)
        finally:
            await switch.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_what_is_no_grpc_server_counts_as_silent(tmp_path: Path, answer: bytes) -> None:
    async def scenario() -> None:
        async def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(answer)
            writer.close()

        async with await asyncio.start_unix_server(refuse, tmp_path / "socket"):
            with pytest.raises(ControlSilent) as caught:
                await greet(tmp_path / "socket", LIMIT_S)
        assert caught.type is ControlSilent

    asyncio.run(scenario())


def test_nobody_there_counts_as_silent(tmp_path: Path) -> None:
    with pytest.raises(ControlSilent, match="No such file"):
        asyncio.run(greet(tmp_path / "none", LIMIT_S))
