import { type EventDraft, flowRowNumbers, formatFlowRows, type Plan, parseFlowRows } from '@orrery/contract';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { configFrom } from '../../platform/config.js';
import type { EventLog } from '../../ports/event-log.js';
import type { NodeFleet } from '../../ports/node-fleet.js';
import { loadCatalogue } from '../nf-descriptors/catalogue.js';
import { StateMigration } from './state-migration.js';

const { descriptors } = await loadCatalogue(configFrom({}).catalogue);

type State = Record<string, unknown>;

/** Migrates the state of one NF; `imported` is what the new instance received, in order. */
function bench(nf: string) {
  const imported: State[] = [];
  const events: EventDraft[] = [];
  let exported: State = {};
  let refusing: readonly string[] = [];
  let answered: (method: string) => void = () => undefined;
  const call: NodeFleet['call'] = async (_node, method, _instance, { state }) => {
    if (refusing.includes(method)) throw new Error('no connection');
    answered(method);
    if (method === 'import_state') imported.push(state as State);
    return exported;
  };
  const log: EventLog = {
    append: (event) => events.push(event),
    appendIn: () => {
      throw new Error('a migration changes nothing that is stored');
    },
  };
  const migration = new StateMigration({ call } as NodeFleet, log, {
    all: () => descriptors,
    find: (id) => descriptors.find((it) => it.id === id),
  });
  const plan = {
    id: 'plan',
    graph: { nodes: [{ kind: 'nf', id: 'p.n.container-0', nf }], edges: [] },
    migrations: [{ from: 'p.n.0', from_server: 'server-1', to: 'p.n.container-0', to_server: 'server-2' }],
  } as unknown as Plan;
  return {
    imported,
    events,
    giveUp: () => migration.forget(plan.id),
    /** `refused`: calls that agents refuse during the copy. */
    copy: async (when: 'before' | 'after', state: State, refused: readonly string[] = []) => {
      refusing = refused;
      exported = state;
      answered = () => undefined;
      await migration.copy(plan, when, new AbortController().signal);
    },
    /** A copy that is cancelled while the agent answers the call. */
    cancelled: async (state: State, during: string) => {
      const cancel = new AbortController();
      exported = state;
      answered = (method) => method === during && cancel.abort(new Error('took too long'));
      await migration.copy(plan, 'before', cancel.signal);
    },
  };
}

/** State as the software of each NF exports it (agents/nfs). */
const ROWS = [
  { nf: 'nat', table: 'flows', key: 3 },
  { nf: 'ddos-detector', table: 'counters', key: 1 },
  ...['monitor', 'ids', 'stateful-firewall', 'elephant-detector'].map((nf) => ({ nf, table: 'flows', key: 5 })),
];

const WIDTHS = [1, 2, 4, 8, 1, 2, 4, 8, 4];
const FORMS = [
  { name: 'numbers', write: (rows: number[][]): unknown => rows, read: (value: unknown) => value },
  {
    name: 'binary rows',
    write: (rows: number[][]): unknown => formatFlowRows({ widths: WIDTHS, rows: rows.map(packed) }),
    read: (value: unknown) => flowRowNumbers(parseFlowRows(value as string)),
  },
];

/** For numbers below 256. */
function packed(row: readonly number[]): Uint8Array {
  return Uint8Array.from(row.flatMap((number, i) => [number, ...Array<number>(WIDTHS[i]! - 1).fill(0)]));
}

describe('state that is migrated to another instance', () => {
  it('is copied from the start again if the plan was given up between the copies', async () => {
    const { copy, giveUp, imported } = bench('nat');
    const state = { flows: [[1, 2, 3, 4]] };
    await copy('before', state);
    giveUp();
    await copy('before', state);
    await copy('after', state);
    expect(imported).toEqual([state, state]);
  });

  const cases = ROWS.flatMap((row) => FORMS.map((form) => ({ ...row, form })));
  it.each(cases)(
    'consists only of new entries after the first copy ($nf, $form.name)',
    async ({ nf, table, key, form }) => {
      const row = fc.array(fc.nat(2), { minLength: 9, maxLength: 9 });
      const rows = fc.uniqueArray(row, { maxLength: 8, selector: (it) => it.slice(0, key).join() });
      const identity = (it: unknown) => (it as number[]).slice(0, key).join();
      let both = 0;
      await fc.assert(
        fc.asyncProperty(rows, rows, async (first, later) => {
          const { imported, copy } = bench(nf);
          await copy('before', { [table]: form.write(first), window_age_ms: 3 });
          await copy('before', { [table]: form.write(later), window_age_ms: 3 });
          await copy('after', { [table]: form.write(later), window_age_ms: 4 });
          const known = new Set(first.map(identity));
          const fresh = later.filter((it) => !known.has(identity(it)));
          const expected = [first, fresh].filter((list) => list.length > 0);
          expect(imported.map((state) => form.read(state[table]))).toEqual(expected);
          expect(imported.every((state) => 'window_age_ms' in state)).toBe(true);
          if (expected.length === 2) both++;
        }),
        { numRuns: 100, seed: 1 },
      );
      expect(both).toBeGreaterThan(20);
    },
  );

  it('is copied once if it consists of figures, and not at all if there is none', async () => {
    const { imported, copy } = bench('rate-limiter');
    await copy('before', { tokens_bytes: 1500 });
    await copy('after', { tokens_bytes: 10 });
    expect(imported).toEqual([{ tokens_bytes: 1500 }]);
    const none = bench('firewall');
    await none.copy('before', {});
    await none.copy('after', {});
    expect(none).toMatchObject({ imported: [], events: [] });
  });

  it('of a tunnel is copied as a whole, also before anything was received, and again if it has changed', async () => {
    const { imported, copy } = bench('crypto-tunnel');
    const sent = { outbound_spi: 7, inbound: [] };
    await copy('before', sent);
    await copy('after', sent);
    expect(imported).toEqual([sent]);
    const { imported: both, copy: again } = bench('crypto-tunnel');
    const received = { outbound_spi: 7, inbound: [{ spi: 5, highest: 1, window: '02' }] };
    const later = { outbound_spi: 7, inbound: [{ spi: 5, highest: 2, window: '06' }] };
    await again('before', received);
    await again('after', later);
    expect(both).toEqual([received, later]);
  });

  it('ends when it is cancelled, and the next copy is complete', async () => {
    const { imported, events, copy, cancelled } = bench('nat');
    await expect(cancelled({ flows: [[1, 2, 3]] }, 'export_state')).rejects.toThrow('took too long');
    expect({ imported, events }).toEqual({ imported: [], events: [] });
    await expect(cancelled({ flows: [[1, 2, 3]] }, 'import_state')).rejects.toThrow('took too long');
    await copy('before', { flows: [[1, 2, 3]] });
    expect(imported).toHaveLength(2);
  });

  it('is tried again with every attempt to steer, and a failure is logged once', async () => {
    const { events, copy, imported } = bench('nat');
    for (let i = 0; i < 3; i++) await copy('before', { flows: [[1, 2, 3]] }, ['export_state']);
    await copy('before', { flows: [[1, 2, 3]] });
    expect(events.map(({ type }) => type)).toEqual(['instance.migration-failed', 'instance.migrated']);
    expect(imported).toHaveLength(1);
  });

  it.each(['export_state', 'import_state'])(
    'is copied completely the second time if the first copy failed, which is logged (%s)',
    async (method) => {
      const states = [
        { nf: 'rate-limiter', state: { tokens_bytes: 10 } },
        { nf: 'ddos-detector', state: { counters: [[1, 5]], window_age_ms: 3 } },
      ];
      for (const { nf, state } of states) {
        const { imported, events, copy } = bench(nf);
        await copy('before', state, [method]);
        await copy('after', state);
        expect(imported).toEqual([state]);
        expect(events.map(({ type }) => type)).toEqual(['instance.migration-failed', 'instance.migrated']);
      }
    },
  );
});

describe('agents that do not answer', () => {
  afterEach(() => void vi.useRealTimers());

  it('delay a deployment by 45 s in all, and are not asked again', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
    const asked: string[] = [];
    const imported: string[] = [];
    const events: EventDraft[] = [];
    const call: NodeFleet['call'] = (_node, method, instance, _params, signal) => {
      if (method === 'import_state') imported.push(instance);
      else asked.push(instance);
      if (instance.startsWith('quick')) return Promise.resolve({ flows: [[1, 2, 3]] });
      return new Promise((_done, failed) => signal?.addEventListener('abort', () => failed(new Error('cancelled'))));
    };
    const append = (event: EventDraft) => void events.push(event);
    const migration = new StateMigration({ call } as NodeFleet, { append } as unknown as EventLog, {
      all: () => descriptors,
      find: (id) => descriptors.find((it) => it.id === id),
    });
    const names = ['mute-0', 'mute-1', 'mute-2', 'quick'];
    const plan = {
      id: 'plan',
      graph: { nodes: names.map((name) => ({ kind: 'nf', id: `${name}-new`, nf: 'nat' })), edges: [] },
      migrations: names.map((name) => ({ from: name, from_server: 'a', to: `${name}-new`, to_server: 'b' })),
    } as unknown as Plan;
    const { signal } = new AbortController();
    const began = performance.now();

    const first = migration.copy(plan, 'before', signal);
    await vi.advanceTimersByTimeAsync(60_000);
    await first;
    expect(asked).toEqual(names);
    expect(imported).toEqual(['quick-new']);
    expect(events.map(({ message }) => message)).toEqual([
      'mute-0 to mute-0-new: flows could not be moved: took longer than 11.3 s',
      'mute-1 to mute-1-new: flows could not be moved: took longer than 11.3 s',
      'mute-2 to mute-2-new: flows could not be moved: took longer than 11.3 s',
      expect.stringContaining('quick to quick-new: 1 entries moved'),
    ]);
    await migration.copy(plan, 'before', signal);
    await migration.copy(plan, 'after', signal);
    expect(asked.slice(names.length)).toEqual(['quick']);
    expect(performance.now() - began).toBe(60_000);
  });
});
