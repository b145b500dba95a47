import type { Plan } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { configFrom } from '../../platform/config.js';
import type { EventDraft, EventLog } from '../../ports/event-log.js';
import type { NodeFleet } from '../../ports/node-fleet.js';
import { loadCatalogue } from '../nf-descriptors/catalogue.js';
import { StateMigration } from './state-migration.js';

const { descriptors } = await loadCatalogue(configFrom({}).catalogue);

type State = Record<string, unknown>;

/** Moves the state of one NF; `imported` is what the new instance was given, in order. */
function bench(nf: string) {
  const imported: State[] = [];
  const events: EventDraft[] = [];
  let exported: State = {};
  let refusing: readonly string[] = [];
  const call: NodeFleet['call'] = async (_node, method, _instance, { state }) => {
    if (refusing.includes(method)) throw new Error('no connection');
    if (method === 'import_state') imported.push(state as State);
    return exported;
  };
  const migration = new StateMigration({ call } as NodeFleet, { append: (event) => events.push(event) } as EventLog, {
    all: () => descriptors,
    find: (id) => descriptors.find((it) => it.id === id),
  });
  const plan = {
    id: 'plan',
    instances: [{ id: 'p.n.container-0', nf }],
    migrations: [{ from: 'p.n.0', from_server: 'server-1', to: 'p.n.container-0', to_server: 'server-2' }],
  } as unknown as Plan;
  return {
    imported,
    events,
    /** `refused`: what agents do not do meanwhile. */
    copy: async (when: 'before' | 'after', state: State, refused: readonly string[] = []) => {
      refusing = refused;
      exported = state;
      await migration.copy(plan, when);
    },
  };
}

/** What each NF's software exports of its state (agents/engine/nfs). */
const ROWS = [
  { nf: 'nat', table: 'flows', key: 3 },
  { nf: 'ddos-detector', table: 'counters', key: 1 },
  ...['monitor', 'ids', 'stateful-firewall', 'elephant-detector'].map((nf) => ({ nf, table: 'flows', key: 5 })),
];

describe('state that goes over to another instance', () => {
  it.each(ROWS)('is, after the first copy, only entries that are new ($nf)', async ({ nf, table, key }) => {
    const row = fc.array(fc.nat(2), { minLength: 9, maxLength: 9 });
    const rows = fc.uniqueArray(row, { maxLength: 8, selector: (it) => it.slice(0, key).join() });
    const identity = (it: unknown) => (it as number[]).slice(0, key).join();
    let both = 0;
    await fc.assert(
      fc.asyncProperty(rows, rows, async (first, later) => {
        const { imported, copy } = bench(nf);
        await copy('before', { [table]: first, window_age_ms: 3 });
        await copy('before', { [table]: later, window_age_ms: 3 });
        await copy('after', { [table]: later, window_age_ms: 4 });
        const known = new Set(first.map(identity));
        const fresh = later.filter((it) => !known.has(identity(it)));
        const expected = [first, fresh].filter((list) => list.length > 0);
        expect(imported.map((state) => state[table])).toEqual(expected);
        expect(imported.every((state) => 'window_age_ms' in state)).toBe(true);
        if (expected.length === 2) both++;
      }),
      { numRuns: 100, seed: 1 },
    );
    expect(both).toBeGreaterThan(20);
  });

  it('goes over once where it is figures, and not at all where there is none', async () => {
    const { imported, copy } = bench('rate-limiter');
    await copy('before', { tokens_bytes: 1500 });
    await copy('after', { tokens_bytes: 10 });
    expect(imported).toEqual([{ tokens_bytes: 1500 }]);
    const none = bench('firewall');
    await none.copy('before', {});
    await none.copy('after', {});
    expect(none).toMatchObject({ imported: [], events: [] });
  });

  it.each(['export_state', 'import_state'])(
    'goes over as a whole the second time where the first did not succeed, which is told (%s)',
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
