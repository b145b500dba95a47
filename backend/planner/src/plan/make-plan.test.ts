import { type ChainDefinition, crossesServers, nfInstances, Plan, type PlannedChain } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { chainOf, FIGURE_3_1 } from '../testing/chains.js';
import { CATALOGUE, descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import type { PlanInput } from './input.js';
import { makePlan } from './make-plan.js';

const planned = (definition: ChainDefinition): PlannedChain => ({
  chain_id: `id-${definition.name}`,
  version: 1,
  definition,
});

const plan = (definitions: ChainDefinition[], overrides: Partial<PlanInput> = {}): Plan => {
  const made = makePlan({
    id: 'plan-1',
    created_ms: 0,

    chains: definitions.map(planned),
    descriptors: CATALOGUE,
    infrastructure: rack(),
    base: null,
    budget: { steps: 200 },
    ...overrides,
  });
  expect(Plan.parse(made)).toEqual(made);
  return made;
};

const chain = (name: string, from: string, nfs: Record<string, string>, rest: Parameters<typeof chainOf>[2] = {}) => {
  const ids = ['in', ...Object.keys(nfs), 'out'];
  return chainOf(
    nfs,
    ids.slice(1).map((id, i) => [ids[i]!, id]),
    { name, from: [from], ...rest },
  );
};
const natChain = (name: string, from: string, config: Record<string, unknown> = {}, rate_bps = 1e7) =>
  chain(name, from, { nat: 'nat' }, { config: { nat: config }, rate_bps });

const addressesOf = (made: Plan) =>
  Object.fromEntries(
    Object.values(made.nodes)
      .flatMap(({ instances }) => instances)
      .filter(({ return_to }) => return_to)
      .map(({ id, config }) => [id, config.external_addresses as string[]]),
  );
const hopsOf = (made: Plan) => Object.values(made.nodes).flatMap(({ hops }) => hops);
/** At 2 GHz and 1,000 cycles for 800 bytes, this many instances. */
const rateFor = (instances: number) => 2 * 0.85e6 * 8 * 800 * (instances - 0.5);

describe('makePlan', () => {
  it('turns E2 figure 3.1 into the outputs and filters of figure 3.4', () => {
    const made = plan([FIGURE_3_1]);
    expect(made.feasible).toBe(true);
    const [ids] = made.nodes['server-1']!.instances;
    expect(ids).toMatchObject({
      id: 'fig31.ids.0',
      metadata: { verdict: { offset: 0, width: 2, values: { safe: 1, unsafe: 2 } } },
    });
    const safe = { field: 'metadata', offset: 0, width: 2, value: 1, not: false };
    expect(ids!.outputs.map(({ edge_id, match }) => [edge_id, match])).toEqual([
      [
        'fig31.e1',
        [safe, { field: 'ip.proto', value: 6, not: false }, { field: 'port.dst', lo: 80, hi: 80, not: false }],
      ],
      ['fig31.e2', [safe, { field: 'port.dst', lo: 80, hi: 80, not: true }]],
      [
        'fig31.e3',
        [safe, { field: 'ip.proto', value: 6, not: true }, { field: 'port.dst', lo: 80, hi: 80, not: false }],
      ],
      ['fig31.e4', [{ ...safe, value: 2 }]],
    ]);
    expect(made.fabric.rules).toEqual([
      {
        id: 'classify/fig31.e0',
        chain_id: 'id-fig31',
        kind: 'classify',
        priority: 30000,
        from_hosts: ['client-1'],
        from_servers: [],
        match: [],
        hop: null,
        key: [],
        targets: [{ range: { lo: 0, hi: 65536 }, hop: 1, server: 'server-1' }],
      },
      {
        id: 'hop/1',
        chain_id: 'id-fig31',
        kind: 'hop',
        priority: 40000,
        from_hosts: [],
        from_servers: [],
        match: [],
        hop: 1,
        key: [],
        targets: [{ range: { lo: 0, hi: 65536 }, hop: 1, server: 'server-1' }],
      },
    ]);
    expect(made.cost).toMatchObject({ cross_traffic_bps: 0, lower_bound_bps: 0 });
  });

  it('gives every server a specification, also those with nothing to run', () => {
    const { nodes } = plan([FIGURE_3_1]);
    expect(Object.keys(nodes)).toEqual(['server-1', 'server-2', 'server-3']);
    expect(nodes['server-3']).toMatchObject({ instances: [], hops: [], exits: [], nic: { iface: 'eth0' } });
    expect(Object.values(nodes).map(({ nic }) => nic.mac)).toEqual([
      '02:0f:00:00:39:fa',
      '02:0f:00:00:39:a3',
      '02:0f:00:00:38:d4',
    ]);
  });

  it('has no step for a server on which nothing changes', () => {
    expect(plan([]).steps).toEqual([]);
    const { steps, graph } = plan([FIGURE_3_1]);
    const used = new Set(nfInstances(graph).map(({ server }) => server));
    expect(steps.flatMap(({ kind, subject }) => (kind === 'prepare-node' ? [subject] : []))).toEqual([...used]);
  });

  it('explains every instance with every server, and every node with its size', () => {
    const made = plan([FIGURE_3_1]);
    expect(made.reasons.map(({ subject }) => subject)).toEqual([
      ...made.pgraph.nodes.map(({ id }) => id),
      ...nfInstances(made.graph).map(({ id }) => id),
    ]);
    for (const { subject, candidates } of made.reasons.slice(made.pgraph.nodes.length)) {
      const instance = nfInstances(made.graph).find(({ id }) => id === subject)!;
      expect(candidates.map(({ name }) => name)).toEqual(['server-1', 'server-2', 'server-3']);
      expect(candidates.filter(({ chosen }) => chosen).map(({ name }) => name)).toEqual([instance.server]);
      for (const { chosen, figure } of candidates) expect(figure! > 0).toBe(!chosen);
    }
  });

  it('crosses the switch where one server is too small, not below the bound, and says what binds', () => {
    const made = plan(
      [chain('c', 'client-1', { a: 'monitor', b: 'firewall', c: 'monitor' }, { rate_bps: rateFor(1) })],
      {
        infrastructure: rack({ cores: 1 }),
      },
    );
    expect(made.feasible).toBe(true);
    const crossing = made.graph.edges.filter(crossesServers);
    expect(crossing.length).toBeGreaterThan(0);
    expect(made.cost.cross_traffic_bps).toBeGreaterThanOrEqual(made.cost.lower_bound_bps);
    expect(made.cost.lower_bound_bps).toBeGreaterThan(0);
    for (const { to, hop } of crossing) {
      const [rule] = made.fabric.rules.filter((it) => it.kind === 'hop' && it.hop === hop);
      expect(rule!.targets[0]!.server).toBe(nfInstances(made.graph).find(({ id }) => id === to)!.server);
    }
    expect(made.reasons.flatMap(({ constraint }) => (constraint ? [constraint.constraint] : []))).toContain('cpu');
  });

  it('is the same for the same input', () => {
    const chains = [FIGURE_3_1, natChain('n', 'client-2')];
    for (const strategy of ['e2', 'first-fit', 'random'] as const)
      expect(plan(chains, { options: { strategy } })).toEqual(plan(chains, { options: { strategy } }));
  });

  it('does not depend on what chains, nodes and servers are called', () => {
    const nfs = { a: 'monitor', b: 'firewall', c: 'nat' };
    const renamed = { z: 'monitor', y: 'firewall', x: 'nat' };
    const one = plan([chain('p', 'client-1', nfs, { rate_bps: rateFor(2) })]);
    const two = plan([chain('aaa', 'client-1', renamed, { rate_bps: rateFor(2) })], {
      infrastructure: rack({ name: (i) => `x-${9 - i}` }),
    });
    const names = new Map([
      ['server-1', 'x-9'],
      ['server-2', 'x-8'],
      ['server-3', 'x-7'],
    ]);
    expect(nfInstances(two.graph).map(({ server, core }) => [server, core])).toEqual(
      nfInstances(one.graph).map(({ server, core }) => [names.get(server), core]),
    );
    expect(
      hopsOf(two)
        .map(({ hop }) => hop)
        .sort(),
    ).toEqual(
      hopsOf(one)
        .map(({ hop }) => hop)
        .sort(),
    );
  });
});

describe('makePlan beside a plan that runs', () => {
  const first = () => plan([FIGURE_3_1], { id: 'base' });

  it('keeps everything and has no steps when nothing changes', () => {
    const base = first();
    const again = plan([FIGURE_3_1], { base });
    expect(again.steps).toEqual([]);
    expect(again.nodes).toEqual(base.nodes);
    expect(again.fabric).toEqual(base.fabric);
    expect(again.diff).toMatchObject({ added: [], removed: [], moved: [], reconfigured: [] });
    expect(again.diff.kept).toHaveLength(4);
  });

  it('adds a chain without touching what runs', () => {
    const base = first();
    const more = plan([FIGURE_3_1, natChain('n', 'client-2')], { base });
    expect(more.diff).toMatchObject({ added: ['n.nat.0'], removed: [], moved: [], reconfigured: [] });
    for (const { id, server, core } of nfInstances(base.graph))
      expect(nfInstances(more.graph).find((instance) => instance.id === id)).toMatchObject({ server, core });
    const steps = more.steps.map(({ kind, subject, interrupts }) => [kind, subject, interrupts]);
    expect(steps).toEqual([
      ['prepare-node', nfInstances(more.graph).find(({ id }) => id === 'n.nat.0')!.server, []],
      ['extend-fabric', 'fabric', []],
      ['steer-fabric', 'fabric', []],
    ]);
    expect(more.fabric.generation).toBe(base.fabric.generation + 1);
  });

  it('removes a chain after the fabric no longer leads to it', () => {
    const base = plan([FIGURE_3_1, natChain('n', 'client-2')]);
    const less = plan([natChain('n', 'client-2')], { base });
    expect(less.diff.removed).toHaveLength(4);
    expect(less.steps.map(({ kind }) => kind)).toEqual(['steer-fabric', 'clean-node', 'settle-fabric']);
  });

  it('keeps hops, metadata and addresses, and gives no hop of the running plan to another instance', () => {
    const base = plan(
      [
        FIGURE_3_1,
        natChain('n', 'client-2'),
        chain('old', 'client-1', { a: 'monitor' }, { match: [['ip.proto', 'is', 1]] }),
      ].slice(0, 2),
    );
    const next = plan([natChain('n', 'client-2'), chain('fresh', 'client-1', { a: 'nat' })], { base });
    const before = new Map(hopsOf(base).map(({ hop, instance_id, direction }) => [hop, `${instance_id} ${direction}`]));
    for (const { hop, instance_id, direction } of hopsOf(next)) {
      if (before.has(hop)) expect(before.get(hop)).toBe(`${instance_id} ${direction}`);
    }
    expect(hopsOf(next).filter(({ instance_id }) => instance_id === 'n.nat.0')).toEqual(
      hopsOf(base).filter(({ instance_id }) => instance_id === 'n.nat.0'),
    );
    expect(addressesOf(next)['n.nat.0']).toEqual(addressesOf(base)['n.nat.0']);
    expect(addressesOf(next)['fresh.nat.0']).not.toEqual(addressesOf(base)['n.nat.0']);
  });

  it('moves what ran on a server that is no longer there, and asks that server to run nothing', () => {
    const base = first();
    const infrastructure = rack();
    infrastructure.servers.shift();
    const next = plan([FIGURE_3_1], { base, infrastructure });
    expect(next.feasible).toBe(true);
    expect(next.diff.moved).toHaveLength(4);
    expect(next.nodes['server-1']).toMatchObject({ instances: [], generation: 2 });
    expect(next.steps.map(({ subject }) => subject)).not.toContain('server-1');
  });

  it('places a new instance where it crosses least, among those that stay', () => {
    const base = plan([chain('c', 'client-1', { a: 'monitor', b: 'firewall' })], {
      options: { strategy: 'random', seed: 3 },
    });
    const longer = plan([chain('c', 'client-1', { a: 'monitor', b: 'firewall', m: 'monitor' })], { base });
    const where = (id: string) => nfInstances(longer.graph).find((instance) => instance.id === id)!.server;
    expect(where('c.m.0')).toBe(where('c.b.0'));
    expect(longer.diff.moved).toEqual([]);
  });

  it('moves an instance only when its new estimate no longer fits beside what runs there', () => {
    const infrastructure = rack({ servers: 2, cores: 1 });
    const at = (rate_bps: number) => [
      chain('p', 'client-1', { a: 'monitor' }, { rate_bps: rateFor(0.9) }),
      chain('q', 'client-2', { a: 'monitor' }, { rate_bps }),
    ];
    const base = plan(at(rateFor(0.9)), { infrastructure });
    expect(nfInstances(base.graph).map(({ server }) => server)).toEqual(['server-1', 'server-1']);
    const next = plan(at(rateFor(1.4)), { infrastructure, base });
    expect(next.diff).toMatchObject({ moved: ['q.a.0-2'], kept: ['p.a.0'], removed: [] });
    expect(next.steps.map(({ kind, interrupts }) => [kind, interrupts])).toEqual([
      ['prepare-node', []],
      ['extend-fabric', []],
      ['steer-fabric', ['id-q']],
      ['clean-node', []],
      ['settle-fabric', []],
    ]);
  });

  it('reports an NF that is built anew under a running chain', () => {
    const base = plan([chain('c', 'client-1', { a: 'firewall' })]);
    const next = plan([chain('c', 'client-1', { a: 'firewall' }, { config: { a: { default: 'deny' } } })], { base });
    expect(next.diff.reconfigured).toEqual(['c.a.0']);
    expect(next.steps).toEqual([expect.objectContaining({ kind: 'switch-node', interrupts: ['id-c'] })]);
  });
});

describe('makePlan with NFs that rewrite addresses', () => {
  it('brings replies back to the instance that owns the address', () => {
    const made = plan([natChain('n', 'client-1', {}, rateFor(2))]);
    expect(nfInstances(made.graph)).toHaveLength(2);
    const addresses = Object.values(addressesOf(made)).flat();
    expect(addresses).toEqual(['198.18.0.1', '198.18.0.2']);
    for (const [id, [address]] of Object.entries(addressesOf(made))) {
      const rule = made.fabric.rules.find((it) => it.id === `return/${address}`)!;
      const { server, hop } = rule.targets[0]!;
      expect(made.nodes[server]!.hops).toContainEqual({ hop, instance_id: id, direction: 'return' });
      expect(made.nodes[server]!.exits).toContainEqual({
        exit_id: 'n.return',
        chain_id: 'id-n',
        direction: 'return',
      });
    }
  });

  it('chooses addresses where the definition names none, whatever the default of the NF', () => {
    const made = plan([natChain('n', 'client-1'), natChain('m', 'client-2', { external_addresses: [] })]);
    expect(addressesOf(made)).toEqual({ 'n.nat.0': ['198.18.0.1'], 'm.nat.0': ['198.18.0.2'] });
  });

  it('divides configured addresses over the instances', () => {
    const external_addresses = ['198.18.0.9', '198.18.0.7', '198.18.0.8'];
    const made = plan([natChain('n', 'client-1', { external_addresses }, rateFor(2))]);
    expect(addressesOf(made)).toEqual({ 'n.nat.0': ['198.18.0.8', '198.18.0.9'], 'n.nat.1': ['198.18.0.7'] });
  });

  it('refuses fewer addresses than instances', () => {
    const made = plan([natChain('n', 'client-1', { external_addresses: ['198.18.0.9'] }, rateFor(2))]);
    expect(made.feasible).toBe(false);
    expect(made.problems).toEqual([
      expect.objectContaining({ code: 'bad-config', pointer: '/nodes/1/config/external_addresses', node: 'nat' }),
    ]);
  });

  it('refuses an address that two chains name, and gives nobody one that a chain names', () => {
    const named = { external_addresses: ['198.18.0.1'] };
    expect(plan([natChain('n', 'client-1', named), natChain('m', 'client-2', named)]).problems).toEqual([
      expect.objectContaining({ code: 'bad-config', chain_id: 'id-m' }),
    ]);
    const made = plan([natChain('n', 'client-1'), natChain('m', 'client-2', named)]);
    expect(addressesOf(made)).toEqual({ 'n.nat.0': ['198.18.0.2'], 'm.nat.0': ['198.18.0.1'] });
  });
});

describe('makePlan when it cannot be done', () => {
  const blank = { graph: { nodes: [], edges: [] }, steps: [], slos: [] };

  it.each([
    ['cpu', chain('c', 'client-1', { a: 'monitor' }, { rate_bps: rateFor(9) }), {}],
    ['memory', chain('c', 'client-1', { a: 'monitor' }), { memory_bytes: 10 }],
    ['nic-bandwidth', chain('c', 'client-1', { a: 'monitor' }), { nic_bps: 1e6 }],
    ['link-bandwidth', chain('c', 'client-1', { a: 'monitor' }), { link_bps: 1e6 }],
    [
      'switch-table',
      chain('c', 'client-1', { a: 'monitor' }, { match: [['port.dst', 'is', '1-65534']] }),
      { table_entries: 16 },
    ],
    ['cpu', chain('c', 'client-1', { a: 'monitor' }), { servers: 0 }],
  ] as const)('says what is short: %s', (constraint, definition, limits) => {
    const made = plan([definition], { infrastructure: rack(limits) });
    expect(made).toMatchObject({ feasible: false, ...blank });
    expect(made.conflicts.length).toBeGreaterThan(0);
    expect(made.conflicts[0]!.constraint).toBe(constraint);
    for (const { needed, available } of made.conflicts) expect(needed).toBeGreaterThan(available);
    expect(made.pgraph.nodes).toHaveLength(1);
  });

  it('names what each server lacks when the sums would fit', () => {
    const heavy = descriptor('monitor', { cycles: 1000, memory_bytes: 6e8 });
    const made = plan([chain('c', 'client-1', { a: 'monitor', b: 'monitor', c: 'monitor' })], {
      descriptors: [heavy],
      infrastructure: rack({ servers: 2, memory_bytes: 1e9 }),
    });
    expect(made.conflicts).toEqual(
      ['server-1', 'server-2'].map((where) => ({
        constraint: 'memory',
        needed: 6e8,
        available: 4e8,
        unit: 'bytes',
        where,
      })),
    );
    expect(made.reasons.at(-1)).toMatchObject({ decision: 'no server' });
  });

  it('asks for exactly what runs now', () => {
    const base = plan([FIGURE_3_1]);
    const made = plan([FIGURE_3_1, chain('c', 'client-2', { a: 'monitor' }, { rate_bps: rateFor(30) })], { base });
    expect(made.feasible).toBe(false);
    expect(made.nodes).toEqual(base.nodes);
    expect(made.fabric).toEqual(base.fabric);
    expect(made.steps).toEqual([]);
  });

  it('passes on the problems of a definition with its chain', () => {
    const broken = chainOf(
      { a: 'nothing' },
      [
        ['in', 'a'],
        ['a', 'out'],
      ],
      { name: 'broken' },
    );
    expect(plan([FIGURE_3_1, broken]).problems).toEqual([
      expect.objectContaining({ code: 'unknown-nf', chain_id: 'id-broken', pointer: '/nodes/1/nf' }),
    ]);
  });

  it('refuses classes that share a packet, with an example, and accepts classes that do not', () => {
    const web = (name: string, from: string, port: string) =>
      chain(name, from, { a: 'monitor' }, { match: [['port.dst', 'is', port]] });
    const both = plan([web('x', 'client-1', '80-90'), web('y', 'client-1', '90-99')]);
    expect(both.problems).toEqual([
      expect.objectContaining({ code: 'class-conflict', chain_id: 'id-y', pointer: '/traffic_class' }),
    ]);
    expect(both.problems[0]!.message).toContain('TCP to port 90');
    expect(plan([web('x', 'client-1', '80-90'), web('y', 'client-1', '91-99')]).feasible).toBe(true);
    expect(plan([web('x', 'client-1', '80-90'), web('y', 'client-2', '80-90')]).feasible).toBe(true);
  });

  it('refuses filters that need more than the 16 bits that travel with a packet', () => {
    const values = Array.from({ length: 255 }, (_, i) => ({ value: `v${i}`, title: `v${i}` }));
    const tagger = descriptor('tagger', { attributes: [{ name: 'tag', title: 'Tag', values }] });
    const tagged = (count: number) => {
      const ids = Array.from({ length: count }, (_, i) => `t${i}`);
      return chainOf(Object.fromEntries(ids.map((id) => [id, 'tagger'])), [
        ['in', 't0'],
        ...ids.slice(1).map((id, i): [string, string] => [`t${i}`, id]),
        ...ids.map((id): [string, string, [string, 'is', string][]] => [
          ids.at(-1)!,
          'out',
          [[`${id}.tag`, 'is', 'v1']],
        ]),
      ]);
    };
    const two = plan([tagged(2)], { descriptors: [tagger] }).problems.map(({ code }) => code);
    expect(two).not.toContain('metadata-exhausted');
    const three = plan([tagged(3)], { descriptors: [tagger] }).problems;
    expect(three).toContainEqual(expect.objectContaining({ code: 'metadata-exhausted', severity: 'error' }));
  });
});
