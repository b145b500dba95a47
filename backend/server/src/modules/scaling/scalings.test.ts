import type { EventDraft, Scaling } from '@orrery/contract';
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
  const actors: (string | undefined)[] = [];
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
  const appendIn = (_: unknown, { type, actor }: EventDraft) => {
    told.push(type);
    actors.push(actor);
  };
  const events = { appendIn } as unknown as EventLog;
  const requireFree = ({ claim, resources }: Parameters<LeaseBook['requireFree']>[0]) => {
    if (held.some((lease) => lease.startsWith(`${claim} ${resources[0]}`))) throw new Error('another holds it');
  };
  const leases = {
    requireFree,
    acquireIn: (_: unknown, { claim, holder, resources }: Parameters<LeaseBook['acquireIn']>[1]) => {
      requireFree({ claim, holder, resources });
      held.push(`${claim} ${resources[0]} ${holder}`);
    },
    releaseIn: (_: unknown, claim: string, holder: string) => {
      const kept = held.filter((lease) => !(lease.startsWith(claim) && lease.endsWith(` ${holder}`)));
      held.splice(0, held.length, ...kept);
    },
  } as unknown as LeaseBook;
  return { scalings: new Scalings(collections, events, leases), told, actors, held };
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

it('is told to end by who cancelled it, and otherwise by who began it', async () => {
  for (const [more, actor] of [
    [{ state: 'cancelled', cancelled_by: 'bob' }, 'bob'],
    [{ state: 'completed', cancelled_by: null }, 'ann'],
  ] as const) {
    const { scalings, actors } = scalingsWith(WAITING);
    await scalings.write({ ...WAITING, step: 3, ...more }, WAITING);
    expect(actors).toEqual([actor]);
  }
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
  expect(() => scalings.requireFree({ ...WAITING, id: 'sc-2' })).toThrow('ids is being scaled to 1 instance:');
  await scalings.write({ ...WAITING, step: 2 }, WAITING);
  expect(held).toHaveLength(1);
  await scalings.write({ ...WAITING, step: 3, state: 'completed' }, { ...WAITING, step: 2 });
  expect(held).toEqual([]);
  const other = { ...WAITING, id: 'sc-2' };
  scalings.requireFree(other);
  await scalings.begin(other);
  await scalings.forget(other);
  expect(held).toEqual([]);
  // What was forgotten meanwhile is not written again.
  expect(await scalings.write({ ...other, step: 2 }, other)).toBe(false);
  held.push('change chain/c-1 reconfiguration');
  await expect(scalings.begin(other)).rejects.toThrow('another holds it');
  expect(() => scalings.requireFree(other)).toThrow('another holds it');
  expect(scalings.all().map(({ id }) => id)).toEqual(['sc-1']);
});

async function storedScalings() {
  const store = new MemoryStore();
  const collections = new Collections(store.open(), makeLog('silent'));
  const leases = { acquireIn: () => undefined, releaseIn: () => undefined } as unknown as LeaseBook;
  const scalings = new Scalings(collections, store.events, leases);
  await scalings.onModuleInit();
  let begins = 0;
  /** One that has ended; the wall clock goes back. */
  const end = async (id: string, more: Partial<Scaling> = {}) => {
    const begun = { ...WAITING, id, started_ms: 1000 - begins++, ...more, state: 'running' as const };
    await scalings.begin(begun);
    await scalings.write({ ...begun, state: more.state ?? 'completed' }, begun);
  };
  return { scalings, end };
}

it('that began last is the first, and the last to be forgotten, also once the wall clock was set back', async () => {
  const { scalings, end } = await storedScalings();
  for (let n = 0; n < 202; n++) await end(`sc-${n}`);
  const ids = scalings.ofNf(WAITING.nf).map(({ id }) => id);
  expect([ids.length, ids[0], ids.at(-1)]).toEqual([200, 'sc-201', 'sc-2']);
});

it('keeps what the next change of an NF is decided by, however many others there were since, of others and of its own', async () => {
  const { scalings, end } = await storedScalings();
  const nf = { chain_id: 'c-2', node_id: 'vpn' };
  const tracking = { nf, from: 2, to: 2, steps: ['track'] as Scaling['steps'] };
  await end('changed', { nf });
  for (let n = 0; n < 12; n++) await end(`failed-${n}`, { ...tracking, state: 'failed' });
  for (let n = 0; n < 201; n++) await end(`sc-${n}`);
  const failed = Array.from({ length: 10 }, (_, n) => `failed-${11 - n}`);
  expect(scalings.ofNf(nf).map(({ id }) => id)).toEqual([...failed, 'changed']);
  expect(scalings.all()).toHaveLength(200);
});
