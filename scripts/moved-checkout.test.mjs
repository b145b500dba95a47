import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { configuredElsewhere } from './setup/native.mjs';
import { runsHere } from './setup/python.mjs';

/** A directory made by `make`, and a copy of it. */
function madeAndCopied(t, make) {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'orrery-moved-')));
  t.after(() => rmSync(directory, { recursive: true }));
  const [made, copy] = [join(directory, 'made'), join(directory, 'copy')];
  make(made);
  cpSync(made, copy, { recursive: true, verbatimSymlinks: true });
  return { made, copy };
}

test('a copied Python environment is told from one made in its place', (t) => {
  const { made, copy } = madeAndCopied(t, (venv) => {
    mkdirSync(join(venv, 'bin'), { recursive: true });
    writeFileSync(join(venv, 'bin/pip'), `#!${venv}/bin/python3\nimport pip\n`);
  });
  assert.equal(runsHere(made), true);
  assert.equal(runsHere(copy), false);
  assert.equal(runsHere(join(made, 'absent')), false);
});

test('a copied meson build is told from one configured in its place', (t) => {
  const source = mkdtempSync(join(tmpdir(), 'orrery-source-'));
  t.after(() => rmSync(source, { recursive: true }));
  writeFileSync(join(source, 'meson.build'), "project('moved')\n");
  const { made, copy } = madeAndCopied(t, (build) => execFileSync('meson', ['setup', build, source]));
  assert.equal(configuredElsewhere(made), false);
  assert.equal(configuredElsewhere(copy), true);
  mkdirSync(join(copy, 'empty'));
  assert.equal(configuredElsewhere(join(copy, 'empty')), false, 'not configured at all');
});
