# SPDX-License-Identifier: Apache-2.0
"""Where the emulated board and its parts are: built by `fpga/`, or named by a variable of the environment."""

import json
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from orrery_twin.domain.boards import BoardPlan, BoardSockets

COMMAND_VARIABLE = "ORRERY_BOARD_COMMAND"
FPGA = Path(__file__).resolve().parents[4] / "fpga"
BUILD = FPGA / "build/board"


@dataclass(frozen=True)
class BoardBuild:
    """`program`: the board's command, with arguments of its own; `library`: its modules; `images`: bitstreams."""

    program: tuple[str, ...]
    profiles: Path
    library: Path
    images: Path
    images_key: Path

    @classmethod
    def of_checkout(cls) -> "BoardBuild":
        override = shlex.split(os.environ.get(COMMAND_VARIABLE, ""))
        return cls(
            program=tuple(override) or (str(BUILD / "boardd"),),
            profiles=FPGA / "board/profiles",
            library=BUILD / "slot",
            images=BUILD / "images",
            images_key=BUILD / "images.pub",
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

    def missing(self) -> str | None:
        """Why no board can be started; None when one can."""
        program = self.program[0]
        if shutil.which(program) is None:
            return f"the board is not built: there is no program {program}"
        return None

    def modules(self) -> list[str]:
        """Names of the modules that boards can run; their files are `nf_<name>.so`."""
        return sorted(path.stem.removeprefix("nf_").replace("_", "-") for path in self.library.glob("*.so"))

    def slots_of_profile(self) -> dict[str, int]:
        return {path.stem: len(json.loads(path.read_text())["slots"]) for path in self.profiles.glob("*.json")}
