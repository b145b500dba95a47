import { type Execution, nfInstances, Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { ASSUMED_ABILITIES } from '../lower/switch/abilities.js';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

const INFRASTRUCTURE = rack({ servers: 2, cores: 4, ghz: 1 });
/** Reads only, so that all of them may run at the same time. */
const reader = (id: string) => descriptor(id, { cycles: 1000 });
const CHAIN = chainOf({ a: 'a', b: 'b', c: 'c' }, [
  ['in', 'a'],
  ['a', 'b'],
  ['b', 'c'],
  ['c', 'out'],
]);
const ABLE = ['mirror', 'merge'] as const;

function plan(
  execution: Execution | undefined,
  abilities: Parameters<typeof makePlan>[0]['abilities'],
  base: Plan | null = null,
  definition = CHAIN,
) {
  const made = makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [{ chain_id: 'p-1', version: 1, definition, ...(execution ? { execution } : {}) }],
    descriptors: ['a', 'b', 'c', 'd'].map(reader),
    infrastructure: INFRASTRUCTURE,
    abilities,
    base,
    budget: { steps: 50 },
  });
  expect(() => Plan.parse(made)).not.toThrow();
  return made;
}

const everywhere = { 'server-1': ABLE, 'server-2': ABLE };

describe('a chain that is to run in parallel', () => {
  it('is refused where no engine can, with each server and what it lacks', () => {
    const refused = plan('parallel', { 'server-1': ['mirror'] });
    expect(refused.feasible).toBe(false);
    expect(refused.conflicts).toEqual(
      ['server-1', 'server-2'].map((where) => ({
        constraint: 'engine-ability',
        needed: 1,
        available: 0,
        unit: 'merge',
        where,
      })),
    );
  });

  it('has its mirrors and merges on servers that can run them', () => {
    const made = plan('parallel', { 'server-2': ABLE });
    expect(made.feasible).toBe(true);
    const beside = made.graph.nodes.flatMap((it) =>
      it.kind === 'mirror' || it.kind === 'merge' ? [[it.kind, it.server]] : [],
    );
    expect(beside).toEqual([
      ['mirror', 'server-2'],
      ['merge', 'server-2'],
    ]);
    expect(made.nodes['server-2']!.modules).toMatchObject([
      { kind: 'mirror', id: 'p.a.mirror', copies: [{}, {}, {}] },
      {
        kind: 'merge',
        id: 'p.a.merge',
        mirror: 'p.a.mirror',
        branches: Array(3).fill({ writes: false, resizes_at: null }),
      },
    ]);
    expect(made.nodes['server-1']!.modules).toBeUndefined();
  });

  it('has no route from NF to NF for a flow, and nothing says that there is no room for one', () => {
    const made = plan('parallel', everywhere);
    expect(made.classes.map(({ way }) => way)).toEqual([null]);
    expect(made.reasons.filter(({ part }) => part === 'chaining')).toEqual([]);
  });

  it('moves them off a server that can no more, and says so', () => {
    const moved = plan('parallel', { 'server-1': ABLE }, plan('parallel', { 'server-2': ABLE }));
    const why = new Map(moved.reasons.map(({ subject, because }) => [subject, because]));
    expect(why.get('p.a.merge')).toMatch(/^It leaves server-2, core \d, which lacks .*merge.* by now;/);
  });

  it('is predicted to be faster than in sequence, by nearly what runs at the same time', () => {
    const latency = (made: Plan) => made.classes[0]!.mean_us;
    const [sequential, parallel] = [plan('sequential', {}), plan('parallel', everywhere)];
    expect(latency(parallel)).toBeLessThan(0.6 * latency(sequential));
    expect(latency(parallel)).toBeGreaterThan(latency(sequential) / 3);
  });

  it('is not said to take at least what it takes in sequence', () => {
    const slos = [{ id: 'fast', kind: 'latency' as const, percentile: 99, max_us: 10 }];
    const slow = ['a', 'b', 'c'].map((id) => descriptor(id, { cycles: 100_000 }));
    for (const execution of ['sequential', 'parallel'] as const) {
      const made = makePlan({
        id: 'plan',
        created_ms: 0,
        chains: [{ chain_id: 'p-1', version: 1, definition: { ...CHAIN, slos }, execution }],
        descriptors: slow,
        infrastructure: INFRASTRUCTURE,
        abilities: everywhere,
        base: null,
        budget: { steps: 50 },
      });
      const each = 105;
      const least = execution === 'parallel' ? each : 3 * each;
      expect(made.classes[0]!.least_us).toBeCloseTo(least, 6);
      expect(made.classes[0]!.mean_us).toBeGreaterThan(least);
      expect(made.slos[0]).toMatchObject({ attainable: least, constraint: { needed: least, available: 10 } });
    }
  });

  it('shows the parallel form of each line that runs, and of every path where it only could', () => {
    const web = ['port.dst', 'is', 80] as const;
    const other = ['port.dst', 'is-not', 80] as const;
    const branching = chainOf({ a: 'a', b: 'b', c: 'c', d: 'd' }, [
      ['in', 'a'],
      ['a', 'b'],
      ['b', 'c', [[...web]]],
      ['b', 'out', [[...other]]],
      ['c', 'd'],
      ['d', 'out'],
    ]);
    const nodes = (made: Plan) => made.parallel.map((form) => form.nodes.join(' '));
    expect(nodes(plan('sequential', everywhere, null, branching))).toEqual(['a b c d', 'a b']);
    const made = plan('parallel', everywhere, null, branching);
    expect(nodes(made)).toEqual(['a b', 'c d']);
    const mirrors = made.graph.nodes.filter(({ kind }) => kind === 'mirror');
    expect(made.parallel.reduce((sum, form) => sum + form.mirrors, 0)).toBe(mirrors.length);
    expect(mirrors.length).toBeGreaterThan(0);
    expect(new Set(made.parallel.map(({ id }) => id)).size).toBe(2);
  });

  it('leaves it to a switch that can to copy packets to branches on other servers', () => {
    const infrastructure = rack({ servers: 6, cores: 1, ghz: 1 });
    const definition = { ...CHAIN, traffic_class: { ...CHAIN.traffic_class, rate_bps: 5e9 } };
    const made = (mirror: boolean) =>
      makePlan({
        id: 'plan',
        created_ms: 0,
        chains: [{ chain_id: 'p-1', version: 1, definition, execution: 'parallel' }],
        descriptors: ['a', 'b', 'c'].map(reader),
        infrastructure,
        abilities: Object.fromEntries(infrastructure.servers.map(({ id }) => [id, ABLE])),
        switches: new Map([
          ['switch-1', { ...ASSUMED_ABILITIES, groups: { ...ASSUMED_ABILITIES.groups, all: true }, mirror }],
        ]),
        base: null,
        budget: { steps: 50 },
      });
    const mirrorOf = (plan: Plan) => plan.graph.nodes.find((node) => node.kind === 'mirror')!;
    const plan = made(true);
    const { hop, id, server } = mirrorOf(plan);
    const rule = plan.fabric.rules.find(({ kind }) => kind === 'mirror')!;
    const away = plan.graph.edges.filter((edge) => edge.from === id && edge.to_server !== server);
    expect(away.length).toBeGreaterThan(1);
    expect(rule).toMatchObject({ hop, from_servers: [server] });
    expect(rule.targets.map((target) => [target.hop, target.server])).toEqual(
      away.map((edge) => [edge.hop, edge.to_server]),
    );
    for (const it of plan.fabric.rules)
      if (it.kind === 'hop' && away.some((edge) => edge.hop === it.hop)) expect(it.from_servers).not.toContain(server);
    const { copies } = plan.nodes[server]!.modules!.find((module) => module.kind === 'mirror')!;
    expect(copies).toHaveLength(3 - away.length + 1);
    expect(copies.at(-1)!.targets).toMatchObject([{ to: { kind: 'hop', hop } }]);
    const without = made(false);
    expect(mirrorOf(without).hop).toBeNull();
    const places = ({ parallel }: Plan) =>
      parallel.flatMap(({ provisioning }) =>
        provisioning!.merges.flatMap(({ chosen, rejected }) => [chosen!, ...rejected.map(({ title }) => title)]),
      );
    expect(places(plan).filter((title) => title.startsWith('mirror in the switch'))).not.toEqual([]);
    expect(places(without).filter((title) => title.startsWith('mirror in the switch'))).toEqual([]);
  });

  it('copies packets where they arrive, and merges them where they go next', () => {
    const heavy = { cycles: 100_000 };
    const fields = ['ip.dscp', 'ip.ttl', 'tcp.flags'] as const;
    const writers = ['a', 'b', 'c'].map((id, i) =>
      descriptor(id, {
        ...heavy,
        actions: { reads: [], writes: [fields[i]!], may_drop: false, adds: [], removes: [] },
      }),
    );
    const drops = descriptor('d', {
      ...heavy,
      actions: { reads: [...fields], writes: [], may_drop: true, adds: [], removes: [] },
    });
    const made = (definition: typeof CHAIN, base: Plan | null = null) =>
      makePlan({
        id: 'plan',
        created_ms: 0,
        chains: [{ chain_id: 'p-1', version: 1, definition, execution: 'parallel' }],
        descriptors: [...writers, drops],
        infrastructure: rack({ servers: 1, cores: 6, ghz: 1 }),
        abilities: everywhere,
        base,
        budget: { steps: 50 },
      });
    const cores = (plan: Plan) =>
      Object.fromEntries(plan.graph.nodes.flatMap((node) => (node.kind === 'exit' ? [] : [[node.id, node.core]])));
    const alone = made(CHAIN);
    expect(cores(alone)).toMatchObject({ 'p.a.mirror': 0, 'p.a.merge': 0 });
    expect(cores(made(CHAIN, alone))).toEqual(cores(alone));
    const between = { d: 'd', a: 'a', b: 'b', c: 'c', e: 'd' };
    const plan = made(
      chainOf(between, [
        ['in', 'd'],
        ['d', 'a'],
        ['a', 'b'],
        ['b', 'c'],
        ['c', 'e'],
        ['e', 'out'],
      ]),
    );
    const framed = cores(plan);
    expect(framed).toMatchObject({ 'p.a.mirror': framed['p.d.0'], 'p.a.merge': framed['p.e.0'] });
    expect(framed['p.d.0']).not.toBe(framed['p.e.0']);
    const why = new Map(plan.reasons.map(({ subject, because }) => [subject, because]));
    expect(why.get('p.a.mirror')).toMatch(/come from this core/);
    expect(why.get('p.a.merge')).toMatch(/go on to this core/);
  });

  it('is as it was where nobody asks', () => {
    expect(plan(undefined, everywhere).graph.nodes.every(({ kind }) => kind === 'nf' || kind === 'exit')).toBe(true);
  });

  it('gets instances of its own when it changes, so that both run while traffic is led over', () => {
    const base = plan('sequential', everywhere);
    const changed = plan('parallel', everywhere, base);
    const before = new Set(nfInstances(base.graph).map(({ id }) => id));
    expect(nfInstances(changed.graph).filter(({ id }) => before.has(id))).toEqual([]);
    expect(changed.migrations.map(({ from, to }) => [from, to])).toEqual(
      ['a', 'b', 'c'].map((id) => [`p.${id}.0`, `p.${id}.parallel-0`]),
    );
  });
});
