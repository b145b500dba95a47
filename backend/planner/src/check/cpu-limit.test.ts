import { type ChainDefinition, nfInstances, type Plan } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CORE_BUDGET } from '../igraph/sizing.js';
import { makePlan } from '../plan/make-plan.js';
import { chainOf } from '../testing/chains.js';
import { withContainer } from '../testing/containers.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';

const NF = withContainer(descriptor('nf'));
const SERVERS = ['server-1', 'server-2', 'server-3'];

function limited(definition: ChainDefinition, cpu_limit: number | undefined): ChainDefinition {
  const nodes = definition.nodes.map((node) =>
    node.kind === 'nf' && cpu_limit !== undefined ? { ...node, cpu_limit } : node,
  );
  return { ...definition, nodes };
}

/** Two equal NFs one after the other. */
function plan(cpu_limit: number | undefined, on: 'container' | 'software' = 'container', rate_bps = 1e6): Plan {
  const definition = chainOf(
    { a: 'nf', b: 'nf' },
    [
      ['in', 'a'],
      ['a', 'b'],
      ['b', 'out'],
    ],
    { rate_bps, slos: [{ id: 'fast', kind: 'throughput', min_bps: 1000 }] },
  );
  return makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [{ chain_id: 'p-1', version: 1, definition: limited(definition, cpu_limit) }],
    descriptors: [NF],
    infrastructure: rack({ servers: 3, ghz: 1, cores: 1 }),
    container_servers: SERVERS,
    base: null,
    budget: { steps: 20 },
    implementations: ['a', 'b'].map((node_id) => ({
      chain_id: 'p-1',
      node_id,
      on,
      load: 'partial' as const,
      policy: 'hold' as const,
    })),
  });
}
const predicted = ({ slos: [slo] }: Plan) => slo!.predicted;

describe('an NF with a limit of CPU', () => {
  it('is refused outside of containers, with its field', () => {
    expect(plan(0.3, 'software')).toMatchObject({
      feasible: false,
      problems: [
        { pointer: '/nodes/1/cpu_limit', node: 'a', code: 'bad-implementation' },
        { pointer: '/nodes/2/cpu_limit', node: 'b', code: 'bad-implementation' },
      ],
    });
    expect(plan(undefined, 'software').feasible).toBe(true);
  });

  it('is told to its server, and to no other', () => {
    const specs = (of: Plan) => Object.values(of.nodes).flatMap(({ instances }) => instances);
    expect(specs(plan(0.3)).map(({ cpu_limit }) => cpu_limit)).toEqual([0.3, 0.3]);
    expect(specs(plan(undefined)).every((spec) => !('cpu_limit' in spec))).toBe(true);
  });

  it('has its part of a core kept for it, whatever it is estimated to need', () => {
    const cores = (of: Plan) => new Set(nfInstances(of.graph).map(({ server, core }) => `${server} ${core}`)).size;
    expect(cores(plan(0.3))).toBe(1);
    expect(cores(plan(0.6))).toBe(2);
  });

  it('becomes more instances where one may not do the work', () => {
    const rate_bps = 1e7;
    fc.assert(
      fc.property(fc.double({ min: 0.05, max: 1, noNaN: true }), (limit) => {
        const { pgraph } = plan(limit, 'container', rate_bps);
        for (const { cores_needed, instances } of pgraph.nodes) {
          expect((cores_needed / instances) * (1 - 1e-3)).toBeLessThanOrEqual(limit * CORE_BUDGET);
          if (instances > 2) expect(cores_needed / (instances - 2)).toBeGreaterThan(limit * CORE_BUDGET);
        }
      }),
      { numRuns: 10 },
    );
  });

  it('bounds the predicted throughput in proportion', () => {
    const [tenth, fifth] = [predicted(plan(0.1)), predicted(plan(0.2))];
    expect(fifth / tenth).toBeCloseTo(2, 6);
    const { pgraph } = plan(0.1);
    expect(tenth).toBeCloseTo((1e6 * 0.1) / pgraph.nodes[0]!.cores_needed, 0);
    expect(predicted(plan(undefined))).toBeGreaterThan(fifth);
  });
});
