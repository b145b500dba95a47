import { type EventDraft, flowRowNumbers, formatFlowRows, type Plan, parseFlowRows } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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
