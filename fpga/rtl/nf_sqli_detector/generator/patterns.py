# SPDX-License-Identifier: Apache-2.0
"""Reads patterns.txt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PATTERNS_FILE = Path(__file__).resolve().parent.parent / "patterns.txt"


@dataclass(frozen=True)
class Pattern:
    name: str
    expression: str


def read_patterns(path: Path = PATTERNS_FILE) -> list[Pattern]:
    patterns: list[Pattern] = []
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split(maxsplit=1)
        if len(fields) != 2:
            raise ValueError(f"{path.name} line {number}: the pattern {fields[0]!r} has no expression")
        if any(pattern.name == fields[0] for pattern in patterns):
            raise ValueError(f"{path.name} line {number}: the name {fields[0]!r} is used twice")
        patterns.append(Pattern(fields[0], fields[1].rstrip()))
    return patterns
