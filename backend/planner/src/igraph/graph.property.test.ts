import { crossesServers } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makePlan } from '../plan/make-plan.js';
import { arbitraryChain } from '../testing/arbitrary.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { checkGraph, rate } from '../testing/instance-graph.js';

const shape = { nfs: ['ids', 'monitor', 'firewall', 'nat'], maxNodes: 6, exact: true } as const;

const inputs = fc.record({
  definition: arbitraryChain(shape),
  rate_bps: fc.constantFrom(1e6, 4e9, 12e9),
  cores: fc.integer({ min: 1, max: 6 }),
  execution: fc.constantFrom('sequential' as const, 'parallel' as const),
});

describe('the instance graph of a plan', () => {
  it('has both ends of every edge, a hop where the fabric carries it, and keeps rates', () => {
    const seen = { plans: 0, merges: 0 };
    fc.assert(
      fc.property(inputs, ({ definition, rate_bps, cores, execution }) => {
        const drawn = { ...definition, traffic_class: { ...definition.traffic_class, rate_bps } };
        const infrastructure = rack({ servers: 8, cores, ghz: 1, nic_bps: 1e12, link_bps: 1e12 });
        const all = ['mirror', 'merge'] as const;
        const { feasible, graph, cost } = makePlan({
          id: 'plan',
          created_ms: 0,
          chains: [{ chain_id: 'p-1', version: 1, definition: drawn, execution }],
          descriptors: CATALOGUE,
          infrastructure,
          abilities: Object.fromEntries(infrastructure.servers.map(({ id }) => [id, all])),
          base: null,
          budget: { steps: 20 },
        });
        fc.pre(feasible);
        checkGraph(graph);
        expect(cost.cross_traffic_bps).toBeCloseTo(rate(graph.edges.filter(crossesServers)), 0);
        seen.plans++;
        if (graph.nodes.some(({ kind }) => kind === 'merge')) seen.merges++;
      }),
      { numRuns: 60, seed: 1 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(5);
  });
});
