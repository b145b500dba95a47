# SPDX-License-Identifier: Apache-2.0
"""Changes of emulated boards that fail half-way, with interfaces in a namespace of their own."""

import asyncio
import os
import shlex
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from orrery_twin.adapters.board_build import BoardBuild
from orrery_twin.adapters.process import CommandFailed, run
from orrery_twin.domain.boards import BoardChanges, BoardPlan, SlotPlan, VethPlan
from orrery_twin.service.boards import Boards
from orrery_twin.service.directories import Directories
from orrery_twin.service.hub import Hub

FAILING_IP = """#!/bin/sh
[ -e {failing} ] && case "$*" in "$(cat {failing})"*) rm {failing}; echo "no memory" >&2; exit 2 ;; esac
exec {ip} "$@"
"""
SLOTS = tuple(
    SlotPlan(VethPlan(f"tb{slot}n", f"tb{slot}n-b"), VethPlan(f"tb{slot}f", f"tb{slot}f-b")) for slot in range(2)
)
BOARD = BoardPlan(id="board-1", server="server-1", profile="de5", slots=SLOTS)
INTERFACES = sorted(name for slot in SLOTS for veth in (slot.near, slot.far) for name in (veth.engine, veth.board))


class Bench:
    def __init__(self, directory: Path, namespace_of: int) -> None:
        self.failing = directory / "failing"
        directories = Directories(directory / "run", directory / "state")
        self.boards = Boards(directories, BoardBuild.of_checkout(), Hub(), lambda: None, lambda _: None)
        self.pid_of = {"server-1": namespace_of}

    def fail_once(self, command: str) -> None:
        """The next call of `ip` that begins so."""
        self.failing.write_text(command)

    async def bring_to(self, *wanted: BoardPlan) -> None:
        await self.boards.change(BoardChanges.between(self.boards.plans, wanted), self.pid_of)

    async def interfaces(self) -> list[str]:
        said = await run(["ip", "-br", "link"], namespace_of=self.pid_of["server-1"])
        return sorted(line.split()[0].split("@")[0] for line in said.splitlines() if line.startswith("tb"))


@pytest.fixture
def with_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Bench], Awaitable[None]]], None]:
    ip = tmp_path / "ip"
    ip.write_text(FAILING_IP.format(failing=shlex.quote(str(tmp_path / "failing")), ip=shutil.which("ip")))
    ip.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("ORRERY_BOARD_COMMAND", "/no/boardd")

    def scenario(play: Callable[[Bench], Awaitable[None]]) -> None:
        async def whole() -> None:
            holder = await asyncio.create_subprocess_exec("unshare", "--net", "sleep", "120")
            try:
                async with asyncio.timeout(60):
                    while _network_of(holder.pid) == _network_of(os.getpid()):
                        await asyncio.sleep(0.01)
                    await play(Bench(tmp_path, holder.pid))
            finally:
                holder.kill()
                await holder.wait()

        asyncio.run(whole())

    return scenario


Play = Callable[[Callable[[Bench], Awaitable[None]]], None]


def _network_of(pid: int) -> Path:
    return Path(f"/proc/{pid}/ns/net").readlink()


@pytest.mark.parametrize("command", ["link add tb1n", "link set tb1f-b"])
def test_a_board_that_was_half_made_is_made_anew(with_bench: Play, command: str) -> None:
    async def play(bench: Bench) -> None:
        bench.fail_once(command)
        with pytest.raises(CommandFailed, match="no memory"):
            await bench.bring_to(BOARD)
        assert bench.boards.plans == ()
        await bench.bring_to(BOARD)
        assert await bench.interfaces() == INTERFACES

    with_bench(play)


def test_a_board_that_was_half_removed_is_removed_with_the_next_change(with_bench: Play) -> None:
    async def play(bench: Bench) -> None:
        await bench.bring_to(BOARD)
        bench.fail_once("link del tb1n")
        with pytest.raises(CommandFailed, match="no memory"):
            await bench.bring_to()
        await bench.bring_to()
        assert (bench.boards.plans, await bench.interfaces()) == ((), [])

    with_bench(play)


def test_a_board_that_was_half_removed_can_come_back(with_bench: Play) -> None:
    async def play(bench: Bench) -> None:
        await bench.bring_to(BOARD)
        bench.fail_once("link del tb1n")
        with pytest.raises(CommandFailed, match="no memory"):
            await bench.bring_to(replace(BOARD, profile="onetcard"))
        await bench.bring_to(BOARD)
        assert (bench.boards.plans, await bench.interfaces()) == ((BOARD,), INTERFACES)

    with_bench(play)


def test_a_board_is_removed_though_its_server_and_directory_are_gone(with_bench: Play, tmp_path: Path) -> None:
    async def play(bench: Bench) -> None:
        await bench.bring_to(BOARD)
        shutil.rmtree(tmp_path / "run/b/board-1")
        bench.pid_of.clear()
        await bench.bring_to()
        assert bench.boards.plans == ()

    with_bench(play)
