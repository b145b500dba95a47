import type { ChainDefinition, FlowKey, NfDescriptor, PlannedChain } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { chainOf, FIGURE_3_1 } from '../testing/chains.js';
import { CATALOGUE, descriptor } from '../testing/descriptors.js';
import { buildInstanceGraph } from './build.js';
import { drawnForm } from './chain-form.js';
import { unplacedInstances } from './graph.js';
import { buildPGraph } from './pgraph.js';

const FIVE_TUPLE: FlowKey = ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'];
const planned = (definition: ChainDefinition): PlannedChain[] => [{ chain_id: 'p-1', version: 1, definition }];

/** At 1 GHz and 1,000 cycles per packet, so many packets of 800 bytes need exactly this many cores' budgets. */
const rateFor = (instances: number) => 0.85e6 * 8 * 800 * (instances - 0.5);

const nf = (id: string, affinity: FlowKey, rest: Parameters<typeof descriptor>[1] = {}) =>
  descriptor(id, { affinity, ...rest });

function split(definition: ChainDefinition, descriptors: NfDescriptor[]) {
  const pgraph = buildPGraph(planned(definition), descriptors, 1);
  return buildInstanceGraph(
    planned(definition).map((chain) => drawnForm(chain, pgraph)),
    descriptors,
  );
}

const wires = (graph: ReturnType<typeof split>, edge: string) =>
  graph.edges
    .filter(({ pgraph_edge }) => pgraph_edge === `p.${edge}`)
    .map(({ from, to }) => `${from?.replace('p.', '') ?? 'in'}>${to === 'p.exit' ? 'out' : to.replace('p.', '')}`);

describe('E2 figure 3.3: a PGraph becomes an IGraph', () => {
  const chain = (instances: number) =>
    chainOf(
      { a: 'a', b: 'b' },
      [
        ['in', 'a'],
        ['a', 'b'],
        ['b', 'out'],
      ],
      { rate_bps: rateFor(instances) },
    );

  it('(a) leaves nodes that fit one core as they are', () => {
    const graph = split(chain(1), [nf('a', FIVE_TUPLE), nf('b', FIVE_TUPLE)]);
    expect(graph.edges.map(({ id, key }) => [id, key])).toEqual([
      ['p.e0.in-0', []],
      ['p.e1.0-0', []],
      ['p.e2.0-out', []],
    ]);
  });

  it('(b) hashes the traffic of one instance over several on the fields of their affinity', () => {
    const graph = split(chain(1), [nf('a', FIVE_TUPLE), nf('b', ['ip.src', 'ip.dst'], { cycles: 3000 })]);
    expect(wires(graph, 'e1')).toEqual(['a.0>b.0', 'a.0>b.1']);
    expect(
      graph.edges.filter(({ pgraph_edge }) => pgraph_edge === 'p.e1').map(({ key, range }) => [key, range]),
    ).toEqual([
      [['ip.src', 'ip.dst'], { lo: 0, hi: 32768 }],
      [['ip.src', 'ip.dst'], { lo: 32768, hi: 65536 }],
    ]);
  });

  it('(c) distributes from every instance to every one where the affinities have nothing in common', () => {
    const graph = split(chain(2), [nf('a', ['ip.dst']), nf('b', ['ip.src'])]);
    expect(wires(graph, 'e1')).toEqual(['a.0>b.0', 'a.0>b.1', 'a.1>b.0', 'a.1>b.1']);
  });

  it('(d) connects instances directly where the upstream affinity already satisfies the downstream one', () => {
    const graph = split(chain(2), [nf('a', ['ip.src']), nf('b', FIVE_TUPLE)]);
    expect(wires(graph, 'e1')).toEqual(['a.0>b.0', 'a.1>b.1']);
    expect(graph.edges.filter(({ pgraph_edge }) => pgraph_edge === 'p.e1').map(({ key }) => key)).toEqual([[], []]);
    expect(graph.partitions.get('p.b')).toEqual({ kind: 'follow', key: ['ip.src'], origin: 'p.a' });
  });

  it('(d) does not where the upstream NF rewrites what it was split on', () => {
    const rewriting = nf('a', ['ip.src'], {
      actions: { reads: [], writes: ['ip.src'], adds: [], removes: [], may_drop: false },
    });
    expect(wires(split(chain(2), [rewriting, nf('b', FIVE_TUPLE)]), 'e1')).toHaveLength(4);
  });

  it('keeps the rates: what enters an instance leaves it', () => {
    const { nodes, edges } = split(chain(3), [nf('a', ['ip.dst']), nf('b', ['ip.src'])]);
    for (const { id, load_bps } of unplacedInstances({ nodes, edges })) {
      const sum = (end: 'from' | 'to') =>
        edges.filter((edge) => edge[end] === id).reduce((total, { rate_bps }) => total + rate_bps, 0);
      expect(sum('to')).toBeCloseTo(load_bps, 0);
      expect(sum('from')).toBeCloseTo(load_bps, 0);
    }
  });
});

describe('buildIGraph', () => {
  const fork = (rate: number) =>
    chainOf(
      { a: 'a', b: 'b', c: 'c', d: 'd' },
      [
        ['in', 'a'],
        ['a', 'b', [['port.dst', 'is', 80]]],
        ['a', 'c', [['port.dst', 'is-not', 80]]],
        ['b', 'd'],
        ['c', 'd'],
        ['d', 'out'],
      ],
      { rate_bps: rate },
    );

  it('joins two branches without hashing again when both were hashed on the same fields by engines', () => {
    const costly = { cycles: 6000 };
    const graph = split(fork(rateFor(1)), [
      nf('a', FIVE_TUPLE),
      nf('b', ['ip.src'], costly),
      nf('c', ['ip.src'], costly),
      nf('d', FIVE_TUPLE, { cycles: 3000 }),
    ]);
    expect(wires(graph, 'e3')).toEqual(['b.0>d.0', 'b.1>d.1']);
    expect(wires(graph, 'e4')).toEqual(['c.0>d.0', 'c.1>d.1']);
    expect(graph.partitions.get('p.d')).toEqual({ kind: 'hash', key: ['ip.src'] });
  });

  it('hashes again when one branch has a single instance, for which nothing is known', () => {
    const graph = split(fork(rateFor(1)), [
      nf('a', FIVE_TUPLE),
      nf('b', ['ip.dst'], { cycles: 6000 }),
      nf('c', FIVE_TUPLE),
      nf('d', ['ip.src'], { cycles: 3000 }),
    ]);
    expect(wires(graph, 'e3')).toHaveLength(4);
    expect(wires(graph, 'e4')).toEqual(['c.0>d.0', 'c.0>d.1']);
  });

  const sideEntrance = (affinity: FlowKey) => [
    nf('a', FIVE_TUPLE),
    nf('b', affinity, { cycles: 3000 }),
    nf('c', FIVE_TUPLE, { cycles: 3000 }),
  ];
  const entered = (rate: number) =>
    chainOf(
      { a: 'a', b: 'b', c: 'c' },
      [
        ['in', 'a', [['port.dst', 'is', 80]]],
        ['in', 'b', [['port.dst', 'is-not', 80]]],
        ['a', 'b'],
        ['b', 'c'],
        ['c', 'out'],
      ],
      { rate_bps: rate },
    );

  it('splits behind both the switch and an engine only where equal keys choose the same way in', () => {
    const sound = split(entered(rateFor(1)), sideEntrance(FIVE_TUPLE));
    expect(sound.conflicts).toEqual([]);
    expect(sound.partitions.get('p.b')).toMatchObject({ kind: 'switch', steady: true });
    const unsound = split(entered(rateFor(1)), sideEntrance(['ip.src']));
    expect(unsound.conflicts).toEqual([
      { constraint: 'affinity', needed: 2, available: 1, unit: 'instances', where: 'p.b' },
    ]);
  });

  it('does not follow a split that the switch and an engine made differently', () => {
    const stateless = split(
      chainOf(
        { a: 'a', b: 'b', c: 'c' },
        [
          ['in', 'a', [['ip.src', 'is', '10.0.0.0/8']]],
          ['in', 'b', [['ip.src', 'is-not', '10.0.0.0/8']]],
          ['a', 'b'],
          ['b', 'c'],
          ['c', 'out'],
        ],
        { rate_bps: rateFor(1) },
      ),
      [
        nf('a', [], { actions: { reads: [], writes: ['ip.src'], adds: [], removes: [], may_drop: false } }),
        nf('b', [], { cycles: 3000 }),
        nf('c', FIVE_TUPLE, { cycles: 3000 }),
      ],
    );
    expect(stateless.partitions.get('p.b')).toMatchObject({ kind: 'switch', steady: false });
    expect(wires(stateless, 'e3')).toHaveLength(4);
  });

  it('refuses more edges between instances than a plan can hold, before it wires them', () => {
    const wide = chainOf(
      { a: 'a', b: 'b' },
      [
        ['in', 'a'],
        ['a', 'b'],
        ['b', 'out'],
      ],
      { rate_bps: rateFor(400) },
    );
    expect(() =>
      split(
        wide,
        [nf('a', ['ip.dst']), nf('b', ['ip.src'])].map((it) => ({ ...it, scaling: { max_instances: 1024 } })),
      ),
    ).toThrow('/chains need more than 100000 edges between instances');
  });

  it('says how many instances a load needs when the NF allows fewer', () => {
    const { conflicts } = split(
      chainOf(
        { a: 'a' },
        [
          ['in', 'a'],
          ['a', 'out'],
        ],
        { rate_bps: rateFor(3) },
      ),
      [nf('a', FIVE_TUPLE, { scaling: { max_instances: 2 } })],
    );
    expect(conflicts).toEqual([
      { constraint: 'max-instances', needed: 3, available: 2, unit: 'instances', where: 'p.a' },
    ]);
  });
});

describe('buildPGraph', () => {
  it('unites chains with one node for each NF of each (E2 3.4.1 step 1)', () => {
    const other = chainOf(
      { ids: 'ids' },
      [
        ['in', 'ids'],
        ['ids', 'out'],
      ],
      { name: 'other', from: ['client-2'] },
    );
    const graph = buildPGraph(
      [
        { chain_id: 'p-1', version: 1, definition: FIGURE_3_1 },
        { chain_id: 'p-2', version: 1, definition: other },
      ],
      CATALOGUE,
      1,
    );
    expect(graph.nodes.map(({ id }) => id)).toEqual([
      'fig31.ids',
      'fig31.cache',
      'fig31.norm',
      'fig31.mon',
      'other.ids',
    ]);
    expect(graph.edges).toHaveLength(FIGURE_3_1.edges.length + 2);
  });

  it('shares what arrives: estimates first, the rest in equal parts, never more than there is', () => {
    const rates = (estimates: (number | undefined)[]) =>
      buildPGraph(
        planned(
          chainOf(
            { a: 'ids', b: 'monitor' },
            [
              ['in', 'a'],
              ['a', 'b', [['a.verdict', 'is', 'safe']], estimates[0]],
              ['a', 'out', [['a.verdict', 'is', 'unsafe']], estimates[1]],
              ['b', 'out'],
            ],
            { rate_bps: 1000 },
          ),
        ),
        CATALOGUE,
        1,
      ).edges.map(({ rate_bps }) => rate_bps);
    expect(rates([undefined, undefined])).toEqual([1000, 500, 500, 500]);
    expect(rates([900, undefined])).toEqual([1000, 900, 100, 900]);
    expect(rates([3000, 1000])).toEqual([1000, 750, 250, 750]);
    expect(rates([1500, undefined])).toEqual([1000, 1000, 0, 1000]);
    expect(rates([100, 200])).toEqual([1000, 100, 200, 100]);
  });

  it('sizes by the cycles of a packet of the class and the clock (E2 3.4.1 step 2)', () => {
    const perByte = descriptor('a', { cycles: 1000 });
    perByte.implementations[0]!.cost.cycles_per_byte = 2;
    const definition = chainOf(
      { a: 'a' },
      [
        ['in', 'a'],
        ['a', 'out'],
      ],
      { rate_bps: 6.4e9 },
    );
    const [node] = buildPGraph(planned(definition), [perByte], 2).nodes;
    expect(node).toMatchObject({ load_pps: 1e6, cores_needed: 1.3, instances: 2 });
  });
});
