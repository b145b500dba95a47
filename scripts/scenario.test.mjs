import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { UsageError } from './command-line.mjs';
import { readArguments, readParameters } from './scenario/arguments.mjs';
import { isGood, missesOf, tableOf } from './scenario/report.mjs';
import { ROOT } from './setup/paths.mjs';

const SCHEMA = {
  properties: {
    rate: { type: 'number' },
    count: { type: 'integer' },
    fast: { type: 'boolean' },
    to: { type: 'string' },
  },
};
const figure = (here, bar = null, pass = null) => ({
  name: 'loss',
  unit: '%',
  published: 1.25,
  here,
  bar,
  pass,
  source: 'X Fig. 1',
  modelled: true,
  note: 'scaled',
});

test('parameters have the types of the schema', () => {
  const settings = ['rate=2.5', 'count=3', 'fast=true', 'to=a=b'];
  assert.deepEqual(readParameters(settings, SCHEMA), { rate: 2.5, count: 3, fast: true, to: 'a=b' });
  assert.deepEqual(readParameters([], SCHEMA), {});
});

test('a parameter that is unknown or of the wrong type is named', () => {
  for (const bad of ['rate', '=1', 'rate=', 'rate=x', 'rate=Infinity', 'fast=yes', 'toString=1'])
    assert.throws(
      () => readParameters([bad], SCHEMA),
      (error) => error instanceof UsageError && error.message.includes(bad),
    );
});

test('the command line needs one scenario, a list or help', () => {
  assert.equal(readArguments(['swap', '--json', '--set', 'a=1', '--set', 'b=2']).set.length, 2);
  for (const bad of [[], ['a', 'b'], ['a', '--what'], ['--set']]) assert.throws(() => readArguments(bad), UsageError);
});

test('a run passes if it completed and each figure is within its bar', () => {
  const run = (state, ...figures) => ({ state, figures });
  assert.ok(isGood(run('completed', figure(7))));
  assert.ok(isGood(run('completed', figure(7, { least: null, most: 7 }, true))));
  assert.ok(!isGood(run('completed', figure(8, { least: null, most: 7 }, false))));
  assert.ok(!isGood(run('failed')));
});

test('a run that does not pass says why', () => {
  const late = figure(8, { least: null, most: 7 }, false);
  assert.deepEqual(missesOf({ state: 'completed', figures: [figure(7), late] }), ['loss: 8 %, must be <= 7 (scaled)']);
  assert.deepEqual(missesOf({ state: 'failed', detail: 'no board', figures: [late] }), ['The run failed: no board']);
});

test('the table shows published beside here, and marks what is modelled', () => {
  const [head, row] = tableOf({ figures: [figure(12345.6, { least: 0, most: null }, true)] }).split('\n');
  assert.match(head, /^figure +published +here +unit +bar +source +note$/);
  assert.match(row, /^loss +1.25 +12346 +% +>= 0 yes +X Fig. 1 +modelled: scaled$/);
});

test('a bad command exits with 2, help with 0', () => {
  const run = (...args) => spawnSync(process.execPath, [resolve(ROOT, 'scripts/scenario.mjs'), ...args]);
  assert.equal(run('--help').status, 0);
  assert.equal(run().status, 2);
  assert.equal(run('x', '--what').status, 2);
});
