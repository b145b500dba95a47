# SPDX-License-Identifier: Apache-2.0
"""Measure resources and clock rates of the modules with open tools, in results/<module>.json.

run.py [MODULE...]   measures these modules, by default those whose result is missing or stale
run.py --check       fails if a result is stale, or too slow for an ECP5 board; needs no tools
run.py --table       prints the results as Markdown
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

FPGA = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(FPGA))
from syn.flow import ToolError, find_tools, measure  # noqa: E402
from syn.gate import faults, notes, read_boards, read_results, table  # noqa: E402
from syn.sources import SourceError, Sources, all_sources  # noqa: E402


def _check(sources: dict[str, Sources], fpga: Path) -> int:
    results = read_results(fpga / "syn" / "results")
    boards = read_boards(fpga / "board" / "profiles")
    for note in notes(results, boards):
        print(note)
    found = list(faults(sources, results, boards))
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


def _is_stale(source: Sources, results: Path) -> bool:
    path = results / f"{source.module}.json"
    return not path.is_file() or json.loads(path.read_text())["source_sha256"] != source.sha256()


def _measure(sources: dict[str, Sources], modules: list[str], results: Path) -> int:
    unknown = sorted(set(modules) - sources.keys())
    if unknown:
        print(f"no module {', '.join(unknown)}; known modules: {', '.join(sources)}", file=sys.stderr)
        return 2
    tools = find_tools()
    for module in modules or [name for name, source in sources.items() if _is_stale(source, results)]:
        result = measure(tools, sources[module])
        (results / f"{module}.json").write_text(json.dumps(result, indent=2) + "\n")
        print(f"{module}: {result['ecp5']['fmax_mhz']['speed6']} MHz on ECP5 -6", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--fpga", type=Path, default=FPGA, help=argparse.SUPPRESS)
    options = parser.parse_args()
    results = options.fpga / "syn" / "results"
    try:
        if options.table:
            print(table(read_results(results)), end="")
            return 0
        sources = all_sources(options.fpga / "rtl")
        if options.check:
            return _check(sources, options.fpga)
        return _measure(sources, options.modules, results)
    except (SourceError, ToolError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
