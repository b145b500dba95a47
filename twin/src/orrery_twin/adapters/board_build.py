# SPDX-License-Identifier: Apache-2.0
"""Locate the emulated board and its parts: built by `fpga/`, or named by an environment variable."""

import json
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from orrery_twin.adapters.building import progress_of
from orrery_twin.domain.boards import BoardPlan, BoardSockets

COMMAND_VARIABLE = "ORRERY_BOARD_COMMAND"
FPGA = Path(__file__).resolve().parents[4] / "fpga"
BUILD = FPGA / "build/board"
BUILDING_VARIABLE = "ORRERY_BOARD_BUILDING"


@dataclass(frozen=True)
class BoardBuild:
    """`program`: the board's command, possibly with arguments; `library`: its modules; `images`: bitstreams;
    `building`: progress of a running build (`scripts/setup/boards.mjs` updates it).
    """

    program: tuple[str, ...]
    profiles: Path
    library: Path
    images: Path
    images_key: Path
    building: Path

    @classmethod
    def of_checkout(cls) -> "BoardBuild":
        override = shlex.split(os.environ.get(COMMAND_VARIABLE, ""))
        return cls(
            program=tuple(override) or (str(BUILD / "boardd"),),
            profiles=FPGA / "board/profiles",
            library=BUILD / "slot",
            images=BUILD / "images",
            images_key=BUILD / "images.pub",
            building=Path(os.environ.get(BUILDING_VARIABLE, FPGA / "build/building")),
        )

    def command(self, board: BoardPlan, sockets: BoardSockets) -> list[str]:
        command = [*self.program, "--id", board.id, "--profile", str(self.profiles / f"{board.profile}.json")]
        command += ["--library", str(self.library), "--images-key", str(self.images_key)]
        command += ["--control", str(sockets.control), "--events", str(sockets.events)]
        for number, slot in enumerate(board.slots):
            command += ["--port", f"{number}:near={slot.near.board}", "--port", f"{number}:far={slot.far.board}"]
        return command

    def images_of(self, board: BoardPlan) -> Path:
        return self.images / board.profile

    def under_way(self) -> str | None:
        """Return the progress of the build; None if none is running."""
        return progress_of(self.building)

    def missing(self) -> str | None:
        """Return why no board can be started; None if boards can."""
        program = Path(self.program[0])
        # A path of the checkout says nothing to readers.
        told = program.name if program.is_relative_to(BUILD) else program
        return None if shutil.which(program) else f"the board is not built: no program {told}"

    def modules(self) -> list[str]:
        """Return the names of the modules that boards can run; their files are `nf_<name>.so`."""
        return sorted(path.stem.removeprefix("nf_").replace("_", "-") for path in self.library.glob("*.so"))

    def slots_of_profile(self) -> dict[str, int]:
        return {path.stem: len(json.loads(path.read_text())["slots"]) for path in self.profiles.glob("*.json")}
