import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { longComponents } from './component-size.mjs';
import { ROOT } from './setup/paths.mjs';

const body = (lines) => Array.from({ length: lines }, () => '  use();').join('\n');

test('names components over the limit, however they are written', () => {
  const text = `export function Long() {\n${body(9)}\n}\nconst Arrow = () => {\n${body(9)}\n};\n`;
  assert.deepEqual(
    longComponents('a.tsx', text, 10).map(({ name, first, lines }) => [name, first, lines]),
    [
      ['Long', 1, 11],
      ['Arrow', 12, 11],
    ],
  );
});

test('accepts short components, and long functions that are not components', () => {
  assert.deepEqual(
    longComponents('a.tsx', `function Short() {\n${body(8)}\n}\nfunction long() {\n${body(40)}\n}\n`, 10),
    [],
  );
});

test('no component of the console is over the limit', () => {
  const files = execFileSync('git', ['ls-files', 'frontend/src/*.tsx'], { cwd: ROOT, encoding: 'utf8' });
  const components = files.split('\n').filter((file) => file !== '' && !file.endsWith('.test.tsx'));
  assert.notEqual(components.length, 0);
  assert.deepEqual(
    components.flatMap((file) => longComponents(file, readFileSync(resolve(ROOT, file), 'utf8'))),
    [],
  );
});
