# SPDX-License-Identifier: Apache-2.0
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Directories:
    """`run`: sockets, so a short path; `state`: persistent files."""

    run: Path
    state: Path
