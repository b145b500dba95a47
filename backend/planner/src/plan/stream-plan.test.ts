import { type Execution, nfInstances, Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { packetRate } from '../igraph/sizing.js';
import { scheduleProblem } from '../schedule/schedule-forms.js';
import { latencyOf } from '../slo/latency.js';
import { REASSEMBLY, STREAM_READING } from '../stream-costs.js';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

const DETECTOR = descriptor('detector', {
  state: { kind: 'none', key: [] },
  bytestream: { field: 'inspect', value: 'streams' },
  default_config: { inspect: 'packets' },
});
const FILTER = descriptor('filter', {
  actions: { reads: [], writes: [], adds: [], removes: [], may_drop: true },
  state: { kind: 'none', key: [] },
});
const ABLE = ['mirror', 'merge', 'bytestream'] as const;

/** filter -> a -> b, the detectors with these configurations. */
function plan(a: string, b: string, abilities: Parameters<typeof makePlan>[0]['abilities'], execution?: Execution) {
  const drawn = chainOf({ filter: 'filter', a: 'detector', b: 'detector' }, [
    ['in', 'filter'],
    ['filter', 'a'],
    ['a', 'b'],
    ['b', 'out'],
  ]);
  const inspect: Record<string, string> = { a, b };
  const nodes = drawn.nodes.map((node) =>
    node.kind === 'nf' && inspect[node.id] ? { ...node, config: { inspect: inspect[node.id]! } } : node,
  );
  const made = makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [{ chain_id: 'p-1', version: 1, definition: { ...drawn, nodes }, ...(execution ? { execution } : {}) }],
    descriptors: [DETECTOR, FILTER],
    infrastructure: rack({ servers: 2, cores: 4, ghz: 1 }),
    abilities,
    base: null,
    budget: { steps: 50 },
  });
  expect(() => Plan.parse(made)).not.toThrow();
  return made;
}

const reassembling = (made: Plan) =>
  Object.values(made.nodes).flatMap(({ instances, modules = [] }) =>
    [...instances, ...modules].flatMap((it) => ('bytestream' in it && it.bytestream ? [it.id] : [])),
  );

describe('a chain whose NFs read TCP streams', () => {
  it('has instances for the reassembly too, so that each fits its core', () => {
    // With its search alone the detector needs 0.84 of a core, with the reassembly more than plans hand out.
    const cycles = 1000 + STREAM_READING.cycles_per_packet;
    const { traffic_class, ...rest } = chainOf({ a: 'detector' }, [
      ['in', 'a'],
      ['a', 'out'],
    ]);
    const rate_bps = ((0.84 * 1e9) / cycles) * 8 * traffic_class.packet_bytes;
    const nodes = rest.nodes.map((node) => (node.kind === 'nf' ? { ...node, config: { inspect: 'streams' } } : node));
    const made = makePlan({
      id: 'plan',
      created_ms: 0,
      chains: [
        { chain_id: 'p-1', version: 1, definition: { ...rest, nodes, traffic_class: { ...traffic_class, rate_bps } } },
      ],
      descriptors: [DETECTOR],
      infrastructure: rack({ servers: 2, cores: 4, ghz: 1 }),
      abilities: { 'server-1': ABLE, 'server-2': ABLE },
      base: null,
      budget: { steps: 50 },
    });
    expect(made.conflicts).toEqual([]);
    expect(nfInstances(made.graph)).toHaveLength(2);
  });

  it('has them reassembled once, on a server that can', () => {
    const made = plan('streams', 'streams', { 'server-2': ABLE });
    expect(made.feasible).toBe(true);
    expect(reassembling(made)).toEqual(['p.a.0']);
    expect(
      nfInstances(made.graph)
        .filter(({ nf }) => nf === 'detector')
        .map(({ server }) => server),
    ).toEqual(['server-2', 'server-2']);
  });

  it('has nothing reassembled, and needs no ability, with another configuration', () => {
    const made = plan('packets', 'packets', {});
    expect(made.feasible).toBe(true);
    expect(reassembling(made)).toEqual([]);
    expect(reassembling(plan('packets', 'streams', { 'server-1': ABLE }))).toEqual(['p.b.0']);
  });

  it('is predicted with the cycles of one reassembly and of each search of a stream', () => {
    const able = { 'server-2': ABLE };
    const latencyUs = (made: Plan) => {
      const { graph, chains } = made;
      const latency = latencyOf(
        { graph, chains, descriptors: [DETECTOR, FILTER], infrastructure: rack({ servers: 2, cores: 4, ghz: 1 }) },
        'p-1',
      );
      return latency.mean_us;
    };
    const cyclesOf = (made: Plan) =>
      nfInstances(made.graph).map(({ node_id, core_share, load_bps }) => [
        node_id,
        Math.round((core_share * 1e9) / packetRate(load_bps, made.chains[0]!.definition.traffic_class.packet_bytes)),
      ]);
    const plain = new Map(cyclesOf(plan('packets', 'packets', able)) as [string, number][]);
    const streams = new Map(cyclesOf(plan('streams', 'streams', able)) as [string, number][]);
    const more = (id: string) => streams.get(id)! - plain.get(id)!;
    expect(more('filter')).toBe(0);
    // Cores are booked for both, since placement may part them.
    for (const id of ['a', 'b']) expect(more(id)).toBe(REASSEMBLY.cycles_per_packet + STREAM_READING.cycles_per_packet);
    const added_us = latencyUs(plan('streams', 'streams', able)) - latencyUs(plan('packets', 'packets', able));
    const cycles = REASSEMBLY.cycles_per_packet + 2 * STREAM_READING.cycles_per_packet;
    // At 1 GHz, and a little more on cores that do other work.
    expect(added_us * 1000).toBeGreaterThan(cycles * 0.99);
    expect(added_us * 1000).toBeLessThan(cycles * 1.6);
  });

  it('is scheduled with the cycles of one reassembly and of each search of a stream', () => {
    const able = { 'server-2': ABLE };
    const cycles = (inspect: string) => {
      const { graph, chains } = plan(inspect, inspect, able);
      const { problem } = scheduleProblem(
        {
          ...{ graph, chains, descriptors: [DETECTOR, FILTER], infrastructure: rack({ servers: 2, cores: 4, ghz: 1 }) },
          ...{ rateOf: () => 1e6, strategy: 'annealing', mode: 'replicate' },
        } as unknown as Parameters<typeof scheduleProblem>[0],
        chains[0]!,
      )!;
      return new Map(problem.modules.map(({ id, cycles_per_packet }) => [id, cycles_per_packet]));
    };
    const [packets, streams] = [cycles('packets'), cycles('streams')];
    const more = (id: string) => streams.get(id)! - packets.get(id)!;
    expect(more('filter')).toBe(0);
    expect(more('a')).toBe(REASSEMBLY.cycles_per_packet + STREAM_READING.cycles_per_packet);
    expect(more('b')).toBe(STREAM_READING.cycles_per_packet);
  });

  it('is refused where no engine reassembles', () => {
    const refused = plan('streams', 'packets', { 'server-1': ['mirror'] });
    expect(refused.feasible).toBe(false);
    expect(refused.conflicts).toContainEqual(
      expect.objectContaining({ constraint: 'engine-ability', unit: 'bytestream', where: 'server-1' }),
    );
  });

  it('keeps them behind an NF that may drop packets, and reassembles in front of the mirror', () => {
    const able = { 'server-1': ABLE, 'server-2': ABLE };
    const [form] = plan('streams', 'streams', able, 'parallel').parallel;
    expect(form!.conflicts.map(({ earlier, later, parallel }) => [earlier, later, parallel])).toEqual([
      ['filter', 'a', false],
      ['filter', 'b', false],
    ]);
    expect(reassembling(plan('streams', 'streams', able, 'parallel'))).toEqual(['p.a.mirror']);
    expect(plan('packets', 'packets', able, 'parallel').parallel[0]!.conflicts).toEqual([]);
  });
});
