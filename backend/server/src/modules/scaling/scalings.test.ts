import type { Scaling } from '@orrery/contract';
import { expect, it } from 'vitest';
import { Collections } from '../../platform/durable-collection/collections.js';
import { makeLog } from '../../platform/log.js';
import type { EventLog } from '../../ports/event-log.js';
import type { LeaseBook } from '../../ports/lease-book.js';
import { MemoryStore } from '../../testing/killed-story.js';
import { Scalings } from './scalings.js';

const WAITING = {
  ...{ id: 'sc-1', nf: { chain_id: 'c-1', node_id: 'ids' }, from: 2, to: 1, cause: 'asked for', by: 'ann' },
  ...{ state: 'running', steps: ['drain', 'empty', 'resize'], step: 1, policy_id: null, left_flows: null, error: null },
} as unknown as Scaling;

function scalingsWith(...stored: readonly Scaling[]) {
  const entries = new Map(stored.map((scaling) => [scaling.id, { scaling, told: true }]));
  const told: string[] = [];
  const held: string[] = [];
  const batch = {
    put: (_: unknown, value: { scaling: Scaling; told: boolean }) => void entries.set(value.scaling.id, value),
    remove: (_: unknown, id: string) => entries.delete(id),
    also: (write: (transaction: unknown) => void) => write(null),
  };
  const collections = {
    open: () => ({
      all: () => [...entries.values()],
      get: (id: string) => entries.get(id),
      find: (id: string) => entries.get(id),
    }),
    commit: async (work: (given: typeof batch) => unknown) => work(batch),
  } as unknown as Collections;
  const events = { appendIn: (_: unknown, { type }: { type: string }) => void told.push(type) } as unknown as EventLog;
  const leases = {
    acquireIn: (_: unknown, { claim, holder, resources }: Parameters<LeaseBook['acquireIn']>[1]) => {
      if (held.some((lease) => lease.startsWith(`${claim} ${resources[0]}`))) throw new Error('another holds it');
      held.push(`${claim} ${resources[0]} ${holder}`);
    },
    releaseIn: (_: unknown, claim: string, holder: string) => {
      const kept = held.filter((lease) => !(lease.startsWith(claim) && lease.endsWith(` ${holder}`)));
      held.splice(0, held.length, ...kept);
    },
  } as unknown as LeaseBook;
  return { scalings: new Scalings(collections, events, leases), told, held };
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

it('is told once to have begun, also after it has come further', async () => {
  const { scalings, told } = scalingsWith();
  await scalings.begin({ ...WAITING, step: 0 });
  await scalings.tell({ ...WAITING, step: 0 });
  await scalings.tell({ ...WAITING, step: 0 });
  await scalings.write(WAITING, { ...WAITING, step: 0 });
  await scalings.tell(WAITING);
  expect(told).toEqual(['scaling.in']);
  const tracking = { ...WAITING, id: 'sc-2', nf: { chain_id: 'c-2', node_id: 'ids' }, to: 2 };
  await scalings.begin(tracking);
  await scalings.tell(tracking);
  expect(told).toEqual(['scaling.in']);
});

it('has the lease on its chain from its begin to its end, and leaves it where nothing was begun', async () => {
  const { scalings, held } = scalingsWith();
  await scalings.begin(WAITING);
  expect(held).toEqual(['change chain/c-1 sc-1']);
  await scalings.write({ ...WAITING, step: 2 }, WAITING);
  expect(held).toHaveLength(1);
  await scalings.write({ ...WAITING, step: 3, state: 'completed' }, { ...WAITING, step: 2 });
  expect(held).toEqual([]);
  const other = { ...WAITING, id: 'sc-2' };
  await scalings.begin(other);
  await scalings.forget(other);
  expect(held).toEqual([]);
  // What was forgotten meanwhile is not written again.
  expect(await scalings.write({ ...other, step: 2 }, other)).toBe(false);
  held.push('change chain/c-1 reconfiguration');
  await expect(scalings.begin(other)).rejects.toThrow('another holds it');
  expect(scalings.all().map(({ id }) => id)).toEqual(['sc-1']);
});

it('that began last is the first, and the last to be forgotten, also once the wall clock was set back', async () => {
  const store = new MemoryStore();
  const collections = new Collections(store.open(), makeLog('silent'));
  const leases = { acquireIn: () => undefined, releaseIn: () => undefined } as unknown as LeaseBook;
  const scalings = new Scalings(collections, store.events, leases);
  await scalings.onModuleInit();
  for (let n = 0; n < 202; n++) {
    const begun = { ...WAITING, id: `sc-${n}`, started_ms: 1000 - n };
    await scalings.begin(begun);
    await scalings.write({ ...begun, state: 'completed' }, begun);
  }
  const ids = scalings.ofNf(WAITING.nf).map(({ id }) => id);
  expect([ids.length, ids[0], ids.at(-1)]).toEqual([200, 'sc-201', 'sc-2']);
});
