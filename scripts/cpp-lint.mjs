// Runs clang-tidy over the C++ of the agents, and remembers what was found clean: a file is checked again when it, a
// header that it includes, or the configuration has changed. Files that reach nlohmann/json.hpp are left out (.clang-tidy).
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './setup/paths.mjs';

const TIDY = 'clang-tidy-19';
const JOBS = 2;
const CACHE = join(ROOT, 'node_modules/.cache/cpp-lint');
const INCLUDE_DIRS = ['agents', 'agents/engine', 'agents/container-nf/tests', 'fpga', 'twin'];
const FLAGS = [
  '-std=c++20',
  '-march=native',
  ...INCLUDE_DIRS.map((dir) => `-I${join(ROOT, dir)}`),
  '-isystem',
  '/usr/include/dpdk',
  '-isystem',
  '/usr/include/x86_64-linux-gnu/dpdk',
  '-isystem',
  '/usr/include/hs',
];

const readOf = new Map();
function textOf(path) {
  if (!readOf.has(path)) readOf.set(path, readFileSync(join(ROOT, path), 'utf8'));
  return readOf.get(path);
}

/** The file and the headers of the repository that it reaches; null when it reaches one that is left out or generated. */
function closureOf(path) {
  const seen = new Set([path]);
  const ahead = [path];
  while (ahead.length > 0) {
    const file = ahead.pop();
    for (const [, system, own] of textOf(file).matchAll(/^#include (?:<([^>]+)>|"([^"]+)")/gm)) {
      if (system !== undefined) {
        if (system === 'nlohmann/json.hpp' || system.startsWith('verilated')) return null;
        continue;
      }
      const found = [dirname(file), ...INCLUDE_DIRS]
        .map((dir) => join(dir, own))
        .find((each) => existsSync(join(ROOT, each)));
      if (found === undefined) return null;
      if (!seen.has(found)) {
        seen.add(found);
        ahead.push(found);
      }
    }
  }
  return [...seen].sort();
}

function markOf(path, closure, configuration) {
  const hash = createHash('sha256').update(configuration).update(path);
  for (const each of closure) hash.update(each).update(textOf(each));
  return join(CACHE, hash.digest('hex'));
}

async function check(path, mark) {
  try {
    await promisify(execFile)(TIDY, ['--quiet', join(ROOT, path), '--', ...FLAGS], { cwd: ROOT });
    writeFileSync(mark, '');
    return true;
  } catch (error) {
    process.stdout.write(`${error.stdout ?? ''}${error.stdout ? '' : (error.stderr ?? error)}\n`);
    return false;
  }
}

const configuration = [
  execFileSync(TIDY, ['--version']),
  readFileSync(join(ROOT, '.clang-tidy')),
  FLAGS.join(' '),
].join('\n');
const sources = execFileSync('git', ['ls-files', 'agents/*.cc'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .trim()
  .split('\n');
const linted = sources.map((path) => ({ path, closure: closureOf(path) })).filter(({ closure }) => closure !== null);
mkdirSync(CACHE, { recursive: true });
const stale = linted
  .map(({ path, closure }) => ({ path, mark: markOf(path, closure, configuration) }))
  .filter(({ mark }) => !existsSync(mark));
let bad = 0;
async function work() {
  for (let next = stale.shift(); next !== undefined; next = stale.shift())
    if (!(await check(next.path, next.mark))) bad += 1;
}
const checked = stale.length;
await Promise.all(Array.from({ length: JOBS }, work));
process.stdout.write(`${linted.length} of ${sources.length} files, ${checked} checked now, ${bad} with findings\n`);
process.exitCode = bad === 0 ? 0 : 1;
