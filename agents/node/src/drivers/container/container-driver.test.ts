import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { eventLog, scratchDirectory, until } from '../../testing/scratch.js';
import { instance } from '../../testing/specs.js';
import { ContainerDriver } from './container-driver.js';

const ID = 'c'.repeat(64);
const STATE = { Running: true, Pid: 1, ExitCode: 0, OOMKilled: false };
const LABELS = { 'orrery.node': 'n1', 'orrery.instance': 'gone.nat.0' };

const ANSWERS: [RegExp, unknown][] = [
  [/^GET \/version$/, { ApiVersion: '1.41', MinAPIVersion: '1.12' }],
  [/^GET \/v1.41\/images\/orrery\/nf-box:[0-9a-f]{12}\/json$/, {}],
  [/^GET \/v1.41\/containers\/json\?/, [{ Id: 'stray', Names: ['/stray'], Labels: LABELS }]],
  [/^GET \/v1.41\/containers\/orrery-n1-orp[0-9a-f]{9}-net\/json$/, { Id: ID, Image: 'i', State: STATE }],
  [/^DELETE \/v1.41\/containers\/stray\?/, {}],
];

/** A Docker in which a container of the name of every holder runs as process 1, which is none of its processes. */
function fakeDocker(socket: string) {
  const asked: string[] = [];
  const streams: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const line = `${request.method} ${request.url}`;
    asked.push(line);
    if (line.includes('/events?')) {
      response.flushHeaders();
      streams.push(response);
      return;
    }
    const answer = ANSWERS.find(([pattern]) => pattern.test(line));
    response.writeHead(answer ? 200 : 404).end(JSON.stringify(answer?.[1] ?? { message: `no ${line}` }));
  });
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  return { asked, close, listen: () => new Promise<void>((resolve) => server.listen(socket, resolve)) };
}

async function setUp(listens: boolean) {
  const run_dir = scratchDirectory();
  const built = join(run_dir, 'built');
  mkdirSync(built);
  const nf_box = join(built, 'nf-box.tar');
  writeFileSync(nf_box, 'a root');
  writeFileSync(join(built, 'orrery-nf-box'), '#!/bin/sh\necho \'["nat"]\'\n', { mode: 0o755 });
  const socket = join(run_dir, 's');
  const docker = fakeDocker(socket);
  if (listens) await docker.listen();
  const log = eventLog();
  let changes = 0;
  const driver = new ContainerDriver({ node: 'n1', run_dir, docker: socket, nf_box }, log.emit, () => changes++);
  onTestFinished(() => driver.close(true));
  await driver.start();
  return { driver, docker, log, changes: () => changes };
}

const nat = instance('p.nat.0', { nf: 'nat', driver: 'container' });
const deploy = { deploy: [nat], configure: [], destruct: [], wiring: null };

it('is available from when Docker answers until it does no more, and knows its NFs all along', async () => {
  const { driver, docker, log, changes } = await setUp(false);
  expect([driver.available, driver.nfs]).toEqual([false, ['nat']]);
  await docker.listen();
  await until('it is there', () => driver.available);
  const before = changes();
  docker.close();
  await until('it is away', () => !driver.available);
  expect(changes()).toBeGreaterThan(before);
  expect([driver.nfs, log.names()]).toEqual([['nat'], ['docker.lost']]);
});

it('waits with what it is to run for a Docker that is away', async () => {
  const { driver } = await setUp(false);
  await driver.realize(deploy);
  const found = driver.observe().get('p.nat.0');
  expect(found).toMatchObject({ state: 'failed', ends: null, permanent: false });
  expect(found?.detail).toContain('Docker does not answer: connect ENOENT');
  await expect(driver.getInstanceState('p.nat.0', 1)).rejects.toThrow('p.nat.0 does not run: Docker does not answer');
  await expect(driver.realize({ ...deploy, deploy: [], destruct: ['p.nat.0'] })).rejects.toThrow('does not answer');
});

it('gives interfaces to no process that is not of the container', async () => {
  const { driver } = await setUp(true);
  await driver.realize(deploy);
  expect(driver.observe().get('p.nat.0')?.detail).toBe('Docker runs in another PID namespace than the agent');
});

it('removes a container of its node that no instance is known of', async () => {
  const { docker } = await setUp(true);
  expect(docker.asked.filter((line) => line.startsWith('DELETE'))).toEqual([
    'DELETE /v1.41/containers/stray?force=true&v=true',
  ]);
});
