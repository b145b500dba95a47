# SPDX-License-Identifier: Apache-2.0
"""Verilates one module and compiles it: a slot module into a shared object, the shell into an archive.

The build system runs it; the dependency file that it writes names every source, so a change of RTL rebuilds just this.
"""

import argparse
import hashlib
import shlex
import subprocess
from pathlib import Path

VERILATE = ['--cc', '-O3', '--x-assign', 'fast', '--x-initial', 'fast', '--no-timing', '--no-assert', '-Wno-fatal']
COMPILE = ['-std=c++20', '-O2', '-fPIC', '-fvisibility=hidden', '-w', '-DVM_COVERAGE=0', '-DVM_SC=0', '-DVM_TRACE=0']
SHARED = ['-shared', '-fno-gnu-unique', '-s', '-Wl,-Bsymbolic']


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--top', required=True)
    parser.add_argument('--list', type=Path, required=True, help='file list; paths are relative to its directory')
    parser.add_argument('--wrap', type=Path, required=True, help='C++ file that is compiled with the model')
    parser.add_argument('--verilator', required=True)
    parser.add_argument('--include', type=Path, required=True, help="Verilator's own headers")
    parser.add_argument('--cxx', required=True)
    parser.add_argument('--depfile', type=Path, required=True)
    parser.add_argument('--work', type=Path, required=True, help='directory for generated C++')
    parser.add_argument('--output', type=Path, required=True)
    parser.add_argument('--define', action='append', default=[], help='for the C++ compiler')
    parser.add_argument('--parameter', action='append', default=[], help='of the top module, as -GNAME=VALUE')
    parser.add_argument('--archive', action='store_true', help='an archive for the board, not a shared object')
    parser.add_argument('--version-script', type=Path)
    parser.add_argument('--runtime', type=Path, help="Verilator's run-time archive, for a shared object")
    return parser.parse_args()


def sources(file_list: Path, seen: set[Path]) -> list[Path]:
    """The files of a list and of the lists it includes with -f, each once, in order."""
    found = []
    for token in shlex.split(file_list.read_text(), comments=True):
        if token == '-f' or token.startswith('+incdir'):
            continue
        path = (file_list.parent / token).resolve()
        if path in seen:
            continue
        seen.add(path)
        found += sources(path, seen) if path.suffix == '.f' else [path]
    return found


def digest(files: list[Path], parameters: list[str]) -> str:
    """Of the contents alone: the same on every machine."""
    whole = hashlib.sha256(' '.join(sorted(parameters)).encode())
    for file in files:
        whole.update(file.name.encode() + b'\0' + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def uuid_bytes(hex_digest: str) -> str:
    """A version 8 UUID (RFC 9562 5.8) as a C initialiser."""
    value = bytearray.fromhex(hex_digest[:32])
    value[6] = (value[6] & 0x0F) | 0x80
    value[8] = (value[8] & 0x3F) | 0x80
    return '{' + ','.join(str(byte) for byte in value) + '}'


def main() -> None:
    a = arguments()
    lists: set[Path] = set()
    files = sources(a.list.resolve(), lists)
    work = a.work / f'{a.top}.v'
    work.mkdir(parents=True, exist_ok=True)
    for stale in work.glob('*.cpp'):
        stale.unlink()
    incdirs = sorted({f'+incdir+{file.parent}' for file in files})
    model = f'V{a.top}'
    subprocess.run(
        [a.verilator, *VERILATE, '--prefix', model, '--top-module', a.top, '--Mdir', str(work), *incdirs]
        + [f'-G{parameter}' for parameter in a.parameter]
        + [str(file) for file in files if file.suffix in ('.v', '.sv')],
        check=True,
    )
    unity = work / 'unity.cc'
    parts = [f'{model}.h', 'verilated.h', *sorted(path.name for path in work.glob('*.cpp')), str(a.wrap.resolve())]
    unity.write_text(''.join(f'#include "{part}"\n' for part in parts))
    defines = [f'-D{d}' for d in a.define] + [f'-DSLOT_MODEL={model}', f'-DSLOT_UUID={uuid_bytes(digest(files, a.parameter))}']
    command = [*shlex.split(a.cxx), *COMPILE, *defines, f'-I{work}', f'-I{a.wrap.resolve().parent}', f'-isystem{a.include}']
    fresh = a.output.with_name(a.output.name + '.new')
    if a.archive:
        unit = work / 'unity.o'
        subprocess.run([*command, '-c', str(unity), '-o', str(unit)], check=True)
        fresh.unlink(missing_ok=True)
        subprocess.run(['ar', 'rcs', str(fresh), str(unit)], check=True)
    else:
        link = [*SHARED, f'-Wl,--version-script={a.version_script}', str(unity), str(a.runtime), '-o', str(fresh), '-lpthread']
        subprocess.run([*command, *link], check=True)
    # A board that has the old file loaded keeps it: the new one is another file.
    fresh.rename(a.output)
    names = ' '.join(str(path).replace(' ', '\\ ') for path in sorted({*lists, a.wrap.resolve()}))
    a.depfile.write_text(f'{a.output}: {names}\n')


if __name__ == '__main__':
    main()
