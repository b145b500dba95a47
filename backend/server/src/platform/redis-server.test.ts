import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { until } from '../testing/wait.js';
import { makeLog } from './log.js';
import { RedisServer } from './redis-server.js';

let folder: string;
let server: RedisServer;
beforeEach(() => {
  folder = mkdtempSync('/tmp/orrery-r-');
  // Precedes the real one in PATH: fails while a file `broken` exists, and counts its calls.
  writeFileSync(
    join(folder, 'redis-server'),
    `#!/bin/sh
if [ -e ${folder}/broken ]; then echo failed >> ${folder}/calls; exit 1; fi
echo served >> ${folder}/calls
PATH=\${PATH#*:}
exec redis-server "$@"
`,
  );
  chmodSync(join(folder, 'redis-server'), 0o755);
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
  server = new RedisServer(folder, join(folder, 'data'), makeLog('silent'));
});
afterEach(async () => {
  await server.stop();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const calls = (what: string) =>
  readFileSync(join(folder, 'calls'), 'utf8')
    .split('\n')
    .filter((line) => line === what).length;

describe('the private Redis', () => {
  it('is restarted one process at a time, however often that fails', async () => {
    await server.start();
    const was = server.pid!;
    writeFileSync(join(folder, 'broken'), '');
    process.kill(was, 'SIGKILL');
    await until('some failures', () => calls('failed') >= 4);
    rmSync(join(folder, 'broken'));
    await until('another Redis', () => existsSync(server.socketPath) && calls('served') > 1);
    expect(server.restarts).toBe(1);
    expect(calls('served')).toBe(2);
  });

  it('can be stopped while it fails to start', async () => {
    await server.start();
    writeFileSync(join(folder, 'broken'), '');
    process.kill(server.pid!, 'SIGKILL');
    await until('some failures', () => calls('failed') >= 2);
    await server.stop();
    expect(existsSync(server.socketPath)).toBe(false);
  });
});
