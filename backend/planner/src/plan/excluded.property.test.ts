import { nfInstances, Plan, type PlannedChain } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freeSlots, usableSlots } from '../accelerator/usable-slots.js';
import { CORE_BUDGET } from '../igraph/sizing.js';
import { board } from '../testing/boards.js';
import { chainOf } from '../testing/chains.js';
import { FIREWALL, MONITOR } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import type { PlanInput } from './input.js';
import { makePlan } from './make-plan.js';
import { planRefusal } from './refusal.js';

const DESCRIPTORS = [MONITOR, FIREWALL];

interface Wanted {
  readonly nf: string;
  /** Of a core of 2 GHz at 1000 cycles a packet. */
  readonly share: number;
  readonly priority: number;
}

/** One NF a chain. */
const chainsOf = (wanted: readonly Wanted[]): PlannedChain[] =>
  wanted.map(({ nf, share, priority }, i) => {
    const definition = chainOf({ a: nf }, [
      ['in', 'a'],
      ['a', 'out'],
    ]);
    const match = [{ attribute: 'port.dst', op: 'is' as const, value: i + 1 }];
    const rate_bps = share * 2e6 * 8 * 800;
    const traffic_class = { ...definition.traffic_class, match, rate_bps, packet_bytes: 800 };
    return { chain_id: `id-${i}`, version: 1, definition: { ...definition, name: `c${i}`, priority, traffic_class } };
  });

/** Whether shares fit on so many cores, by trying everything. */
function fits([share, ...rest]: readonly number[], cores: readonly number[]): boolean {
  if (share === undefined) return true;
  return cores.some((free, i) => free >= share - 1e-9 && fits(rest, cores.toSpliced(i, 1, free - share)));
}
const coresOf = (count: number) => Array<number>(count).fill(CORE_BUDGET);

const plan = (wanted: readonly Wanted[], servers: number, cores: number, more: Partial<PlanInput> = {}): Plan =>
  makePlan({
    id: 'plan',
    created_ms: 0,
    chains: chainsOf(wanted),
    descriptors: DESCRIPTORS,
    infrastructure: rack({ servers, cores }),
    base: null,
    budget: { steps: 10 },
    ...more,
  });

const wanted = (most: number) =>
  fc.array(
    fc.record({
      nf: fc.constantFrom('monitor', 'firewall'),
      share: fc.integer({ min: 2, max: 16 }).map((n) => n / 20),
      priority: fc.constantFrom(10, 50, 90),
    }),
    { minLength: 1, maxLength: most },
  );
const cases = fc
  .record({ servers: fc.integer({ min: 2, max: 4 }), cores: fc.integer({ min: 1, max: 2 }), all: wanted(5) })
  .chain(({ servers, cores, all }) => {
    const ids = Array.from({ length: servers }, (_, i) => `server-${i + 1}`);
    return fc.record({
      servers: fc.constant(servers),
      cores: fc.constant(cores),
      all: fc.constant(all),
      without: fc.subarray(ids, { minLength: 1, maxLength: servers - 1 }),
      isLost: fc.boolean(),
    });
  });

describe('servers that a plan must not use', () => {
  it('get nothing, what runs elsewhere stays, and there is a plan exactly where the others have room', () => {
    const seen = { moved: 0, stayed: 0, refused: 0, lost: 0 };
    fc.assert(
      fc.property(cases, ({ servers, cores, all, without, isLost }) => {
        const base = plan(all, servers, cores);
        fc.pre(base.feasible);
        const excluded = isLost ? { lost_servers: without } : { without_servers: without };
        const next = plan(all, servers, cores, { base, ...excluded });
        expect(Plan.safeParse(next).success).toBe(true);
        const room = coresOf((servers - without.length) * cores);
        expect(next.feasible).toBe(
          fits(
            all.map(({ share }) => share).toSorted((a, b) => b - a),
            room,
          ),
        );
        if (!next.feasible) {
          expect(planRefusal(next)).not.toBe('');
          seen.refused++;
          return;
        }
        expect(next.excluded?.servers).toEqual([...without].sort());
        const before = new Map(nfInstances(base.graph).map((it) => [it.chain_id, it]));
        let isCrowded = false;
        for (const is of nfInstances(next.graph)) {
          expect(without).not.toContain(is.server);
          const was = before.get(is.chain_id)!;
          if (!without.includes(was.server)) {
            if (was.id === is.id) seen.stayed++;
            else isCrowded = true;
            continue;
          }
          seen.moved++;
          expect(is.id).not.toBe(was.id);
          const { because } = next.reasons.find(({ part, subject }) => part === 'placement' && subject === is.id)!;
          const why = isLost ? 'which is lost; what it held is lost' : 'which the plan must not use';
          expect(because).toContain(`It leaves ${was.server}, core ${was.core}, ${why}`);
          // The flow state of both kinds of NF goes with them, unless its server is lost.
          expect(next.migrations.some(({ from }) => from === was.id)).toBe(!isLost);
          expect(next.abandoned.includes(was.id)).toBe(isLost);
          if (isLost) {
            seen.lost++;
            expect(next.problems.map(({ message }) => message).join()).toContain(`was lost with ${was.server}`);
          }
        }
        // What runs elsewhere leaves its core only where the others would not fit beside it.
        const used = nfInstances(base.graph).filter(({ server }) => !without.includes(server));
        const left = coresOf(cores * servers)
          .map((free, i) => ({ free, server: `server-${Math.floor(i / cores) + 1}`, core: i % cores }))
          .filter(({ server }) => !without.includes(server))
          .map(({ free, server, core }) =>
            used
              .filter((it) => it.server === server && it.core === core)
              .reduce((sum, it) => sum - it.core_share, free),
          );
        const moving = nfInstances(base.graph).filter(({ server }) => without.includes(server));
        if (isCrowded)
          expect(
            fits(
              moving.map(({ core_share }) => core_share),
              left,
            ),
          ).toBe(false);
        if (isLost) expect(next.steps.filter(({ subject }) => without.includes(subject))).toEqual([]);
      }),
      { numRuns: 50, seed: 5 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
  });
});

describe('servers that are closed', () => {
  it('keep what runs there, get nothing else, and cost no chain its place while another one is drained by force', () => {
    const seen = { stayed: 0, left: 0, refused: 0 };
    const few = fc.record({ servers: fc.integer({ min: 2, max: 3 }), all: wanted(5), added: wanted(2) });
    fc.assert(
      fc.property(few, ({ servers, all, added }) => {
        const base = plan(all, servers, 1);
        fc.pre(base.feasible);
        const before = new Map(nfInstances(base.graph).map((it) => [it.id, it]));
        const held = [...before.values()].filter(({ server }) => server === 'server-1');
        const expectClosed = (next: Plan) => {
          const there = nfInstances(next.graph).filter(({ server }) => server === 'server-1');
          expect(there.map(({ id }) => id).sort()).toEqual(held.map(({ id }) => id).sort());
          seen.stayed += there.length;
        };
        const more = plan([...all, ...added], servers, 1, { base, closed_servers: ['server-1'] });
        const others = [...before.values()].filter(({ server }) => server !== 'server-1');
        const shares = [...others.map(({ core_share }) => core_share), ...added.map(({ share }) => share)];
        expect(more.feasible).toBe(
          fits(
            shares.toSorted((a, b) => b - a),
            coresOf(servers - 1),
          ),
        );
        if (more.feasible) expectClosed(more);
        else seen.refused++;
        expect(more.excluded).toBeUndefined();

        const drained = { without_servers: ['server-2'], closed_servers: ['server-1'] };
        const forced = plan(all, servers, 1, { base, ...drained, when_short: 'leave-out' });
        expectClosed(forced);
        seen.left += forced.not_kept?.length ?? 0;
      }),
      { numRuns: 40, seed: 8 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
  });

  it('hold the slots in use of boards, and no other', () => {
    const infrastructure = { ...rack(), boards: [board('board-1', 'server-1')] };
    const base = { graph: { nodes: [{ kind: 'nf', board: { board: 'board-1', slot: 1 } }] } } as unknown as Plan;
    for (const closed of [{ closed_boards: ['board-1'] }, { closed_servers: ['server-1'] }]) {
      const input = { infrastructure, base, ...closed };
      expect(usableSlots(input).map(({ slot }) => slot)).toEqual([1]);
      expect(freeSlots(input)).toMatchObject([{ slot: 1, taken: true }]);
      expect(usableSlots({ ...input, without_boards: ['board-1'] })).toEqual([]);
    }
  });
});

describe('a plan that leaves out what does not fit', () => {
  it('keeps each chain that has a place beside the more important ones, as brute force says', () => {
    const seen = { whole: 0, left: 0, behind: 0 };
    const few = fc.record({ servers: fc.integer({ min: 1, max: 3 }), cores: fc.constant(1), all: wanted(6) });
    fc.assert(
      fc.property(few, ({ servers, cores, all }) => {
        const made = plan(all, servers, cores, { when_short: 'leave-out' });
        expect(Plan.safeParse(made).success).toBe(true);
        expect(made.feasible).toBe(true);
        const kept = new Set(made.chains.map(({ chain_id }) => chain_id));
        const told = new Map(made.not_kept?.map((it) => [it.chain_id, it]));
        expect([...kept, ...told.keys()].sort()).toEqual(all.map((_, i) => `id-${i}`).sort());
        const ranked = all.map((it, i) => ({ ...it, id: `id-${i}` })).toSorted((a, b) => b.priority - a.priority);
        const above: number[] = [];
        for (const { id, share, priority } of ranked) {
          const has = fits(
            [...above, share].toSorted((a, b) => b - a),
            coresOf(servers * cores),
          );
          expect(kept.has(id)).toBe(has);
          if (has) above.push(share);
          else {
            expect(told.get(id)).toMatchObject({ slo_id: null, priority, constraint: { constraint: 'cpu' } });
            expect(made.reasons.some(({ subject, decision }) => subject === id && decision === 'left out')).toBe(true);
            if (ranked.some((it) => kept.has(it.id) && it.priority < priority)) seen.behind++;
          }
        }
        seen[told.size > 0 ? 'left' : 'whole']++;
      }),
      { numRuns: 50, seed: 6 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
  });

  it('takes down what runs, less important first, and drops its packets where the chain fails closed', () => {
    const base = plan([A, B], 2, 1);
    const shut = (it: PlannedChain): PlannedChain => ({
      ...it,
      definition: { ...it.definition, traffic_class: { ...it.definition.traffic_class, fail_closed: true } },
    });
    const chains = chainsOf([A, B]).map((it, i) => (i === 0 ? shut(it) : it));
    const more = { base, chains, lost_servers: ['server-1'], when_short: 'leave-out' as const };
    const made = plan([A, B], 2, 1, more);
    expect(made).toMatchObject({
      feasible: true,
      chains: [{ chain_id: 'id-1' }],
      guarded: [{ chain_id: 'id-0' }],
      not_kept: [{ chain_id: 'id-0', slo_id: null, priority: 10 }],
    });
    expect(made.fabric.rules.filter(({ kind }) => kind === 'guard')).toMatchObject([{ chain_id: 'id-0' }]);
    expect(plan([A, B], 2, 1, { ...more, when_short: 'refuse' }).feasible).toBe(false);
  });
});

const A: Wanted = { nf: 'monitor', share: 0.6, priority: 10 };
const B: Wanted = { nf: 'firewall', share: 0.6, priority: 90 };
