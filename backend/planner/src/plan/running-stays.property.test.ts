import { lineageOf, type NfDescriptor, nfInstances, Plan, type PlannedChain } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chainOf } from '../testing/chains.js';
import { descriptor, FIREWALL, MONITOR, NAT } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

const STATELESS = descriptor('plain', { state: { kind: 'none', key: [] }, affinity: [] });
const DESCRIPTORS = [MONITOR, FIREWALL, NAT, STATELESS];
const stateful = (nf: string) => (DESCRIPTORS.find(({ id }) => id === nf) as NfDescriptor).state.kind !== 'none';

/** One NF a chain, with its load as a share of a core of 2 GHz at 1000 cycles a packet. */
const chains = (nfs: readonly string[], shares: readonly number[]): PlannedChain[] =>
  nfs.map((nf, i) => {
    const definition = chainOf({ a: nf }, [
      ['in', 'a'],
      ['a', 'out'],
    ]);
    const match = [{ attribute: 'port.dst', op: 'is' as const, value: i + 1 }];
    const traffic_class = {
      ...definition.traffic_class,
      match,
      rate_bps: shares[i]! * 2e6 * 8 * 800,
      packet_bytes: 800,
    };
    return { chain_id: `id-${i}`, version: 1, definition: { ...definition, name: `c${i}`, traffic_class } };
  });

const share = fc.integer({ min: 2, max: 16 }).map((n) => n / 20);
const cases = fc
  .record({
    servers: fc.integer({ min: 1, max: 4 }),
    cores: fc.integer({ min: 1, max: 2 }),
    count: fc.integer({ min: 1, max: 5 }),
  })
  .chain(({ servers, cores, count }) => {
    const shares = fc.array(share, { minLength: count, maxLength: count });
    return fc.record({
      infrastructure: fc.constant(rack({ servers, cores })),
      nfs: fc.array(fc.constantFrom(...DESCRIPTORS.map(({ id }) => id)), { minLength: count, maxLength: count }),
      loads: fc.array(shares, { minLength: 3, maxLength: 5 }),
    });
  });

describe('what runs, while loads change', () => {
  it('stays on its core, or goes over to a new instance with its flow state, as the plan says', () => {
    const seen = { kept: 0, moved: 0, again: 0, refused: 0 };
    fc.assert(
      fc.property(cases, ({ infrastructure, nfs, loads }) => {
        let base: Plan | null = null;
        for (const shares of loads) {
          const next: Plan = makePlan({
            id: 'plan',
            created_ms: 0,
            chains: chains(nfs, shares),
            descriptors: DESCRIPTORS,
            infrastructure,
            base,
            budget: { steps: 10 },
          });
          if (!next.feasible) {
            expect(next.conflicts.length).toBeGreaterThan(0);
            seen.refused++;
            continue;
          }
          expect(Plan.safeParse(next).success).toBe(true);
          if (base) {
            const now = new Map(nfInstances(next.graph).map((it) => [lineageOf(it.id), it]));
            const said = new Map(next.migrations.map((it) => [it.from, it]));
            const moved: string[] = [];
            for (const was of nfInstances((base as Plan).graph)) {
              const is = now.get(lineageOf(was.id));
              if (!is) continue;
              if (is.server === was.server && is.core === was.core) {
                expect(is.id).toBe(was.id);
                seen.kept++;
                continue;
              }
              expect(is.id).not.toBe(was.id);
              moved.push(is.id);
              if (!was.id.endsWith('.0')) seen.again++;
              expect(said.get(was.id)).toEqual(
                stateful(was.nf)
                  ? { from: was.id, from_server: was.server, to: is.id, to_server: is.server }
                  : undefined,
              );
              expect(
                next.reasons.find(({ part, subject }) => part === 'placement' && subject === is.id)!.because,
              ).toContain(`It leaves ${was.server}, core ${was.core}`);
            }
            expect([...next.diff.moved].sort()).toEqual([...moved].sort());
            expect(next.migrations.every(({ to }) => moved.includes(to))).toBe(true);
            seen.moved += moved.length;
          }
          base = next;
        }
      }),
      { numRuns: 120, seed: 41 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
  });

  it('does not move a firewall that keeps state for a monitor that grows, without saying so', () => {
    const made = (shares: readonly number[], base: Plan | null) =>
      makePlan({
        id: 'plan',
        created_ms: 0,
        chains: chains(['monitor', 'firewall'], shares),
        descriptors: DESCRIPTORS,
        infrastructure: rack({ servers: 2, cores: 1 }),
        base,
        budget: { steps: 10 },
      });
    const base = made([0.35, 0.4], null);
    const next = made([0.4375, 0.5], base);
    expect(next).toMatchObject({
      feasible: true,
      migrations: [{ from: 'c1.a.0', from_server: 'server-1', to: 'c1.a.0-2', to_server: 'server-2' }],
      diff: { moved: ['c1.a.0-2'], removed: [], added: [] },
    });
    expect(next.steps.map(({ kind }) => kind)).toContain('prepare-node');
  });
});
