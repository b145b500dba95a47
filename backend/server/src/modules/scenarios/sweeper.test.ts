import { expect, it } from 'vitest';
import type { Log } from '../../platform/log.js';
import type { Api } from './api-caller.js';
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
