import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './setup/paths.mjs';

const UNITS = join(ROOT, 'packaging/systemd');
const ANALYZE = '/usr/bin/systemd-analyze';

/** What systemd says about a unit, where `/usr/bin/node` is this Node. */
function verdictOf(name, text) {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-units-'));
  try {
    const file = join(folder, name);
    writeFileSync(file, text.replaceAll('/usr/bin/node', process.execPath));
    const { status, stdout, stderr } = spawnSync(ANALYZE, ['verify', '--man=no', file], { encoding: 'utf8' });
    return { status, said: `${stdout}${stderr}`.split('\n').filter((line) => line.includes(name)) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const skip = existsSync(ANALYZE) ? false : 'no systemd-analyze on this machine';
const names = readdirSync(UNITS);

test('systemd accepts every unit', { skip }, () => {
  assert.deepEqual(names, ['orrery-agent.service', 'orrery-server.service', 'orrery-switches.service']);
  for (const name of names)
    assert.deepEqual([name, verdictOf(name, readFileSync(join(UNITS, name), 'utf8'))], [name, { status: 0, said: [] }]);
});

test('and would name a directive that it does not know', { skip }, () => {
  const text = readFileSync(join(UNITS, names[0]), 'utf8').replace('RestartSec=', 'RestartAfter=');
  assert.match(verdictOf(names[0], text).said.join('\n'), /RestartAfter/);
});

test('no unit gives the agent of a server a mount namespace, in which it would lose sight of what it left running', () => {
  const text = readFileSync(join(UNITS, 'orrery-agent.service'), 'utf8');
  assert.doesNotMatch(
    text,
    /^(Protect|Private|ReadOnly|ReadWrite|Inaccessible|Bind|Temporary|RootDirectory|MountFlags)\w*=/m,
  );
});
