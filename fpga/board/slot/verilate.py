# SPDX-License-Identifier: Apache-2.0
"""Verilate and compile one module: a slot module to a shared object, the shell to an archive.

Run by the build system; the dependency file lists every source, so that a change of RTL rebuilds only what it affects.
"""

import argparse
import hashlib
import shlex
import subprocess
from pathlib import Path

VERILATE = ["--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--no-timing", "--no-assert", "-Wno-lint"]
COMPILE = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-w", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0"]
SHARED = ["-shared", "-fno-gnu-unique", "-s", "-Wl,-Bsymbolic"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", required=True, help="module; every file has the name of its module")
    parser.add_argument("--model", required=True, help="name of the C++ class, without V")
    parser.add_argument("--search", action="append", type=Path, required=True, help="directory of sources")
    parser.add_argument("--parameter", action="append", default=[], help="parameter of the top module, as NAME=VALUE")
    parser.add_argument("--uuid-parameter", help="parameter of the top module that gets the UUID")
    parser.add_argument("--wrap", type=Path, required=True, help="C++ file that is compiled with the model")
    parser.add_argument("--define", action="append", default=[], help="for the C++ compiler")
    parser.add_argument("--verilator", required=True)
    parser.add_argument("--include", action="append", type=Path, required=True, help="for the C++ compiler")
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--archive", action="store_true", help="an archive for the board, not a shared object")
    parser.add_argument("--public", type=Path, help="Verilator configuration")
    parser.add_argument("--version-script", type=Path)
    parser.add_argument("--runtime", type=Path, help="Verilator's run-time archive, for a shared object")
    parser.add_argument("--work", type=Path, required=True, help="directory for generated C++")
    parser.add_argument("--depfile", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    return parser.parse_args()


def verilate(a: argparse.Namespace, work: Path, parameters: list[str]) -> list[Path]:
    """Generate the C++ and return the sources that it came from."""
    for stale in work.glob("*.cpp"):
        stale.unlink()
    search = [flag for directory in a.search for flag in ("-y", str(directory), f"-I{directory}")]
    subprocess.run(
        [a.verilator, *VERILATE, "--prefix", f"V{a.model}", "--top-module", a.top, "--Mdir", str(work), *search]
        + [f"-G{parameter}" for parameter in parameters]
        + ([str(a.public)] if a.public else [])
        + [f"{a.top}.sv"],
        check=True,
    )
    used = (work / f"V{a.model}__ver.d").read_text().partition(" : ")[2].split()
    return sorted({Path(name).resolve() for name in used if name.endswith((".sv", ".svh", ".v"))})


def uuid_of(sources: list[Path], parameters: list[str]) -> bytes:
    """A version 8 UUID (RFC 9562 5.8) of the contents alone: the same on every machine."""
    whole = hashlib.sha256(" ".join(sorted(parameters)).encode())
    for source in sorted(sources, key=lambda path: path.name):
        whole.update(source.name.encode() + b"\0" + hashlib.sha256(source.read_bytes()).digest())
    value = bytearray(whole.digest()[:16])
    value[6] = (value[6] & 0x0F) | 0x80
    value[8] = (value[8] & 0x3F) | 0x80
    return bytes(value)


def compile_model(a: argparse.Namespace, work: Path, uuid: bytes) -> None:
    unity = work / "unity.cc"
    parts = [
        f"V{a.model}.h",
        f"V{a.model}___024root.h",
        "verilated.h",
        *sorted(path.name for path in work.glob("*.cpp")),
        str(a.wrap.resolve()),
    ]
    unity.write_text("".join(f'#include "{part}"\n' for part in parts))
    defines = [*a.define, f"MODEL=V{a.model}", f"MODEL_UUID={{{','.join(map(str, uuid))}}}"]
    command = [*shlex.split(a.cxx), *COMPILE, *(f"-D{define}" for define in defines)]
    command += [f"-I{directory}" for directory in (work, a.wrap.resolve().parent, *a.include)]
    fresh = a.output.with_name(a.output.name + ".new")
    fresh.unlink(missing_ok=True)
    if a.archive:
        unit = work / "unity.o"
        subprocess.run([*command, "-c", str(unity), "-o", str(unit)], check=True)
        subprocess.run(["ar", "rcs", str(fresh), str(unit)], check=True)
    else:
        link = [*SHARED, f"-Wl,--version-script={a.version_script}", str(unity), str(a.runtime), "-lpthread"]
        subprocess.run([*command, *link, "-o", str(fresh)], check=True)
    # A board that has the old file loaded keeps it: the new one is a different file.
    fresh.rename(a.output)


def main() -> None:
    a = arguments()
    work = a.work / f"{a.model}.v"
    work.mkdir(parents=True, exist_ok=True)
    sources = verilate(a, work, a.parameter)
    uuid = uuid_of(sources, a.parameter)
    if a.uuid_parameter:
        verilate(a, work, [*a.parameter, f"{a.uuid_parameter}=128'h{uuid.hex()}"])
    compile_model(a, work, uuid)
    names = " ".join(str(path).replace(" ", "\\ ") for path in sources)
    a.depfile.write_text(f"{a.output}: {names}\n")


if __name__ == "__main__":
    main()
