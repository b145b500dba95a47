// Runs clang-tidy over all C++ of agents, boards and linkd, and remembers what was found clean: files are checked again when
// they, a header that they include, or the configuration have changed. See docs/decisions/0028-clang-tidy.md.
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { generate } from './cpp-lint/generated.mjs';
import { closureOf, groupsOf } from './cpp-lint/translation-units.mjs';
import { ROOT, VENV } from './setup/paths.mjs';

const TIDY = join(VENV, 'bin/clang-tidy');
const JOBS = 2;
const CACHE = join(ROOT, 'node_modules/.cache/cpp-lint');
const GENERATED = join(CACHE, 'generated');
const INCLUDE_DIRS = ['agents', 'agents/engine', 'fpga', 'twin', GENERATED];
const SYSTEM_DIRS = [
  '/usr/include/dpdk',
  '/usr/include/x86_64-linux-gnu/dpdk',
  '/usr/include/hs',
  join(GENERATED, 'p4runtime/messages'),
];
// Paths that the builds define: their values do not matter here.
const PATHS = [
  'NFS_SOURCE_DIR',
  'NF_REPLAY',
  'CONTAINER_NF',
  'P4_PROGRAMS',
  'PROFILES',
  'LIBRARY',
  'TICK_SENDER',
  'PLANNED_FORMS',
];
const at = (path) => (isAbsolute(path) ? path : join(ROOT, path));
const FLAGS = [
  '-std=c++20',
  '-march=native',
  ...INCLUDE_DIRS.map((dir) => `-I${at(dir)}`),
  ...SYSTEM_DIRS.flatMap((dir) => ['-isystem', dir]),
  ...PATHS.map((name) => `-D${name}=""`),
  '-DSHELL_TABLES= X(shell)',
];
// What a test allocates does not matter.
const NOT_IN_TESTS = '--checks=-performance-inefficient-vector-operation,-performance-inefficient-string-concatenation';

const texts = new Map();
function textOf(path) {
  if (!texts.has(path)) texts.set(path, readFileSync(at(path), 'utf8'));
  return texts.get(path);
}

/** What is given to clang-tidy for a group, and the file that remembers that it was clean. */
function unitOf({ paths, tests }, overModel, configuration) {
  const model = overModel[paths[0]];
  const flags = [...FLAGS, ...(model?.flags ?? [])];
  const text = `// NOLINTBEGIN(bugprone-suspicious-include): a group is made of its files.
${paths.map((path) => `#include "${at(path)}"\n`).join('')}// NOLINTEND(bugprone-suspicious-include)\n`;
  const hash = createHash('sha256').update(JSON.stringify([configuration, tests, flags, model?.headers, text]));
  for (const path of closureOf(paths, INCLUDE_DIRS, textOf, (each) => existsSync(at(each)))) hash.update(textOf(path));
  const name = hash.digest('hex');
  return { paths, tests, flags, text, source: join(CACHE, `${name}.cc`), mark: join(CACHE, name) };
}

async function check({ tests, flags, text, source, mark }) {
  writeFileSync(source, text);
  const options = ['--quiet', `--config-file=${at('.clang-tidy')}`, ...(tests ? [NOT_IN_TESTS] : [])];
  try {
    await promisify(execFile)(TIDY, [...options, source, '--', ...flags], { cwd: ROOT, maxBuffer: 1 << 26 });
    writeFileSync(mark, '');
    return true;
  } catch (error) {
    process.stdout.write(`${error.stdout ?? ''}${error.stdout ? '' : (error.stderr ?? error)}\n`);
    return false;
  }
}

const overModel = generate(GENERATED);
const configuration = [execFileSync(TIDY, ['--version'], { encoding: 'utf8' }), textOf('.clang-tidy'), NOT_IN_TESTS];
const sources = execFileSync('git', ['ls-files', 'agents/*.cc', 'fpga/*.cc', 'twin/*.cc'], {
  cwd: ROOT,
  encoding: 'utf8',
});
const groups = groupsOf(sources.trim().split('\n'), textOf, new Set(Object.keys(overModel)));
const units = groups.map((group) => unitOf(group, overModel, configuration));
const stale = units.filter(({ mark }) => !existsSync(mark));
const summary = `${units.flatMap(({ paths }) => paths).length} files, ${stale.flatMap(({ paths }) => paths).length} checked now`;
let bad = 0;
async function work() {
  for (let next = stale.shift(); next !== undefined; next = stale.shift()) if (!(await check(next))) bad += 1;
}
await Promise.all(Array.from({ length: JOBS }, work));
process.stdout.write(`${summary}, ${bad} of ${units.length} groups with findings\n`);
process.exitCode = bad === 0 ? 0 : 1;
