import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ClaimedError, claim, holderOf } from './claim.mjs';

test('a directory belongs to one process until it is released or the process is killed', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orrery-claim-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const release = await claim(directory, () => 'by the first');
  await assert.rejects(
    claim(directory, () => ''),
    (error) => error instanceof ClaimedError && error.told === 'by the first',
  );
  assert.equal(await holderOf(directory), 'by the first');
  await release();
  assert.equal(await holderOf(directory), '');
  assert.equal(await holderOf(join(directory, 'absent')), '');

  const program = `import { claim } from ${JSON.stringify(import.meta.resolve('./claim.mjs'))};
    await claim(${JSON.stringify(directory)}, () => 'by a child');
    console.log('ready');
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  await assert.rejects(
    claim(directory, () => ''),
    { told: 'by a child' },
  );
  child.kill('SIGKILL');
  await once(child, 'exit');
  await (await claim(directory, () => ''))();
});

test('a claim ends although who asked about it does not close its connection', { timeout: 60_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orrery-claim-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const release = await claim(directory, () => 'by the first');
  const { dev, ino } = statSync(directory);
  const peer = connect({ path: `\0orrery-claim-${dev}-${ino}`, allowHalfOpen: true });
  peer.on('error', () => undefined);
  t.after(() => peer.destroy());
  await once(peer, 'data');
  await release();
});
