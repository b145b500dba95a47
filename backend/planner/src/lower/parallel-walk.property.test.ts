import { type NfDescriptor, Plan } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makePlan } from '../plan/make-plan.js';
import { arbitraryChain, arbitraryPacket } from '../testing/arbitrary.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { checkGraph } from '../testing/instance-graph.js';
import { walkParallel } from '../testing/parallel-walk.js';
import { ASSUMED_ABILITIES } from './switch/abilities.js';

const FIELDS = ['ip.src', 'ip.dst', 'port.src', 'port.dst'] as const;
const fields = fc.subarray([...FIELDS]);

const profile = fc.record({
  actions: fc.record({
    reads: fields,
    writes: fc.subarray([...FIELDS], { maxLength: 2 }),
    adds: fc.constant<NfDescriptor['actions']['adds']>([]),
    removes: fc.constant<NfDescriptor['actions']['removes']>([]),
    may_drop: fc.boolean(),
  }),
  kind: fc.constantFrom('none', 'static', 'flow', 'aggregate' as const),
});

/** NFs that read, write, drop and keep state as it comes. */
const catalogues = fc.array(profile, { minLength: CATALOGUE.length, maxLength: CATALOGUE.length }).map((profiles) =>
  CATALOGUE.map((descriptor, i): NfDescriptor => {
    const { actions, kind } = profiles[i]!;
    return { ...descriptor, actions, affinity: [], return_traffic: false, state: { ...descriptor.state, kind } };
  }),
);

const COPYING = new Map(
  rack({ servers: 1, cores: 1, ghz: 1 }).switches.map(({ id }) => [
    id,
    { ...ASSUMED_ABILITIES, groups: { ...ASSUMED_ABILITIES.groups, all: true }, mirror: true },
  ]),
);

const shape = { nfs: ['ids', 'monitor', 'firewall', 'web-cache', 'normalizer'], maxNodes: 7, exact: true } as const;

/** NFs in line, enough for steps within steps. */
const lines = fc.array(fc.constantFrom(...shape.nfs), { minLength: 3, maxLength: 7 }).map((nfs) => {
  const ids = nfs.map((_, i) => `n${i}`);
  const edges = [...ids, 'out'].map((to, i): [string, string] => [i === 0 ? 'in' : ids[i - 1]!, to]);
  return chainOf(Object.fromEntries(nfs.map((nf, i) => [`n${i}`, nf])), edges);
});

const cases = fc.record({
  definition: fc.oneof(arbitraryChain(shape), lines),
  descriptors: catalogues,
  packets: fc.array(arbitraryPacket, { minLength: 20, maxLength: 20 }),
  rate_bps: fc.constantFrom(1e6, 1e9, 5e9, 8e9),
  cores: fc.integer({ min: 1, max: 6 }),
  parallelization: fc.constantFrom('orrery', 'parabox', 'first-fit' as const),
  switchCopies: fc.boolean(),
});

describe('a packet carried through the lowered parallel chain', () => {
  it('leaves as it does from the sequential chain, and every NF whose state could tell saw the same', () => {
    const seen = { plans: 0, steps: 0, nested: 0, crossings: 0, copied: 0, delivered: 0, dropped: 0 };
    fc.assert(
      fc.property(cases, ({ definition, descriptors, packets, rate_bps, cores, parallelization, switchCopies }) => {
        const drawn = { ...definition, traffic_class: { ...definition.traffic_class, from: ['client-1'], rate_bps } };
        const infrastructure = rack({ servers: 12, cores, ghz: 1, nic_bps: 1e12, link_bps: 1e12 });
        const able = ['mirror', 'merge'] as const;
        const plan = (execution: 'sequential' | 'parallel') =>
          makePlan({
            id: 'plan',
            created_ms: 0,
            options: { parallelization },
            chains: [{ chain_id: 'p-1', version: 1, definition: drawn, execution }],
            descriptors,
            infrastructure,
            abilities: Object.fromEntries(infrastructure.servers.map(({ id }) => [id, able])),
            switches: switchCopies ? COPYING : new Map(),
            base: null,
            budget: { steps: 20 },
          });
        const sequential = plan('sequential');
        const parallel = plan('parallel');
        fc.pre(sequential.feasible && parallel.feasible);
        expect(() => Plan.parse(parallel)).not.toThrow();
        checkGraph(parallel.graph);
        seen.plans++;
        const mirrors = parallel.graph.nodes.filter(({ kind }) => kind === 'mirror');
        if (mirrors.length > 0) seen.steps++;
        if (mirrors.some(({ id }) => id.endsWith('-1'))) seen.nested++;
        if (mirrors.length > 0 && parallel.cost.cross_traffic_bps > 0) seen.crossings++;
        const stateful = new Set(
          drawn.nodes.flatMap((node) => {
            const state = node.kind === 'nf' ? descriptors.find(({ id }) => id === node.nf)!.state.kind : 'none';
            return state === 'flow' || state === 'aggregate' ? [node.id] : [];
          }),
        );
        for (const start of packets) {
          const before = walkParallel(sequential, descriptors, 'client-1', start);
          const now = walkParallel(parallel, descriptors, 'client-1', start);
          expect(now.left).toBe(before.left);
          seen.copied += now.copied;
          if (!switchCopies) expect(now.copied).toBe(0);
          if (mirrors.length > 0) seen[before.left === null ? 'dropped' : 'delivered']++;
          const told = (visits: readonly string[]) =>
            before.left === null ? visits.filter((visit) => stateful.has(visit.split(' ')[0]!)) : visits;
          expect(told(now.visits)).toEqual(told(before.visits));
        }
      }),
      { numRuns: 300, seed: 1 },
    );
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
  });
});
