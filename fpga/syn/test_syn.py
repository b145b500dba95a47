# SPDX-License-Identifier: Apache-2.0
"""The gate on the committed results, on a tree of its own and on the real one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from syn.flow import cyclonev_resources, ecp5_resources, xc7_resources
from syn.gate import table
from syn.sources import SourceError, all_sources, read_sources

FPGA = Path(__file__).resolve().parent.parent


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """One module of 80 MHz, one board of 50 MHz."""
    for folder in ("rtl/common", "rtl/nf_a", "syn/results", "board/profiles"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "rtl/common/fifo.sv").write_text("module fifo; endmodule\n")
    (tmp_path / "rtl/nf_a/nf_a.sv").write_text("module nf_a; endmodule\n")
    (tmp_path / "rtl/nf_a/nf_a.f").write_text("../common/fifo.sv // one\n\n../common/fifo.sv\nnf_a.sv\n")
    write_board(tmp_path, "ecp5", 50)
    write_result(tmp_path, 80.0)
    return tmp_path


def write_board(tree: Path, family: str, clock_mhz: float) -> None:
    profile = {"name": family, "family": family, "clock_mhz": clock_mhz}
    (tree / "board/profiles" / f"{family}.json").write_text(json.dumps(profile))


def write_result(tree: Path, fmax: float) -> None:
    counts = dict.fromkeys(("lut4", "ff", "ebr", "dsp", "lut", "bram18", "alm", "m10k"), 7)
    result = {
        "module": "nf_a",
        "source_sha256": all_sources(tree / "rtl")["nf_a"].sha256(),
        "ecp5": {**counts, "fmax_mhz": {"speed6": fmax, "speed8": fmax + 20}},
        "xc7": counts,
        "cyclonev": counts,
    }
    (tree / "syn/results/nf_a.json").write_text(json.dumps(result))


def check(tree: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FPGA / "syn" / "run.py"), "--check", "--fpga", str(tree)]
    return subprocess.run(command, text=True, capture_output=True)


def test_results_that_are_new_and_fast_enough_pass(tree: Path) -> None:
    done = check(tree)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("path", ["rtl/common/fifo.sv", "rtl/nf_a/nf_a.sv"])
def test_changed_rtl_makes_a_result_stale(tree: Path, path: str) -> None:
    (tree / path).write_text("module other; endmodule\n")
    done = check(tree)
    assert done.returncode == 1
    assert done.stderr == "nf_a: the RTL has changed since its result, run run.py nf_a\n"


def test_a_missing_result_fails(tree: Path) -> None:
    (tree / "syn/results/nf_a.json").unlink()
    done = check(tree)
    assert done.returncode == 1 and done.stderr == "nf_a: no result, run run.py nf_a\n"


def test_a_result_without_module_fails(tree: Path) -> None:
    (tree / "rtl/nf_a/nf_a.f").unlink()
    done = check(tree)
    assert done.returncode == 1 and "nf_a: no such module" in done.stderr


def test_a_module_that_is_too_slow_for_an_ecp5_board_fails(tree: Path) -> None:
    write_board(tree, "ecp5", 80.5)
    done = check(tree)
    assert done.returncode == 1
    assert done.stderr == "nf_a: 80.0 MHz, below the 80.5 MHz of board ecp5\n"


def test_for_other_families_the_ecp5_rate_is_evidence_only(tree: Path) -> None:
    write_board(tree, "stratixv", 100)
    done = check(tree)
    assert done.returncode == 0
    assert "stratixv (stratixv) declares 100 MHz; evidence only" in done.stdout and "80.0 MHz at grade 6" in done.stdout


def test_a_list_that_names_no_file_is_refused(tree: Path) -> None:
    (tree / "rtl/nf_a/nf_a.f").write_text("absent.sv\n")
    with pytest.raises(SourceError, match=r"nf_a\.f: absent\.sv does not exist"):
        read_sources(tree / "rtl/nf_a/nf_a.f")
    assert check(tree).returncode == 1


def test_the_hash_does_not_depend_on_order_or_repeats(tree: Path) -> None:
    before = read_sources(tree / "rtl/nf_a/nf_a.f")
    (tree / "rtl/nf_a/nf_a.f").write_text("nf_a.sv\n../common/fifo.sv\n")
    assert len(before.files) == 2
    assert read_sources(tree / "rtl/nf_a/nf_a.f").sha256() == before.sha256()


def test_missing_tools_are_named_with_a_way_to_get_them(tree: Path) -> None:
    command = [sys.executable, str(FPGA / "syn" / "run.py"), "nf_a", "--fpga", str(tree)]
    done = subprocess.run(command, text=True, capture_output=True, env={"PATH": ""})
    assert done.returncode == 1 and done.stderr == "yosys is missing: apt-get install yosys\n"


def test_resources_from_cells() -> None:
    xc7 = {"LUT6": 5, "LUT2": 3, "INV": 1, "FDRE": 4, "FDSE": 2, "RAMB36E1": 2, "RAMB18E1": 1, "RAM32M": 2, "CARRY4": 9}
    assert xc7_resources(xc7) == {"lut": 17, "ff": 6, "bram18": 5, "dsp": 0}
    alm = {"MISTRAL_ALUT6": 4, "MISTRAL_ALUT3": 4, "MISTRAL_ALUT_ARITH": 3, "MISTRAL_FF": 8, "MISTRAL_M10K": 1}
    assert cyclonev_resources(alm) == {"alm": 8, "ff": 8, "m10k": 1, "dsp": 0}
    used = {name: {"used": n} for n, name in enumerate(("TRELLIS_COMB", "TRELLIS_FF", "DP16KD", "MULT18X18D"))}
    reports = {
        speed: {"utilization": used, "fmax": {"clk": {"achieved": 90.04 + speed}, "other": {"achieved": 200.0}}}
        for speed in (6, 8)
    }
    assert ecp5_resources(reports)["fmax_mhz"] == {"speed6": 96.0, "speed8": 98.0}


def test_the_table_has_a_line_for_each_module(tree: Path) -> None:
    results = {"nf_a": json.loads((tree / "syn/results/nf_a.json").read_text())}
    line = table(results).splitlines()[-1]
    assert line == "| `nf_a` | 7 / 7 / 7 / 7 | 80.0 / 100.0 | 7 / 7 / 7 / 7 | 7 / 7 / 7 / 7 |"
