import { TrafficRequest } from '@orrery/contract';
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
    runs: async () => [...entries.keys()],
    of: async (id: string) => [...(entries.get(id) ?? [])],
    write: async (id: string, now: readonly Made[]) => void entries.set(id, now),
  } as Ledger;
  return { ledger, entries };
}

/** An API with one chain, which refuses to be deleted while it is locked. */
function apiWith(chain: { id: string; created_ms: number; locked?: boolean }) {
  const deleted: string[] = [];
  const answers: Record<string, () => unknown> = {
    listPipelines: () => ({ items: [{ ...chain, draft: synChain() }].filter(({ id }) => !deleted.includes(id)) }),
    listReconfigurations: () => ({ items: [] }),
    getPipeline: () => ({ deployment_state: 'none' }),
    createPipeline: () => {
      throw new Error('killed');
    },
    deletePipeline: () => {
      if (chain.locked) throw new Error('locked');
      deleted.push(chain.id);
    },
  };
  const api = { call: async (name: string) => answers[name]!(), end: async () => undefined } as unknown as Api;
  return { api, deleted };
}

const noted = { kind: 'pipeline', request: synChain(), id: null, noted_ms: 1000 } as const;
const { signal } = new AbortController();

it('finds what was made of what was noted, and leaves an older one of the same name alone', async () => {
  for (const [created_ms, gone] of [
    [1001, ['pl-1']],
    [999, []],
  ] as const) {
    const { api, deleted } = apiWith({ id: 'pl-1', created_ms });
    const { ledger, entries } = ledgerWith(noted);
    expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(true);
    expect(deleted).toEqual(gone);
    expect(entries.get(RUN)).toEqual([]);
  }
});

const request = TrafficRequest.parse({ kind: 'http', from: 'client-4', to: 'web-2', rate_per_s: 20 });
const notedTraffic = { kind: 'traffic', request, id: null, noted_ms: 1000 } as const;
const OFF = { enabled: true, daemon: 'off', state: null };
const DOWN = { enabled: true, daemon: 'running', state: null };
const BUILDING = { ...DOWN, state: { phase: 'building' } };
const UP = { ...DOWN, state: { phase: 'up' } };
const LOST = { ...DOWN, daemon: 'lost' };
const emulated = (origin: string) => ({ servers: [], switches: [], hosts: [{ origin }] });

/** Traffic of a twin that is so at each look, and at last stays so; what runs is listed only while it is up. */
function twinThat(...looks: object[]) {
  const jobs = [
    { id: 'of-a-user', request, started_ms: 999 },
    { id: 'of-the-run', request, started_ms: 1001 },
  ];
  const stopped: string[] = [];
  let now = looks[0]!;
  const answers: Record<string, (id?: string) => unknown> = {
    getTwin: () => {
      now = looks.length > 1 ? looks.shift()! : looks[0]!;
      return now;
    },
    getInfrastructure: () => emulated(looks.includes(UP) ? 'twin' : 'live'),
    listTraffic: () => ({ items: now === UP && looks[0] === UP ? jobs : [] }),
    stopTraffic: (id) => stopped.push(id!),
  };
  const api = {
    call: async (name: string, options?: { params?: { id: string } }) => answers[name]!(options?.params?.id),
    end: async () => undefined,
  } as unknown as Api;
  return { api, stopped };
}

it('leaves traffic alone that a user had started before, though it is just what was noted', async () => {
  const { api, stopped } = twinThat(UP);
  const { ledger } = ledgerWith(notedTraffic);
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(true);
  expect(stopped).toEqual(['of-the-run']);
});

it.each([
  ['was not looked at by a server that starts', [OFF, UP]],
  ['was not heard of', [DOWN, UP]],
  ['was not built', [LOST, BUILDING, UP]],
] as const)('waits for traffic that a twin runs again which %s yet', async (_, looks) => {
  const { api, stopped } = twinThat(...looks);
  const { ledger, entries } = ledgerWith({ ...notedTraffic, id: 'of-the-run' });
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(true);
  expect(stopped).toEqual(['of-the-run']);
  expect(entries.get(RUN)).toEqual([]);
});

it('keeps traffic noted when the twin is lost while it is listed', async () => {
  const { api, stopped } = twinThat(UP, LOST);
  const { ledger, entries } = ledgerWith(notedTraffic);
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(false);
  expect(stopped).toEqual([]);
  expect(entries.get(RUN)).toHaveLength(1);
});

it('looks for no traffic where nothing is emulated', async () => {
  const { ledger, entries } = ledgerWith(notedTraffic);
  expect(await new Sweeper(log, ledger).sweep(twinThat(OFF).api, RUN, signal)).toBe(true);
  expect(entries.get(RUN)).toEqual([]);
});

it('gives up, to be called again, while what it needs is away', async () => {
  const { api } = apiWith({ id: 'pl-1', created_ms: 1001 });
  const away = { ...api, call: async () => Promise.reject(new Unavailable('away')) } as unknown as Api;
  const { ledger, entries } = ledgerWith(noted);
  await expect(new Sweeper(log, ledger).sweep(away, RUN, signal)).rejects.toThrow('away');
  expect(entries.get(RUN)).toHaveLength(1);
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(true);
});

it('notes what is to be made before it is made', async () => {
  const { api } = apiWith({ id: 'pl-1', created_ms: 1001 });
  const { ledger, entries } = ledgerWith();
  await expect(new Sweeper(log, ledger).make(api, RUN, 'pipeline', synChain())).rejects.toThrow('killed');
  expect(entries.get(RUN)).toMatchObject([{ kind: 'pipeline', id: null }]);
});

it('keeps noted what it could not take away', async () => {
  const { api } = apiWith({ id: 'pl-1', created_ms: 1001, locked: true });
  const { ledger, entries } = ledgerWith({ ...noted, id: 'pl-1' });
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(false);
  expect(entries.get(RUN)).toHaveLength(1);
});
