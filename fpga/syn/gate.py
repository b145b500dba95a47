# SPDX-License-Identifier: Apache-2.0
"""The committed results: check that they are up to date and fast enough for the boards, and print them as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syn.sources import Sources

# A board must meet its clock at the slowest speed grade.
GATE_SPEED = "speed6"


@dataclass(frozen=True)
class Board:
    name: str
    family: str
    clock_mhz: float


def read_boards(profiles: Path) -> list[Board]:
    boards = []
    for path in sorted(profiles.glob("*.json")):
        profile = json.loads(path.read_text())
        boards.append(Board(profile["name"], profile["family"], float(profile["clock_mhz"])))
    return boards


def read_results(directory: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(directory.glob("*.json"))}


def faults(
    sources: Mapping[str, Sources], results: Mapping[str, Mapping[str, Any]], boards: list[Board]
) -> Iterator[str]:
    """What is wrong with the results, one line each."""
    for module in sorted(results.keys() - sources.keys()):
        yield f"{module}: no such module, remove its result"
    for module, source in sources.items():
        if module not in results:
            yield f"{module}: no result, run run.py {module}"
            continue
        if results[module]["source_sha256"] != source.sha256():
            yield f"{module}: the RTL has changed since its result, run run.py {module}"
        fmax = results[module]["ecp5"]["fmax_mhz"][GATE_SPEED]
        for board in boards:
            if board.family == "ecp5" and fmax < board.clock_mhz:
                yield f"{module}: {fmax} MHz, below the {board.clock_mhz:g} MHz of board {board.name}"


def notes(results: Mapping[str, Mapping[str, Any]], boards: list[Board]) -> Iterator[str]:
    """For boards whose family no open tool can time: the ECP5 clock rates beside the clock that they declare."""
    if not results:
        return
    slowest = min(results, key=lambda module: results[module]["ecp5"]["fmax_mhz"][GATE_SPEED])
    fmax = results[slowest]["ecp5"]["fmax_mhz"]
    for board in boards:
        if board.family != "ecp5":
            yield (
                f"{board.name} ({board.family}) declares {board.clock_mhz:g} MHz; evidence only: on ECP5 the slowest "
                f"module, {slowest}, reaches {fmax['speed6']} MHz at grade 6 and {fmax['speed8']} MHz at grade 8"
            )


HEADER = (
    "| module | ECP5 LUT4 / FF / EBR / DSP | Fmax ECP5 -6 / -8 (MHz) | Xilinx 7 LUT / FF / BRAM18 / DSP "
    "| Cyclone V ALM (Stratix V class), Yosys estimate: ALM / FF / M10K / DSP |"
)


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [HEADER, "|---|---|---|---|---|"]
    for module, result in sorted(results.items()):
        ecp5, xc7, cyclonev = result["ecp5"], result["xc7"], result["cyclonev"]
        cells = (
            f"`{module}`",
            f"{ecp5['lut4']} / {ecp5['ff']} / {ecp5['ebr']} / {ecp5['dsp']}",
            f"{ecp5['fmax_mhz']['speed6']} / {ecp5['fmax_mhz']['speed8']}",
            f"{xc7['lut']} / {xc7['ff']} / {xc7['bram18']} / {xc7['dsp']}",
            f"{cyclonev['alm']} / {cyclonev['ff']} / {cyclonev['m10k']} / {cyclonev['dsp']}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
