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

it('leaves traffic alone that a user had started before, though it is just what was noted', async () => {
  const request = TrafficRequest.parse({ kind: 'http', from: 'client-4', to: 'web-2', rate_per_s: 20 });
  const jobs = [
    { id: 'of-a-user', request, started_ms: 999 },
    { id: 'of-the-run', request, started_ms: 1001 },
  ];
  const stopped: string[] = [];
  const answers: Record<string, (id?: string) => unknown> = {
    getTwin: () => ({ daemon: 'running' }),
    listTraffic: () => ({ items: jobs }),
    stopTraffic: (id) => stopped.push(id!),
  };
  const api = {
    call: async (name: string, options?: { params?: { id: string } }) => answers[name]!(options?.params?.id),
    end: async () => undefined,
  } as unknown as Api;
  const { ledger } = ledgerWith({ kind: 'traffic', request, id: null, noted_ms: 1000 });
  expect(await new Sweeper(log, ledger).sweep(api, RUN, signal)).toBe(true);
  expect(stopped).toEqual(['of-the-run']);
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
