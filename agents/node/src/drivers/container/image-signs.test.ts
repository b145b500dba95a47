import type { ContainerHealth } from '@orrery/contract';
import { expect, it } from 'vitest';
import { Trouble } from '../legacy/program-instance.js';
import { firstReport } from '../legacy/program-report.js';
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

it('judges nothing that has been healthy while Docker is away, and takes one that Docker does not know for ill', async () => {
  expect(await signsOf(() => Promise.reject(new DockerAway('Docker does not answer'))).ask()).toEqual({});
  await expect(signsOf(() => Promise.reject(new DockerRefusal('no', 500))).ask()).rejects.toThrow('no');
});

/** What a container that starts goes through, in this order; the last one stays. */
async function start(looks: readonly (object | Error | null)[], of: ContainerHealth = health) {
  let looked = 0;
  let isKilled = false;
  const signs = signsOf(async () => {
    const found = looks[Math.min(looked++, looks.length - 1)]!;
    if (found instanceof Error) throw found;
    return found && { paused: false, health: null, ...found };
  }, of);
  const kill = () => {
    isKilled = true;
  };
  const program = { ended: new Promise<string>(() => undefined), alive: true, kill };
  const failure = await firstReport(program, signs.first!, async (how) => how, 'i').catch((error) => error.message);
  return { looked, isKilled, failure };
}

it('is open to packets only after it has been seen healthy, whatever Docker does meanwhile', async () => {
  const away = new DockerAway('Docker did not answer in time');
  const starting = { health: check('starting') };
  const healthy = { health: check('healthy') };
  expect(await start([away, starting, away, null, {}, starting, healthy])).toEqual({
    ...{ looked: 7, isKilled: false, failure: undefined },
  });
});

it('has failed where Docker does not tell in time that it is healthy', async () => {
  const away = new DockerAway('Docker did not answer in time');
  const { failure, isKilled } = await start([away], { ...health, start_s: 0.2 });
  expect(failure).toBe('not healthy within 0.2 s: Docker did not answer in time');
  expect(isKilled).toBe(true);
});

it('is restarted after the time that the descriptor gives, and without a check only when it is paused or stopped', () => {
  const checked = signsOf(async () => null);
  expect(checked.timing.dead_ms).toBe(checked.timing.silent_ms + 30_000);
  expect(checked.first).toMatchObject({ limit_ms: 15_000, lack: 'not healthy' });
  const plain = imageSigns({} as DockerClient, 'c', 1, undefined);
  expect([plain.first, plain.timing.dead_ms]).toEqual([null, 8000]);
});
