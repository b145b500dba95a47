import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { until } from '../testing/wait.js';
import { makeLog } from './log.js';
import { RedisServer } from './redis-server.js';

let folder: string;
let freeBytes: number;
let diskChecks: number;
const settings = {
  maxMemoryBytes: 64 * 1024 ** 2,
  freeBytes: async () => {
    diskChecks++;
    return freeBytes;
  },
  diskCheckMs: 10,
};
const log = makeLog('silent');
let server: RedisServer;
beforeEach(() => {
  folder = mkdtempSync('/tmp/orrery-r-');
  freeBytes = 1024 ** 3;
  diskChecks = 0;
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
  server = new RedisServer(folder, join(folder, 'data'), log, settings);
});
afterEach(async () => {
  await server.stop();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
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

  it('is not tried while its disk is full, says so once, and starts when there is room', async () => {
    await server.start();
    const told = vi.spyOn(log, 'error');
    freeBytes = 1024;
    process.kill(server.pid!, 'SIGKILL');
    await until('the reason', () => server.fault);
    expect(server.fault).toMatch(`the disk of ${server.dataDir} is full`);
    expect([calls('served'), server.restarts]).toEqual([1, 0]);
    await until('some more looks at the disk', () => diskChecks > 5);
    expect(told.mock.calls.filter(([what]) => String(what).includes('is full'))).toHaveLength(1);
    freeBytes = 1024 ** 3;
    await until('another Redis', () => calls('served') === 2 && server.fault === null);
    await until('it is counted', () => server.restarts === 1);
  });

  it('refuses changes beyond its memory, and evicts nothing', async () => {
    await server.start();
    const redis = new Redis({ path: server.socketPath });
    const write = async () => {
      for (let n = 0; ; n++) await redis.set(`key-${n}`, 'x'.repeat(1024 * 1024));
    };
    await expect(write()).rejects.toThrow(/^OOM /);
    expect(await redis.exists('key-0')).toBe(1);
    redis.disconnect();
  });

  it('can be stopped while it hangs', async () => {
    await server.start();
    const { pid } = server;
    process.kill(pid!, 'SIGSTOP');
    await server.stop();
    expect(existsSync(`/proc/${pid}`)).toBe(false);
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
