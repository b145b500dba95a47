import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserProgram } from './pages.mjs';
import { packagesIn } from './setup/debian.mjs';
import { needsOf } from './setup/main.mjs';

test('the browser is installed for what opens the pages, and only for that', () => {
  const installs = (...needs) => packagesIn(needsOf(...needs).groups).includes('chromium-headless-shell');
  for (const purpose of ['demo', 'planning']) {
    assert.equal(installs(purpose), false, purpose);
    assert.equal(installs(purpose, { browser: true }), true, purpose);
    assert.ok(needsOf(purpose, { browser: true }).parts.includes('debian'), purpose);
  }
  assert.equal(installs('test'), true);
});

test('without a browser, the pages are not taken as seen', () => {
  assert.throws(
    () => browserProgram('/nowhere/chromium'),
    /\/nowhere\/chromium cannot be run \(ENOENT\).*ORRERY_CHROMIUM/,
  );
  assert.throws(() => browserProgram(import.meta.filename), /EACCES/);
  assert.equal(browserProgram(process.execPath), process.execPath);
});
