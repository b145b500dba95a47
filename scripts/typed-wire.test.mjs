import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { SAMPLE_METRICS } from '@orrery/contract';
import { ROOT } from './setup/paths.mjs';

const SOURCES = ['backend', 'frontend/src', 'agents/node/src', 'e2e', 'scripts'];
const EXCEPT = ['**/generated/**', '**/*.test.*', '**/*.spec.ts', '**/testing/**', '**/examples/**'];
/** Sample keys are created and parsed in one file. */
const HOME = 'backend/contract/src/sample-keys.ts';

const KINDS = `(${Object.keys(SAMPLE_METRICS).join('|')})`;
const METRICS = `(${[...new Set(Object.values(SAMPLE_METRICS).flatMap(Object.keys))].join('|')}|[$][{][^}]*etric[}])`;
/** A prefix such as `'chain/'` or `` `chain/${id}/` ``, or a whole key. */
const SAMPLE_KEY = `['"\`]${KINDS}/(['"\`]|[^'"\`]+/${METRICS}?['"\`])`;
const CAST_DATA = '(event|draft)[.]data as ';

function found(pattern, ...paths) {
  const args = ['grep', '-nE', pattern, '--', ...paths, ...EXCEPT.map((each) => `:(exclude,glob)${each}`)];
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  assert.ok(status === 0 || status === 1, stderr);
  return stdout.split('\n').filter((line) => line !== '' && !line.startsWith('scripts/typed-wire.test.mjs'));
}

test('sample keys are written out only in the contract', () => {
  assert.deepEqual(found(SAMPLE_KEY, ...SOURCES, `:(exclude)${HOME}`), []);
  assert.notDeepEqual(found('[$][{]kind[}]/', HOME), []);
});

test('the pattern finds keys and prefixes, and nothing else that has slashes', () => {
  const pattern = new RegExp(SAMPLE_KEY);
  const id = '$'.concat('{id}');
  const metric = '$'.concat('{metric}');
  const keys = [
    "'chain/'",
    `\`chain/${id}/\``,
    `\`instance/${id}/pps\``,
    `\`slot/${id}.${id}/${metric}\``,
    "'node/a/cpu'",
    `\`rule/${id} ${id}/bps\``,
    "'application/web/connections'",
  ];
  for (const key of keys) assert.match(key, pattern);
  const others = [
    `\`board/${id}/${id}\``,
    "'board/profiles/x.json'",
    `\`chain/${id}\``,
    "'linked/'",
    "'application/json'",
  ];
  for (const other of others) assert.doesNotMatch(other, pattern);
});

test('data of events is narrowed by type, never cast', () => {
  assert.deepEqual(found(CAST_DATA, ...SOURCES), []);
});
