# SPDX-License-Identifier: Apache-2.0
"""Run a cocotb bench against RTL on Icarus, for a pytest test."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from cocotb_tools.runner import get_results, get_runner

FPGA = Path(__file__).resolve().parents[2]
RTL = FPGA / "rtl"


def simulate(top: str, folders: Sequence[str], bench: str, parameters: Mapping[str, int] | None = None) -> None:
    """Build `top` from every .sv file in the folders of rtl/ and run all tests of the module `bench`.

    `bench` is a module path below fpga/, e.g. "tb.shell.bench_shell"; if one of its tests fails, the caller fails.
    """
    sources = [path for folder in folders for path in sorted((RTL / folder).glob("*.sv"))]
    build = FPGA / "build" / "sim" / bench.rsplit(".", 1)[-1]
    runner = get_runner("icarus")
    runner.build(
        sources=sources,
        hdl_toplevel=top,
        includes=[RTL / "generated"],
        parameters=dict(parameters or {}),
        build_args=["-g2012"],
        build_dir=build,
        timescale=("1ns", "1ps"),
        always=True,
    )
    results = runner.test(
        hdl_toplevel=top,
        test_module=bench,
        build_dir=build,
        test_dir=build,
        results_xml=str(build / "results.xml"),
        timescale=("1ns", "1ps"),
        extra_env={
            "PYTHONPATH": os.pathsep.join([str(FPGA), os.environ.get("PYTHONPATH", "")]),
            "COCOTB_LOG_LEVEL": "WARNING",
        },
    )
    tests, failed = get_results(results)
    assert tests > 0, f"{bench} has no tests"
    assert failed == 0, f"{failed} of {tests} tests of {bench} failed"
