import type { TwinStatus } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { Api } from './api-caller.js';
import { runningTwin } from './needs.js';

function apiOf(daemon: TwinStatus['daemon'], answers: boolean): Api {
  const call = async (name: string) => {
    if (name === 'getTwin') return { enabled: true, daemon, detail: null, state: null };
    if (!answers) throw new Error('listFaults: the twin does not answer');
    return { items: [] };
  };
  return { call, end: async () => undefined } as unknown as Api;
}

it.each([
  ['running', true, null],
  ['lost', true, null],
  ['lost', false, 'the twin is lost'],
  ['starting', true, 'the twin is starting'],
  ['off', true, 'the twin is off'],
] as const)('a twin that is %s and whose requests succeed: %s', async (daemon, answers, missing) => {
  expect(await runningTwin().missing(apiOf(daemon, answers))).toBe(missing);
});
