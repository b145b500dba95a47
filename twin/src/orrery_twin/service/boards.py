# SPDX-License-Identifier: Apache-2.0
"""The emulated boards: each is a process in its server's network namespace; when it ends, the board has lost power."""

import asyncio
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orrery_twin.adapters.board_build import BoardBuild
from orrery_twin.adapters.control_socket import ControlRefused, ask
from orrery_twin.adapters.process import BoundedLog
from orrery_twin.adapters.veth import add_veths, remove_veths
from orrery_twin.domain.boards import BoardChanges, BoardPlan, BoardSockets, describe_to_agent
from orrery_twin.service.directories import Directories
from orrery_twin.service.hub import Hub
from orrery_twin.service.supervisor import NodeState, Supervised

SWITCHED_OFF = "switched off by a fault"
BUILD_POLL_S = 0.5


@dataclass
class _Board:
    plan: BoardPlan
    process: Supervised
    switched_off: bool = False


class Boards:
    """`on_power_loss` is called with the board, whose slots are empty when its power comes back."""

    def __init__(
        self,
        directories: Directories,
        build: BoardBuild,
        hub: Hub,
        on_change: Callable[[], None],
        on_power_loss: Callable[[str], None],
    ) -> None:
        self._directory = directories.run / "b"
        self._log_directory = directories.state / "logs"
        self._build = build
        self._hub = hub
        self._on_change = on_change
        self._on_power_loss = on_power_loss
        self._boards: dict[str, _Board] = {}
        self._leftovers: list[BoardPlan] = []
        self._build_watch: asyncio.Task[None] | None = None

    @property
    def plans(self) -> tuple[BoardPlan, ...]:
        return tuple(board.plan for board in self._boards.values())

    def plan(self, board_id: str) -> BoardPlan | None:
        board = self._boards.get(board_id)
        return board.plan if board else None

    def process(self, board_id: str) -> Supervised | None:
        board = self._boards.get(board_id)
        return board.process if board else None

    def state(self, board_id: str) -> NodeState:
        board = self._boards.get(board_id)
        if board is None or board.switched_off:
            return "down"
        if board.process.pid is not None:
            return "up"
        return "failed" if board.process.detail and not self._build_watch else "starting"

    def is_switched_off(self, board_id: str) -> bool:
        return board_id in self._boards and self._boards[board_id].switched_off

    def file_for_agent(self, server: str) -> Path | None:
        """The description of a server's boards for its agent; None if it has none."""
        has_boards = any(board.plan.server == server for board in self._boards.values())
        return self._file(server) if has_boards else None

    async def change(self, changes: BoardChanges, pid_of: dict[str, int]) -> None:
        """Leaves all other boards alone. Retries what failed before. `plans` tells what was done if it raises."""
        try:
            for plan in changes.gone:
                await self._boards[plan.id].process.stop()
                del self._boards[plan.id]
                self._leftovers.append(plan)
            await self._remove_leftovers(pid_of)
            for plan in changes.new:
                await add_veths(plan.veths, pid_of[plan.server])
                self._boards[plan.id] = self._make(plan, pid_of[plan.server])
        finally:
            for server in changes.servers:
                self._write_file(server)
        for board in self._boards.values():
            self._start(board)

    async def _remove_leftovers(self, pid_of: dict[str, int]) -> None:
        while self._leftovers:
            plan = self._leftovers[0]
            # Without its server, its interfaces ended with the namespace.
            if plan.server in pid_of:
                await remove_veths(plan.veths, pid_of[plan.server])
            shutil.rmtree(self._directory / plan.id, ignore_errors=True)
            del self._leftovers[0]

    async def stop(self) -> None:
        """Their interfaces end with the namespaces."""
        if self._build_watch:
            self._build_watch.cancel()
            self._build_watch = None
        boards, self._boards = self._boards, {}
        self._leftovers = []
        for board in boards.values():
            await board.process.stop()
        shutil.rmtree(self._directory, ignore_errors=True)

    async def switch_off(self, board_id: str) -> None:
        """At once, as in a power failure."""
        board = self._boards[board_id]
        board.switched_off = True
        await board.process.stop(at_once=True)
        board.process.detail = SWITCHED_OFF
        self._on_power_loss(board_id)

    def switch_on(self, board_id: str) -> None:
        board = self._boards[board_id]
        board.switched_off = False
        board.process.detail = None
        self._start(board)

    async def stick_slot(self, board_id: str, slot: int) -> None:
        """Raises ControlRefused if the slot is empty, and ControlSilent."""
        await self._inject(board_id, "slot-stuck", slot)

    async def clear_slot(self, board_id: str, slot: int) -> None:
        """Raises ControlSilent. A slot that was emptied in the meantime is no longer stuck."""
        with suppress(ControlRefused):
            await self._inject(board_id, "slot-clear", slot)

    async def _inject(self, board_id: str, fault: str, slot: int) -> None:
        await ask(self._sockets(board_id).control, "inject", {"fault": fault, "slot": slot})

    def _sockets(self, board_id: str) -> BoardSockets:
        return BoardSockets.under(self._directory / board_id)

    def _file(self, server: str) -> Path:
        # No board has this name: board names contain no dot.
        return self._directory / f"{server}.json"

    def _make(self, plan: BoardPlan, namespace_of: int) -> _Board:
        (self._directory / plan.id).mkdir(mode=0o700, parents=True, exist_ok=True)
        process = Supervised(
            "board",
            plan.id,
            lambda: self._build.command(plan, self._sockets(plan.id)),
            namespace_of=namespace_of,
            log=BoundedLog(self._log_directory / f"board-{plan.id}.log"),
            hub=self._hub,
            on_change=lambda: self._process_changed(plan.id),
        )
        return _Board(plan, process)

    def _start(self, board: _Board) -> None:
        if board.switched_off:
            return
        if self._build.under_way() is not None:
            self._build_watch = self._build_watch or asyncio.create_task(self._follow_build())
            return
        missing = self._build.missing()
        if missing is None:
            board.process.start()
        elif board.process.detail != missing:
            board.process.detail = missing
            self._hub.event("board.failed", board.plan.id, missing, "error")

    async def _follow_build(self) -> None:
        """Wait until the build ends; then the boards start, or report what is missing."""
        while (progress := self._build.under_way()) is not None:
            detail = f"being built: {progress}"
            waiting = [board for board in self._boards.values() if board.process.pid is None and not board.switched_off]
            if any(board.process.detail != detail for board in waiting):
                for board in waiting:
                    board.process.detail = detail
                self._on_change()
            await asyncio.sleep(BUILD_POLL_S)
        self._build_watch = None
        for board in self._boards.values():
            if board.process.pid is None and not board.switched_off:
                board.process.detail = None
                self._start(board)
        self._on_change()

    def _process_changed(self, board_id: str) -> None:
        process = self.process(board_id)
        if process and process.pid is None:
            self._on_power_loss(board_id)
        self._on_change()

    def _write_file(self, server: str) -> None:
        entries = [
            describe_to_agent(board.plan, self._sockets(board.plan.id), self._build.images_of(board.plan))
            for board in self._boards.values()
            if board.plan.server == server
        ]
        file = self._file(server)
        if entries:
            file.write_text(json.dumps(entries, indent=2) + "\n")
        else:
            file.unlink(missing_ok=True)
