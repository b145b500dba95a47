# SPDX-License-Identifier: Apache-2.0
"""The native program that sends and counts flows (`twin/flows`)."""

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

from orrery_twin.applications.kind import CannotRun

COMMAND_VARIABLE = "ORRERY_FLOWS_COMMAND"
PROGRAM = Path(__file__).resolve().parents[3] / "flows/build/orrery-flows"


def flows_program(role: str, settings: dict[str, Any]) -> list[str]:
    """Raises CannotRun where it is not built."""
    command = shlex.split(os.environ.get(COMMAND_VARIABLE, "")) or [str(PROGRAM)]
    if shutil.which(command[0]) is None:
        raise CannotRun(f"no program {Path(command[0]).name}: it is built with the twin")
    return [*command, role, json.dumps(settings)]
