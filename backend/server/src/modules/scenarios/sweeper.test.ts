import { expect, it } from 'vitest';
import type { Log } from '../../platform/log.js';
import { type Api, Unavailable } from './api-caller.js';
import type { Ledger, Made } from './ledger.js';
import { synChain } from './swap/chains.js';
import { Sweeper } from './sweeper.js';

const RUN = 'sr-1';
const log = { warn: () => undefined } as unknown as Log;

function ledgerWith(...made: Made[]) {
  const entries = new Map<string, readonly Made[]>([[RUN, made]]);
  const ledger = {
    runs: () => [...entries.keys()],
    of: async (id: string) => [...(entries.get(id) ?? [])],
    change: async (id, work) => void entries.set(id, work(entries.get(id) ?? [])),
  } as Pick<Ledger, 'runs' | 'of' | 'change'> as Ledger;
  return { ledger, entries };
}

/** An API with one chain, which cannot be deleted while it is locked. */
function apiWith(chain: { id: string; created_ms: number; locked?: boolean }) {
  const deleted: string[] = [];
  const answers: Record<string, () => unknown> = {
    listChains: () => ({ items: [{ ...chain, draft: synChain() }].filter(({ id }) => !deleted.includes(id)) }),
    listReconfigurations: () => ({ items: [] }),
    getChain: () => ({ deployment_state: 'none' }),
    createChain: () => {
      throw new Error('killed');
    },
    deleteChain: () => {
      if (chain.locked) throw new Error('locked');
      deleted.push(chain.id);
    },
  };
  const api = { call: async (name: string) => answers[name]!(), end: async () => undefined } as unknown as Api;
  return { api, deleted };
}

const noted = { kind: 'chain', request: synChain(), id: null, noted_ms: 1000 } as const;
const { signal } = new AbortController();

it('finds the resource that was recorded, and leaves an older one with the same name alone', async () => {
  for (const [created_ms, gone] of [
    [1001, ['ch-1']],
    [999, []],
  ] as const) {
    const { api, deleted } = apiWith({ id: 'ch-1', created_ms });
    const { ledger, entries } = ledgerWith(noted);
    expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(true);
    expect(deleted).toEqual(gone);
    expect(entries.get(RUN)).toEqual([]);
  }
});

const load = { id: 'load', kind: 'http-client', node: 'client-4', config: { to: 'web-2', rate_per_s: 20 } };
const notedLoad = { kind: 'application', request: load, id: null, noted_ms: 1000 } as const;

/** An API with one declared application, whatever the state of the twin. */
function apiWithApplication(application: { id: string; created_ms: number }) {
  const deleted: string[] = [];
  const answers: Record<string, (id?: string) => unknown> = {
    listApplications: () => ({ items: [application] }),
    deleteApplication: (id) => deleted.push(id!),
  };
  const api = {
    call: async (name: string, options?: { params?: { id: string } }) => answers[name]!(options?.params?.id),
    end: async () => undefined,
  } as unknown as Api;
  return { api, deleted };
}

it.each([
  ['created by the run, although its id is not recorded', { id: 'load', created_ms: 1001 }, null, ['load']],
  ['created by the run', { id: 'load', created_ms: 1001 }, 'load', ['load']],
  ['declared earlier by a user', { id: 'load', created_ms: 999 }, null, []],
  ['a different one', { id: 'other', created_ms: 1001 }, null, []],
] as const)('removes only an application of the run: %s', async (_, application, id, gone) => {
  const { api, deleted } = apiWithApplication(application);
  const { ledger, entries } = ledgerWith({ ...notedLoad, id });
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(true);
  expect(deleted).toEqual(gone);
  expect(entries.get(RUN)).toEqual([]);
});

const fault = { kind: 'link-down', target: 'leaf-1-server-1' };
const OFF = { enabled: true, daemon: 'off', state: null };
const DOWN = { enabled: true, daemon: 'running', state: null };
const BUILDING = { ...DOWN, state: { phase: 'building' } };
const UP = { ...DOWN, state: { phase: 'up' } };
const LOST = { ...DOWN, daemon: 'lost' };
const emulated = (origin: string) => ({ servers: [], switches: [], hosts: [{ origin }] });

/** A twin that goes through these states, one per poll, and stays in the last; its faults are listed only while it is up. */
function twinThat(...looks: object[]) {
  const faults = [
    { id: 'of-a-user', since_ms: 999, ...fault },
    { id: 'of-the-run', since_ms: 1001, ...fault },
    { id: 'elsewhere', since_ms: 1001, ...fault, target: 'leaf-1-server-2' },
  ];
  const cleared: string[] = [];
  let now = looks[0]!;
  const answers: Record<string, (id?: string) => unknown> = {
    getTwin: () => {
      now = looks.length > 1 ? looks.shift()! : looks[0]!;
      return now;
    },
    getInfrastructure: () => emulated(looks.includes(UP) ? 'twin' : 'live'),
    listFaults: () => ({ items: now === UP && looks[0] === UP ? faults : [] }),
    clearFault: (id) => cleared.push(id!),
  };
  const api = {
    call: async (name: string, options?: { params?: { id: string } }) => answers[name]!(options?.params?.id),
    end: async () => undefined,
  } as unknown as Api;
  return { api, cleared };
}
const notedFault = { kind: 'fault', request: fault, id: null, noted_ms: 1000 } as const;

it.each([
  ['a starting server has not seen', [OFF, UP]],
  ['has not reported', [DOWN, UP]],
  ['is not built', [LOST, BUILDING, UP]],
] as const)('waits for a twin that %s yet', async (_, looks) => {
  const { api, cleared } = twinThat(...looks);
  const { ledger, entries } = ledgerWith({ ...notedFault, id: 'of-the-run' });
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(true);
  expect(cleared).toEqual(['of-the-run']);
  expect(entries.get(RUN)).toEqual([]);
});

it('looks for no faults if nothing is emulated', async () => {
  const { ledger, entries } = ledgerWith(notedFault);
  expect(await new Sweeper(log, ledger).sweep(twinThat(OFF).api, RUN, signal)).toBe(true);
  expect(entries.get(RUN)).toEqual([]);
});

it('fails and can be retried while a dependency is away', async () => {
  const { api } = apiWith({ id: 'ch-1', created_ms: 1001 });
  const away = { ...api, call: async () => Promise.reject(new Unavailable('away')) } as unknown as Api;
  const { ledger, entries } = ledgerWith(noted);
  await expect(new Sweeper(log, ledger).sweep(away, RUN, signal)).rejects.toThrow('away');
  expect(entries.get(RUN)).toHaveLength(1);
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(true);
});

it('records a resource before creating it', async () => {
  const { api } = apiWith({ id: 'ch-1', created_ms: 1001 });
  const { ledger, entries } = ledgerWith();
  await expect(new Sweeper(log, ledger).make(api, RUN, 'chain', synChain())).rejects.toThrow('killed');
  expect(entries.get(RUN)).toMatchObject([{ kind: 'chain', id: null }]);
});

it('records everything that is created concurrently', async () => {
  const { ledger, entries } = ledgerWith();
  const sweeper = new Sweeper(log, ledger);
  let clients = 0;
  const api = { call: async () => ({ id: `load-${++clients}` }) } as unknown as Api;
  const ids = await Promise.all([1, 2, 3].map(() => sweeper.make(api, RUN, 'application', load)));
  expect(new Set(entries.get(RUN)!.map(({ id }) => id))).toEqual(new Set(ids));
});

it('keeps the record of what it could not remove', async () => {
  const { api } = apiWith({ id: 'ch-1', created_ms: 1001, locked: true });
  const { ledger, entries } = ledgerWith({ ...noted, id: 'ch-1' });
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(false);
  expect(entries.get(RUN)).toHaveLength(1);
});

it('clears the recorded fault, and no other on the same target', async () => {
  const { api, cleared } = twinThat(UP);
  const { ledger, entries } = ledgerWith(notedFault);
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(true);
  expect(cleared).toEqual(['of-the-run']);
  expect(entries.get(RUN)).toEqual([]);
});

it('puts the policy of healing back once it was noted, and changes nothing otherwise', async () => {
  const policy = { enabled: true, grace_s: 10, stable_s: 20, return: 'by-origin', max_changes: 6 };
  const put: unknown[] = [];
  const api = {
    call: async (name: string, options?: { body?: unknown }) => void put.push([name, options?.body]),
  } as unknown as Api;
  const { ledger, entries } = ledgerWith();
  const sweeper = new Sweeper(log, ledger);
  const id = await sweeper.make(api, RUN, 'healing-policy', policy);
  expect(put).toEqual([]);
  expect(entries.get(RUN)).toMatchObject([{ kind: 'healing-policy', id }]);
  expect(await sweeper.sweep(api, RUN, signal)).toBe(true);
  expect(put).toEqual([['putHealingPolicy', policy]]);

  const unsure = ledgerWith({ kind: 'healing-policy', request: policy, id: null, noted_ms: 1000 });
  expect(await new Sweeper(log, unsure.ledger).sweep(api, RUN, signal)).toBe(true);
  expect(put).toHaveLength(1);
});

it('removes the scaling policy of the NF that the run asked for, and no other', async () => {
  const nf = { chain_id: 'ch-1', node_id: 'ids' };
  const deleted: unknown[] = [];
  const answers: Record<string, (id?: string) => unknown> = {
    listScalingPolicies: () => ({
      items: [
        { id: 'sp-1', nf },
        { id: 'sp-2', nf: { ...nf, node_id: 'nat' } },
      ],
    }),
    deleteScalingPolicy: (id) => deleted.push(id),
  };
  const api = {
    call: async (name: string, options?: { params?: { id: string } }) => answers[name]!(options?.params?.id),
  } as unknown as Api;
  const { ledger } = ledgerWith({ kind: 'scaling-policy', request: { nf }, id: null, noted_ms: 1000 });
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(true);
  expect(deleted).toEqual(['sp-1']);
});
