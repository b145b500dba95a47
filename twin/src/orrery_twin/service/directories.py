# SPDX-License-Identifier: Apache-2.0
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Directories:
    """`run`: sockets, with a short path; `state`: what is kept."""

    run: Path
    state: Path
