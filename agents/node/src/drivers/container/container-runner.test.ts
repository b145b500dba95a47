import { expect, it } from 'vitest';
import { HEARTBEAT } from '../../platform/heartbeat.js';
import { ContainerRunner } from './container-runner.js';
import type { DockerHost } from './docker-host.js';

const ended = {
  ...{ id: 'c', image: 'i', running: false, pid: 0, exit_code: 137, out_of_memory: false },
  ...{ memory_limit_bytes: 512 * 2 ** 20, paused: false, health: null, labels: {} },
};

it.each([
  [{}, 'the container ended: exit code 137: last words', false],
  [{ exit_code: 2 }, 'the container ended: exit code 2: last words', true],
  [{ out_of_memory: true }, 'the container ended: it took more than 512 MiB of memory: last words', false],
])('reports how a container ended: %j', async (over, how, permanent) => {
  const host = { docker: { logs: async () => ['last words'] } } as unknown as DockerHost;
  const runner = new ContainerRunner(host, 'n1', '/nowhere', HEARTBEAT, () => undefined);
  expect(await runner.diagnose({ ...ended, ...over })).toEqual({ how, permanent });
});

const runnerOn = (inspect: () => Promise<unknown>) => {
  const docker = { logs: async () => [], inspect };
  return new ContainerRunner({ docker } as unknown as DockerHost, 'n1', '/nowhere', HEARTBEAT, () => undefined);
};
const RESET = new Error('read ECONNRESET');

it('says how a container ended whose socket was closed before Docker knew of its end', async () => {
  let asked = 0;
  const runner = runnerOn(async () => ({ ...ended, out_of_memory: true, running: ++asked < 4 }));
  const { how } = await runner.whyUnreachable('a.nat.0', RESET);
  expect(how).toBe('the container ended: it took more than 512 MiB of memory');
});

it.each([
  ['it is gone', async () => null],
  ['Docker does not answer', () => Promise.reject(new Error('away'))],
])('says why an NF cannot be reached if %s', async (_, inspect) => {
  expect(await runnerOn(inspect).whyUnreachable('a.nat.0', RESET)).toEqual({ how: 'read ECONNRESET' });
});
