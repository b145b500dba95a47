import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../setup/paths.mjs';
import { p4runtimeProtos } from '../setup/python.mjs';

const RTL = ['common', 'generated', 'shell', 'nf_elephant_detector'];

/** Verilates a module; returns the directory of its headers and the flags with which a file over the model is compiled. */
function verilated(model, top, directory, flags) {
  const out = join(directory, model);
  const search = RTL.flatMap((each) => ['-y', `fpga/rtl/${each}`, `-Ifpga/rtl/${each}`]);
  execFileSync(
    'verilator',
    [
      '--cc',
      '--no-timing',
      '-Wno-lint',
      '--prefix',
      model,
      '--top-module',
      top,
      '--Mdir',
      out,
      ...search,
      ...flags,
      `${top}.sv`,
    ],
    { cwd: ROOT },
  );
  const root = join(execFileSync('verilator', ['--getenv', 'VERILATOR_ROOT'], { encoding: 'utf8' }).trim(), 'include');
  const system = [root, join(root, 'vltstd'), out].flatMap((each) => ['-isystem', each]);
  const headers = [`${model}.h`, `${model}___024root.h`, 'verilated.h'].flatMap((each) => ['-include', each]);
  return {
    headers: readdirSync(out)
      .filter((name) => name.endsWith('.h'))
      .sort()
      .map((name) => readFileSync(join(out, name), 'utf8')),
    flags: [...system, ...headers, `-DMODEL=${model}`, '-DMODEL_UUID={}'],
  };
}

/**
 * Makes the headers that the builds generate and that our C++ includes. The files over a Verilated model are checked with
 * one model each: the shell of two slots, and a slot module that counts time.
 */
export function generate(directory) {
  mkdirSync(directory, { recursive: true });
  execFileSync('python3', [
    join(ROOT, 'agents/nfs/sqli-detector/patterns_header.py'),
    join(ROOT, 'fpga/rtl/nf_sqli_detector/patterns.txt'),
    join(directory, 'sqli_patterns.h'),
  ]);
  const p4runtime = join(directory, 'p4runtime');
  mkdirSync(p4runtime, { recursive: true });
  execFileSync('python3', [
    join(ROOT, 'agents/p4/service/generate.py'),
    '/usr/bin/protoc',
    '/usr/bin/grpc_cpp_plugin',
    p4runtimeProtos(),
    p4runtime,
  ]);
  const shell = verilated('Vshell', 'nf_shell', directory, ['-GSLOTS=2']);
  const slot = verilated('Vslot', 'nf_elephant_detector', directory, ['fpga/board/slot/time.vlt']);
  return {
    'fpga/board/sim/shell_wrap.cc': {
      ...shell,
      flags: [...shell.flags, '-DSHELL_TABLE=shell', '-DSHELL_SLOTS=2', '-DSHELL_CLOCK_MHZ=100'],
    },
    'fpga/board/slot/slot_wrap.cc': {
      ...slot,
      flags: [
        ...slot.flags,
        '-DSLOT_NAME="nf_elephant_detector"',
        '-DSLOT_MICROSECONDS=nf_elephant_detector__DOT__u_time__DOT__us',
      ],
    },
  };
}
