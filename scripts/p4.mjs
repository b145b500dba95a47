import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { readCommandLine, runCommand } from './command-line.mjs';
import { ROOT } from './setup/paths.mjs';
import { SetupError } from './setup/progress.mjs';

const HELP = `Compiles the P4 programs of the twin (twin/p4, twin/p4/examples) with p4c

  npm run build:p4 [-- --check]

Each NAME.p4 gives NAME.json (BMv2) and NAME.p4info.txtpb (P4Runtime), which are committed, and a line in compiled.json
that ties them to their source.

  ORRERY_P4C        p4c-bm2-ss or p4c; without it the image p4lang/p4c is run by Docker
  --check           only says whether every program was compiled from its source as it is now`;

const P4 = resolve(ROOT, 'twin/p4');
const LEDGER = join(P4, 'compiled.json');
const IMAGE = 'p4lang/p4c:stable';

/** The programs, by their path without its ending: that of the fabric, and the examples for users. */
export function programs() {
  return ['', 'examples/']
    .flatMap((folder) =>
      readdirSync(join(P4, folder))
        .filter((file) => file.endsWith('.p4'))
        .map((file) => folder + basename(file, '.p4')),
    )
    .sort();
}

/** Programs whose compiled form is missing, or is not that of their source. */
export function stale() {
  const ledger = JSON.parse(readFileSync(LEDGER, 'utf8'));
  return programs().filter((name) => {
    try {
      return Object.entries(digests(name)).some(([part, digest]) => ledger[name]?.[part] !== digest);
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
      return true;
    }
  });
}

function digests(name) {
  const of = (content) => createHash('sha256').update(content).digest('hex');
  const [json, p4info] = ['.json', '.p4info.txtpb'].map((ending) => of(readFileSync(join(P4, `${name}${ending}`))));
  return { source: of(sourceOf(join(P4, `${name}.p4`))), json, p4info };
}

/** With the files of ours that it includes, in their place. */
export function sourceOf(path) {
  const include = /^#include "(.+)"$/gm;
  return readFileSync(path, 'utf8').replace(include, (_, included) => sourceOf(join(dirname(path), included)));
}

/** Paths in the output are relative: the compiler runs where the sources are. */
function compile(name, out) {
  mkdirSync(join(out, dirname(name)), { recursive: true });
  const args = ['--std', 'p4-16', '--Werror', '--p4runtime-files', join(out, `${name}.p4info.txtpb`)];
  const own = process.env.ORRERY_P4C;
  if (own) {
    const file = basename(own) === 'p4c' ? ['--target', 'bmv2', '--arch', 'v1model'] : [];
    execFileSync(own, [...file, ...args, '-o', join(out, `${name}.json`), `${name}.p4`], { cwd: P4, stdio: 'inherit' });
    return;
  }
  const mounts = ['-v', `${P4}:/p4:ro`, '-v', `${out}:${out}`, '-w', '/p4'];
  const image = [IMAGE, 'p4c-bm2-ss', ...args, '-o', join(out, `${name}.json`), `${name}.p4`];
  execFileSync('docker', ['run', '--rm', '--network', 'none', ...mounts, ...image], { stdio: 'inherit' });
}

async function main() {
  const { values } = readCommandLine(
    { options: { check: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } },
    HELP,
  );
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (values.check) {
    const old = stale();
    if (old.length > 0) throw new SetupError(`not compiled from its source as it is now: ${old.join(', ')}`);
    return 0;
  }
  const out = mkdtempSync(join(tmpdir(), 'orrery-p4-'));
  try {
    const ledger = {};
    for (const name of programs()) {
      compile(name, out);
      for (const ending of ['.json', '.p4info.txtpb'])
        writeFileSync(join(P4, `${name}${ending}`), readFileSync(join(out, `${name}${ending}`)));
      ledger[name] = digests(name);
      console.log(`compiled ${name}`);
    }
    writeFileSync(LEDGER, `${JSON.stringify(ledger, null, 2)}\n`);
    return 0;
  } catch (error) {
    if (error.code === 'ENOENT')
      throw new SetupError(`${error.path} cannot be run: set ORRERY_P4C to a p4c, or install Docker`);
    if (error.status !== undefined) throw new SetupError(`the compiler failed with status ${error.status}`);
    throw error;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) await runCommand(main);
