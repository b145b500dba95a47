# SPDX-License-Identifier: Apache-2.0
"""The generated files are up to date, and inconsistent descriptions are refused."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FPGA = Path(__file__).resolve().parents[1]
TYPESCRIPT = FPGA.parent / "agents" / "node" / "src" / "drivers" / "board" / "registers.ts"


def generate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, FPGA / "regs" / "generate.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the descriptions and the generated files, to modify."""
    for folder in ("regs", "rtl/generated", "docs"):
        shutil.copytree(FPGA / folder, tmp_path / folder)
    return tmp_path


def test_outputs_are_up_to_date() -> None:
    typescript: list[str | Path] = ["--typescript", TYPESCRIPT] if TYPESCRIPT.exists() else []
    result = generate("--check", *typescript)
    assert result.returncode == 0, result.stderr


def test_check_finds_a_stale_file(copy: Path) -> None:
    assert generate("--check", "--fpga", copy).returncode == 0
    yaml = copy / "regs" / "nf_stateful_firewall.yaml"
    yaml.write_text(yaml.read_text().replace("address: 0x084", "address: 0x094"))
    result = generate("--check", "--fpga", copy)
    assert result.returncode == 1
    assert "nf_stateful_firewall_regs.svh: stale" in result.stderr and "registers.md: stale" in result.stderr
    assert generate("--fpga", copy).returncode == 0
    assert generate("--check", "--fpga", copy).returncode == 0


def test_typescript(copy: Path) -> None:
    path = copy / "registers.ts"
    assert generate("--fpga", copy, "--typescript", path).returncode == 0
    text = path.read_text()
    assert "  nf_stateful_firewall: {\n    title: 'Stateful firewall',\n    id: 0x53465731," in text
    assert "      IDLE_TIMEOUT_S: { address: 0x084 }," in text
    path.write_text(text + " ")
    assert "registers.ts: stale" in generate("--check", "--fpga", copy, "--typescript", path).stderr


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        ("address: 0x084", "address: 0x080", "IDLE_TIMEOUT_S: 0x080 belongs to DEFAULT_ACTION"),
        ("address: 0x084", "address: 0x07c", "IDLE_TIMEOUT_S: addresses below 0x080"),
        ("address: 0x084", "address: 0x085", "IDLE_TIMEOUT_S: address and stride"),
        ("access: wo", "access: w", "access must be ro, rw or wo"),
        ("id: SFW1", "id: SFW", "id must be four"),
        ("version: 1.1.0", "version: one", "version must be"),
        ('bits: "1:0"', 'bits: "2:0"', "STATE_TABLE.DROP: bits overlap"),
        ("module: nf_stateful_firewall", "module: nf_other", "module must be nf_stateful_firewall"),
        ("title:", "titel:", "title is missing"),
    ],
)
def test_contradictions_are_refused(copy: Path, before: str, after: str, complaint: str) -> None:
    yaml = copy / "regs" / "nf_stateful_firewall.yaml"
    assert before in yaml.read_text()
    yaml.write_text(yaml.read_text().replace(before, after))
    result = generate("--check", "--fpga", copy)
    assert result.returncode == 1
    assert "nf_stateful_firewall.yaml" in result.stderr and complaint in result.stderr
