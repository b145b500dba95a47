import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { REPOSITORY_ROOT } from './platform/config.js';
import { FakeAgent } from './testing/fake-agent.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { Scratch, TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

/** The shell commands under a heading of docs/operating.md, of which each has one block. */
function documented(heading: string): string {
  const text = readFileSync(join(REPOSITORY_ROOT, 'docs/operating.md'), 'utf8');
  const [, section] = text.split(`\n## ${heading}\n`);
  const [, commands] = /```sh\n(.*?)```/s.exec(section?.split('\n## ')[0] ?? '') ?? [];
  if (!commands) throw new Error(`docs/operating.md has no commands under "${heading}"`);
  return commands;
}

let scratch: Scratch;
let server: TestServer;
beforeEach(async () => {
  scratch = new Scratch();
  server = await TestServer.start({}, scratch);
});
afterEach(() => server.stop());

/** Runs them as an operator would, except that there is no systemd: `systemctl` only records its arguments. */
async function follow(commands: string): Promise<void> {
  const bin = join(scratch.path, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'systemctl'), `#!/bin/sh\necho "$@" >> ${scratch.path}/systemctl\n`, { mode: 0o755 });
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    ORRERY_RUN_DIR: scratch.runDir,
    ORRERY_STATE_DIR: scratch.stateDir,
    BACKUP: join(scratch.path, 'backups/monday'),
  };
  await promisify(execFile)('sh', ['-euc', commands], { env });
}

/** Creates chains one after another until it is stopped; gives the names of those that were acknowledged. */
function writer(prefix: string) {
  const acknowledged: string[] = [];
  let stopped = false;
  const ended = (async () => {
    for (let index = 0; !stopped; index++) {
      const name = `${prefix}-${index}`;
      await server.api.call('createChain', { body: monitorChain(name) });
      acknowledged.push(name);
    }
  })();
  const stop = () => {
    stopped = true;
    return ended;
  };
  return { acknowledged, stop };
}

const names = async () => {
  const { items } = await server.api.call('listChains', { query: { limit: 1000 } });
  return items.map(({ draft }) => draft.name);
};

async function joined(node: string): Promise<FakeAgent> {
  const { token } = await server.api.call('createJoinToken', { body: { node } });
  const agent = new FakeAgent(server.running.url, node, token);
  server.agents.set(node, agent);
  await agent.connect();
  return agent;
}

/** The agent after a restart of the server, with the credential that it keeps. */
async function back({ node, credential }: FakeAgent): Promise<FakeAgent> {
  const agent = new FakeAgent(server.running.url, node, null);
  agent.credential = credential;
  server.agents.set(node, agent);
  await agent.connect();
  return agent;
}

it('a backup of a running server that is restored as documented has everything acknowledged before it', async () => {
  await server.api.call('putInfrastructure', { body: RACK });
  const early = await joined('server-1');
  const revised = await server.api.call('createChain', { body: monitorChain('revised') });
  await server.api.call('publishChain', { params: { id: revised.id }, body: { note: 'kept' } });
  const { redis } = server.running.store;
  const busy = writer('busy');
  await until('writes', () => busy.acknowledged.length > 5);
  // Redis replaces files of its log while the server runs: the copy must not fall between two of them.
  await redis.bgrewriteaof();
  const before = [...busy.acknowledged];
  await follow(documented('Backup'));
  expect(await redis.config('GET', 'auto-aof-rewrite-percentage')).toEqual(['auto-aof-rewrite-percentage', '100']);
  await busy.stop();
  const late = await joined('server-2');
  const { id: after } = await server.api.call('createChain', { body: monitorChain('after') });

  await server.pause();
  rmSync(scratch.stateDir, { recursive: true });
  mkdirSync(scratch.stateDir);
  await follow(documented('Restore'));
  expect(readFileSync(join(scratch.path, 'systemctl'), 'utf8')).toBe('stop orrery-server\nstart orrery-server\n');
  expect(existsSync(join(scratch.stateDir, 'redis/appendonlydir'))).toBe(true);
  server = await TestServer.start({}, scratch);

  const stored = await names();
  expect(before.filter((name) => !stored.includes(name))).toEqual([]);
  // Of what was written meanwhile, the copy has a beginning.
  const meanwhile = busy.acknowledged.filter((name) => stored.includes(name));
  expect(meanwhile).toEqual(busy.acknowledged.slice(0, meanwhile.length));
  expect((await server.api.request('getChain', { params: { id: after } })).status).toBe(404);
  const versions = await server.api.call('listChainVersions', { params: { id: revised.id } });
  expect(versions.items).toMatchObject([{ version: 1, note: 'kept' }]);
  expect((await server.api.call('getInfrastructure')).name).toBe(RACK.name);
  expect((await server.api.call('getHealth')).parts.find(({ name }) => name === 'state')?.status).not.toBe('degraded');

  expect((await back(early)).refused).toBeNull();
  // It joined after the backup.
  expect((await back(late)).refused).not.toBeNull();
});
