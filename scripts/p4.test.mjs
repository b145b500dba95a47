import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { programs, sourceOf, stale } from './p4.mjs';

test('every P4 program is compiled from its source as it is now: npm run build:p4', () => {
  for (const name of ['fabric', 'examples/ipv4-router']) assert.ok(programs().includes(name));
  assert.deepEqual(stale(), []);
});

test('compiled programs name no path of the machine that compiled them', () => {
  for (const name of programs())
    for (const ending of ['.json', '.p4info.txtpb']) {
      const text = readFileSync(new URL(`../twin/p4/${name}${ending}`, import.meta.url), 'utf8');
      assert.doesNotMatch(text, /"[^"]*\/(home|root|tmp|usr|work)\//, `${name}${ending}`);
    }
});

test('what a program includes is a part of its source', () => {
  const source = sourceOf(new URL('../twin/p4/fabric.p4', import.meta.url).pathname);
  for (const part of ['control Steer(', 'control Stamp(', 'parser ParseFrame(']) assert.ok(source.includes(part), part);
  assert.doesNotMatch(source, /#include "/);
});
