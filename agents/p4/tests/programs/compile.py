#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the programs here: compile.py [NAME...], with ORRERY_P4C naming p4c-bm2-ss. P4Info is made where it is there.

Of where things are in the source only the text of conditions is kept; the source's hash tells a test which JSON is stale.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def without_places(value, name=None):
    if isinstance(value, dict):
        kept = {}
        for key, each in value.items():
            if key == 'source_info':
                if name == 'conditionals':
                    kept[key] = {'source_fragment': each.get('source_fragment', '')}
            else:
                kept[key] = without_places(each, key)
        return kept
    if isinstance(value, list):
        return [without_places(each, name) for each in value]
    return value


def compile_program(name: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        out = pathlib.Path(directory) / 'out.json'
        command = [os.environ['ORRERY_P4C'], '--std', 'p4-16', f'{name}.p4', '-o', str(out)]
        p4info = HERE / f'{name}.p4info.txtpb'
        if p4info.exists():
            command += ['--p4runtime-files', str(p4info)]
        subprocess.run(command, cwd=HERE, check=True)
        program = without_places(json.loads(out.read_text()))
    program['program'] = f'{name}.p4'
    program['__meta__']['source_fnv1a'] = f'0x{fnv1a((HERE / f"{name}.p4").read_bytes()):016x}'
    (HERE / f'{name}.json').write_text(json.dumps(program, separators=(',', ':')) + '\n')


for each in sys.argv[1:] or sorted(path.stem for path in HERE.glob('*.p4')):
    compile_program(each)
