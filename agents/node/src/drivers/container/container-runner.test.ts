import { expect, it } from 'vitest';
import { HEARTBEAT } from '../../platform/heartbeat.js';
import { ContainerRunner } from './container-runner.js';
import type { DockerHost } from './docker-host.js';

const ended = { id: 'c', image: 'i', running: false, pid: 0, exit_code: 137, out_of_memory: false };

it.each([
  [{}, 'the container ended: exit code 137: last words', false],
  [{ exit_code: 2 }, 'the container ended: exit code 2: last words', true],
  [{ out_of_memory: true }, 'the container ended: it took more than 512 MiB of memory: last words', false],
])('reports how a container ended: %j', async (over, how, permanent) => {
  const host = { docker: { logs: async () => ['last words'] } } as unknown as DockerHost;
  const runner = new ContainerRunner(host, 'n1', '/nowhere', HEARTBEAT, () => undefined);
  expect(await runner.diagnose({ ...ended, ...over })).toEqual({ how, permanent });
});
