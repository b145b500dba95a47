# SPDX-License-Identifier: Apache-2.0
"""Generate the RTL's constants, the agent's constants and docs/registers.md from the register descriptions.

Usage: python fpga/regs/generate.py [--check] [--typescript PATH]
With --check nothing is written; if output differs, stale files are listed and the exit status is 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from description import Description, DescriptionError, Register, read_common, read_description

FPGA = Path(__file__).resolve().parent.parent
MARK = "Made by fpga/regs/generate.py: do not edit."


def _rtl_constants(prefix: str, register: Register) -> Iterator[str]:
    name = f"{prefix}{register.name}"
    yield f"localparam logic [15:0] {name} = 16'h{register.address:04x};"
    if register.count > 1:
        yield f"localparam int {name}_COUNT = {register.count};"
    if register.reset:
        yield f"localparam logic [31:0] {name}_RESET = 32'h{register.reset:08x};"


def rtl(name: str, registers: tuple[Register, ...], module: Description | None) -> str:
    lines = ["// SPDX-License-Identifier: Apache-2.0", f"// {MARK}", "/* verilator lint_off UNUSEDPARAM */"]
    if module is not None:
        lines += [
            f"localparam logic [31:0] MODULE_ID = 32'h{module.id_word:08x};  // {module.id}",
            f"localparam logic [31:0] MODULE_VERSION = 32'h{module.version_word:08x};",
        ]
        lines += [f"localparam int DROP_{drop.upper().replace('-', '_')} = {n};" for n, drop in enumerate(module.drops)]
        lines += [
            f"localparam logic [31:0] EVENT_{event.upper().replace('-', '_')} = 32'd{number};"
            for event, (number, _) in module.events.items()
        ]
    prefix = "CSR_" if name == "common" else "REG_"
    for register in registers:
        lines += _rtl_constants(prefix, register)
    return "\n".join([*lines, "/* verilator lint_on UNUSEDPARAM */", ""])


def _quoted(values: tuple[str, ...]) -> str:
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"


def _ts_register(register: Register, indent: str) -> Iterator[str]:
    parts = [f"address: 0x{register.address:03x}"]
    if register.count > 1:
        parts += [f"count: {register.count}", f"stride: {register.stride}"]
    if register.fields:
        inner = ", ".join(f"{f.name}: {{ shift: {f.low}, width: {f.high - f.low + 1} }}" for f in register.fields)
        parts.append(f"fields: {{ {inner} }}")
    line = f"{indent}{register.name}: {{ {', '.join(parts)} }},"
    if len(line) <= 120:
        yield line
        return
    yield f"{indent}{register.name}: {{"
    for part in parts:
        if part.startswith("fields"):
            yield f"{indent}  fields: {{"
            for f in register.fields:
                yield f"{indent}    {f.name}: {{ shift: {f.low}, width: {f.high - f.low + 1} }},"
            yield f"{indent}  }},"
        else:
            yield f"{indent}  {part},"
    yield f"{indent}}},"


def _ts_list(name: str, values: tuple[str, ...], indent: str) -> Iterator[str]:
    line = f"{indent}{name}: {_quoted(values)},"
    if len(line) <= 120:
        yield line
        return
    yield f"{indent}{name}: ["
    for value in values:
        yield f"{indent}  '{value}',"
    yield f"{indent}],"


def _ts_events(module: Description) -> Iterator[str]:
    if not module.events:
        yield "    events: {},"
        return
    yield "    events: {"
    for event, (number, words) in module.events.items():
        line = (
            f"      '{event}': {{ type: {number}, words: {_quoted(words)} }},"
            if "-" in event
            else (f"      {event}: {{ type: {number}, words: {_quoted(words)} }},")
        )
        if len(line) <= 120:
            yield line
            continue
        yield f"      '{event}': {{" if "-" in event else f"      {event}: {{"
        yield f"        type: {number},"
        yield from _ts_list("words", words, "        ")
        yield "      },"
    yield "    },"


def typescript(common: tuple[Register, ...], modules: list[Description]) -> str:
    lines = ["// SPDX-License-Identifier: Apache-2.0", f"// {MARK}", "", "export const COMMON_REGISTERS = {"]
    for register in common:
        lines += _ts_register(register, "  ")
    lines += ["} as const;", "", "export const BOARD_MODULES = {"]
    for module in modules:
        lines += [
            f"  {module.name}: {{",
            f"    title: '{module.title}',",
            f"    id: 0x{module.id_word:08x},",
            f"    version: '{'.'.join(map(str, module.version))}',",
        ]
        lines += _ts_list("drops", module.drops, "    ")
        lines += _ts_list("entry", module.entry, "    ")
        lines += _ts_events(module)
        if module.registers:
            lines.append("    registers: {")
            for register in module.registers:
                lines += _ts_register(register, "      ")
            lines.append("    },")
        else:
            lines.append("    registers: {},")
        lines.append("  },")
    return "\n".join([*lines, "} as const;", ""])


def _table(registers: tuple[Register, ...]) -> Iterator[str]:
    yield "| address | name | access | reset | meaning |"
    yield "|---|---|---|---|---|"
    for register in registers:
        address = f"0x{register.address:03x}"
        name = f"`{register.name}`"
        if register.count > 1:
            address += f" .. 0x{register.end - 4:03x}"
            name = f"`{register.name}_0` .. `_{register.count - 1}`"
            if register.stride != 4:
                address += f", every 0x{register.stride:x}"
        meaning = [register.text] if register.text else []
        meaning += [f"{f.bits} `{f.name}`" + (f": {f.text}" if f.text else "") for f in register.fields]
        reset = f"0x{register.reset:x}" if register.reset else "0"
        yield f"| {address} | {name} | {register.access} | {reset} | {'; '.join(meaning)} |"


def document(common: tuple[Register, ...], modules: list[Description]) -> str:
    lines = [f"<!-- {MARK} -->", "# Registers", "", "## Every slot module", "", *_table(common)]
    for module in modules:
        lines += ["", f"## {module.title}: `{module.name}`", ""]
        lines.append(f"`ID` {module.id}, version {'.'.join(map(str, module.version))}.")
        if module.drops:
            lines += ["", "Drops: " + ", ".join(f"{n} `{drop}`" for n, drop in enumerate(module.drops)) + "."]
        if module.registers:
            lines += ["", *_table(module.registers)]
        if module.entry:
            lines += [
                "",
                "Table entry, by word: " + "; ".join(f"{n} {word}" for n, word in enumerate(module.entry)) + ".",
            ]
        for event, (number, words) in module.events.items():
            fields = "; ".join(f"{n} {word}" for n, word in enumerate(words, 1))
            lines += ["", f"Event {number} `{event}`, by word: {fields}."]
    return "\n".join([*lines, ""])


def outputs(fpga: Path, typescript_path: Path | None) -> dict[Path, str]:
    """Return every generated file with its text."""
    common = read_common(fpga / "regs" / "common.yaml")
    paths = sorted(path for path in (fpga / "regs").glob("*.yaml") if path.stem != "common")
    modules = [read_description(path, common) for path in paths]
    generated = fpga / "rtl" / "generated"
    files = {generated / "common_regs.svh": rtl("common", common, None)}
    for module in modules:
        files[generated / f"{module.name}_regs.svh"] = rtl(module.name, module.registers, module)
    files[fpga / "docs" / "registers.md"] = document(common, modules)
    if typescript_path is not None:
        files[typescript_path] = typescript(common, modules)
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    parser.add_argument("--typescript", type=Path, help="output file of the agent's constants")
    parser.add_argument("--fpga", type=Path, default=FPGA, help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        files = outputs(options.fpga, options.typescript)
    except DescriptionError as error:
        print(error, file=sys.stderr)
        return 1
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text() != text]
    if options.check:
        for path in stale:
            print(f"{path}: stale, run fpga/regs/generate.py", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
