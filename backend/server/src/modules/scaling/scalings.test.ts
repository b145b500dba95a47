import type { Scaling } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { Collections } from '../../platform/durable-collection/collections.js';
import type { EventLog } from '../../ports/event-log.js';
import { Scalings } from './scalings.js';

const WAITING = {
  ...{ id: 'sc-1', nf: { chain_id: 'c-1', node_id: 'ids' }, from: 2, to: 1, cause: 'asked for', by: 'ann' },
  ...{ state: 'running', steps: ['drain', 'empty', 'resize'], step: 1, policy_id: null, left_flows: null, error: null },
} as unknown as Scaling;

function scalingsWith(stored: Scaling) {
  const entries = new Map([[stored.id, stored]]);
  const told: string[] = [];
  const batch = {
    put: (_: unknown, value: Scaling) => void entries.set(value.id, value),
    also: (write: (transaction: unknown) => void) => write(null),
  };
  const collections = {
    open: () => ({ get: (id: string) => entries.get(id) }),
    commit: async (work: (given: typeof batch) => unknown) => work(batch),
  } as unknown as Collections;
  const events = { appendIn: (_: unknown, { type }: { type: string }) => void told.push(type) } as unknown as EventLog;
  return { scalings: new Scalings(collections, events), told };
}

it('does not come back once it was cancelled, however late a look at it ends', async () => {
  const { scalings, told } = scalingsWith(WAITING);
  const goingBack: Scaling = { ...WAITING, steps: ['drain', 'empty', 'restore'], step: 2 };
  expect(await scalings.write(goingBack, WAITING)).toBe(true);
  expect(await scalings.write({ ...WAITING, step: 2 }, WAITING)).toBe(false);
  expect(scalings.get('sc-1')).toBe(goingBack);
  const cancelled: Scaling = { ...goingBack, step: 3, state: 'cancelled' };
  expect(await scalings.write(cancelled, goingBack)).toBe(true);
  expect(await scalings.write({ ...goingBack, step: 3, state: 'completed' }, goingBack)).toBe(false);
  expect([scalings.get('sc-1').state, told]).toEqual(['cancelled', ['scaling.ended']]);
});
