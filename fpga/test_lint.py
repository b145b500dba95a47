# SPDX-License-Identifier: Apache-2.0
"""Verilator has no warnings for any module of rtl/."""

import shutil
import subprocess
from pathlib import Path

import pytest

from syn.sources import all_sources

FPGA = Path(__file__).resolve().parent
MODULES = all_sources(FPGA / "rtl")


def lint(module: str, sources: list[Path]) -> subprocess.CompletedProcess[str]:
    verilator = shutil.which("verilator")
    assert verilator is not None, "verilator is missing: apt-get install verilator"
    command = [verilator, "--lint-only", "-Wall", "--top-module", module, f"-I{FPGA / 'rtl' / 'generated'}"]
    return subprocess.run(
        [*command, str(FPGA / "lint.vlt"), *map(str, sources)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.mark.parametrize("module", MODULES)
def test_lint(module: str) -> None:
    done = lint(module, MODULES[module].modules)
    assert done.returncode == 0, done.stdout


def test_every_source_is_in_a_list() -> None:
    listed = {path for sources in MODULES.values() for path in sources.modules}
    assert set((FPGA / "rtl").glob("*/*.sv")) == listed


def test_a_warning_fails(tmp_path: Path) -> None:
    (tmp_path / "narrow.sv").write_text("module narrow(input wire [1:0] a, output wire b); assign b = a; endmodule\n")
    done = lint("narrow", [tmp_path / "narrow.sv"])
    assert done.returncode != 0 and "Warning-WIDTH" in done.stdout
