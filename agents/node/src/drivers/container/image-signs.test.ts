import type { ContainerHealth } from '@orrery/contract';
import { expect, it } from 'vitest';
import { Trouble } from '../legacy/program-instance.js';
import type { ContainerCheck, DockerClient } from './docker-client.js';
import { DockerAway, DockerRefusal } from './docker-http.js';
import { imageSigns } from './image-signs.js';

const health: ContainerHealth = {
  by: 'image',
  ...{ interval_s: 5, timeout_s: 3, failures: 3, start_s: 15, restart_after_s: 30 },
};
const check = (status: ContainerCheck['status'], said = ''): ContainerCheck => ({ status, failures: 4, said });

const signsOf = (inspect: () => Promise<unknown>, of: ContainerHealth | undefined = health) =>
  imageSigns({ inspect } as unknown as DockerClient, 'c', 1, of);
const answer = (found: object, of?: ContainerHealth | undefined) =>
  signsOf(async () => ({ paused: false, health: null, ...found }), of)
    .ask()
    .catch((error) => error);

it('judges a container by what Docker found last, in words', async () => {
  expect(await answer({ health: check('healthy') })).toEqual({});
  const ill = await answer({ health: check('unhealthy', 'no\nroute') });
  expect(ill).toBeInstanceOf(Trouble);
  expect(ill.message).toBe('its health check fails, 4 times in a row: no route');
  expect((await answer({ health: check('starting') })).message).toContain('has not succeeded yet');
  expect((await answer({ paused: true, health: check('healthy') })).message).toBe('its container is paused');
});

it('judges nothing while Docker is away, and takes one that Docker does not know for ill', async () => {
  expect(await signsOf(() => Promise.reject(new DockerAway('Docker does not answer'))).ask()).toEqual({});
  await expect(signsOf(() => Promise.reject(new DockerRefusal('no', 500))).ask()).rejects.toThrow('no');
});

it('is restarted after the time that the descriptor gives, and without a check only when it is paused or stopped', () => {
  const checked = signsOf(async () => null);
  expect(checked.timing.dead_ms).toBe(checked.timing.silent_ms + 30_000);
  expect(checked.first).toEqual({ limit_ms: 15_000, lack: 'not healthy' });
  const plain = imageSigns({} as DockerClient, 'c', 1, undefined);
  expect([plain.first, plain.timing.dead_ms]).toEqual([null, 8000]);
});
