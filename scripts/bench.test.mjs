import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { cyclesIn, SOFTWARE } from './bench/boards.mjs';
import { figureOf, nameOf, RUNS, unfinishedFigure } from './bench/loops.mjs';
import { runPlanner } from './bench/planner.mjs';
import { ROOT } from './setup/paths.mjs';

const FOLDER = resolve(ROOT, 'scripts/bench');
const files = readdirSync(FOLDER);
const benches = files.filter((file) => /^export const bench\b/m.test(readFileSync(resolve(FOLDER, file), 'utf8')));
const source = (path) => readFileSync(resolve(ROOT, path), 'utf8');

test('every benchmark loads and is offered', async () => {
  const help = spawnSync(process.execPath, [resolve(ROOT, 'scripts/bench.mjs'), '--help'], { encoding: 'utf8' });
  assert.equal(help.status, 0, help.stderr);
  assert.ok(benches.length >= 9, `only ${benches.join(', ')}`);
  for (const file of benches) {
    const { bench } = await import(resolve(FOLDER, file));
    assert.equal(typeof bench.run, 'function', file);
    assert.ok(help.stdout.includes(bench.title), `${file} is not offered`);
  }
});

test('the programs that benchmarks start are built', () => {
  const builds = execFileSync('git', ['ls-files', '*meson.build'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
  const built = new Set(
    builds.flatMap((path) => [...source(path).matchAll(/executable\('([\w-]+)'/g)].map(([, it]) => it)),
  );
  const started = files.flatMap((file) =>
    [...readFileSync(resolve(FOLDER, file), 'utf8').matchAll(/'[\w/-]*\/(orrery-[\w-]*\w|board-bench)'/g)].map(
      ([, it]) => it,
    ),
  );
  assert.ok(started.length >= 6, 'no programs found in the benchmarks');
  for (const program of started) assert.ok(built.has(program), `nothing builds ${program}`);
});

test('the figures that the boards are compared with are printed, and read', () => {
  const bench = source('agents/nfs/bench/nf_bench.cc');
  for (const name of Object.values(SOFTWARE).flatMap(Object.values))
    for (const word of name.split(' ').filter((it) => !/^\d/.test(it)))
      assert.ok(bench.includes(word), `orrery-nf-bench does not print ${name}`);
  assert.ok(source('agents/engine/bench/engine_bench.cc').includes('1024 flows'));
  const recorded = 'sqli-detector 60 B                            209.5 cycles per packet\nend\n';
  assert.deepEqual([...cyclesIn(recorded)], [['sqli-detector 60 B', 209.5]]);
});

test('the planner is measured from end to end', async () => {
  const figures = await runPlanner(['--smoke']);
  assert.ok(figures.length > 60, `${figures.length} figures`);
  for (const { name, value, unit, better } of figures) {
    assert.ok(Number.isFinite(value), `${name} is ${value}`);
    assert.ok(unit !== undefined && ['lower', 'higher'].includes(better), name);
  }
  assert.equal(new Set(figures.map(({ name }) => name)).size, figures.length, 'two figures have one name');
});

test('loops are measured by scenarios that there are', () => {
  const ids = execFileSync(
    'git',
    ['grep', '-hoE', "^ *'?(id: )?'[a-z0-9]+(-[a-z0-9]+)+'", '--', 'backend/server/src/modules/scenarios'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  );
  for (const [scenario] of RUNS) assert.ok(ids.includes(`'${scenario}'`), `no scenario ${scenario}`);
  const names = RUNS.map(([scenario, parameters]) => nameOf(scenario, parameters));
  assert.equal(new Set(names).size, names.length, 'two runs have one name');
  assert.ok(names.includes('e2-split flows=never'));
});

test('a run of a scenario that does not end misses its bar, and says why', () => {
  const why = 'e2-split flows=never: The run failed: the split is gone';
  assert.deepEqual(
    { ...unfinishedFigure(why) },
    { name: why, value: null, unit: '', better: null, bar: null, baseline: null, pass: false },
  );
});

test('a figure of a scenario is better in the direction of its bar', () => {
  const of = (bar, pass) =>
    figureOf('s', { name: 'n', here: 2, published: 4, unit: 's', bar, pass, source: '', note: '', modelled: false });
  const common = { value: 2, unit: 's', baseline: 4 };
  assert.deepEqual(of({ least: 1, most: null }, true), {
    ...common,
    name: 's: n',
    better: 'higher',
    bar: 1,
    pass: true,
  });
  assert.deepEqual(of({ least: null, most: 1 }, false), {
    ...common,
    name: 's: n',
    better: 'lower',
    bar: 1,
    pass: false,
  });
  assert.deepEqual(of({ least: 1, most: 3 }, true), {
    ...common,
    name: 's: n, 1 to 3',
    better: null,
    bar: null,
    pass: true,
  });
  assert.deepEqual(of(null, null), { ...common, name: 's: n', better: null, bar: null, pass: null });
});
